import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * of a release is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: '1.0.0',
    script: '233d9213dd991f5be84e7b083ce1d39d0f293a2890fef4bdbf3c546391acff4a',
    style: '2e6639a268dc1be3a81f68ecbba7aa850842fe64966ff48549727a6ed6070fca',
  },
];
