import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * of a release is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: '1.0.0',
    script: '7d1dc180ab380d7339f5250a027aa035d6dc061d2b204d5c00865087ed1974ed',
    style: 'cc5b2640f13b31b7a0a2c6d121ea56d43301e362f948bb9c58bbc8923fe43b15',
  },
];
