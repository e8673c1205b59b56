import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * of a release is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: '1.0.0',
    script: '0281e72f4c416c59cba1095044b85b79feb634d31db1ea3716bc06f9e6411903',
    style: 'cc5b2640f13b31b7a0a2c6d121ea56d43301e362f948bb9c58bbc8923fe43b15',
  },
];
