import type { KnownPage } from './evidencePage.ts';

/**
 * The pages of evidence files that earlier versions wrote. A release adds its own (CONTRIBUTING, *… a release*), and none
 * is ever removed: an evidence file is verified for as long as somebody keeps it.
 */
export const WRITTEN_PAGES: readonly KnownPage[] = [
  {
    version: 'the development version of 2026-11-28',
    script: '42b58519dfe021c3a80f913ebc31e2dd2db2e714dd8e492854fe116e748616d8',
    style: 'f6fa78645f56b40900f714cbf0fe7d6ea42c0af9b74f317c923cfff646e4ad01',
  },
];
