import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * of a release is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: '1.0.0',
    script: '280888c96c01b57e898c60942822b06512d28c6c38b1bed009b950d958043332',
    style: '2e6639a268dc1be3a81f68ecbba7aa850842fe64966ff48549727a6ed6070fca',
  },
];
