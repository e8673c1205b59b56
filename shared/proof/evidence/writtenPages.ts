import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: '1.0.0',
    script: '3d5633b0785a575fce6924fcf85a11b6a6c5f3a22edd67f970f20325fc78e609',
    style: '2e6639a268dc1be3a81f68ecbba7aa850842fe64966ff48549727a6ed6070fca',
  },
  // The page of the examples of 1.0, which were made before its release.
  {
    version: '1.0.0',
    script: '49849c581382c820dd71c61c88cc7bfd2d60abd8c1ef5faf2cb8d3ffc8ccdc60',
    style: '2e6639a268dc1be3a81f68ecbba7aa850842fe64966ff48549727a6ed6070fca',
  },
];
