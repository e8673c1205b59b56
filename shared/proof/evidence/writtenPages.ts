import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * of a release is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: '1.0.0',
    script: 'c7545042f653bc5c06b777ce4f1efd14947fff3ef59b8b85d2b95fc340723f3f',
    style: '2e6639a268dc1be3a81f68ecbba7aa850842fe64966ff48549727a6ed6070fca',
  },
];
