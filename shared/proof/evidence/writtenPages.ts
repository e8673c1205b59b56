import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * of a release is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: '1.0.0',
    script: '41f800174abba60282d96c853bbabb567df6fd43412ba4e0a552e2819d62a623',
    style: '2e6639a268dc1be3a81f68ecbba7aa850842fe64966ff48549727a6ed6070fca',
  },
];
