import { expect, test } from 'vitest';
import { buildEvidenceScript, evidencePageDigests } from '../../renderer/inlineScripts.ts';
import { WRITTEN_PAGES } from '../../shared/proof/evidence/writtenPages.ts';
import { sha256Of } from '../support/archive/packs.ts';

test('the script of evidence files is the same in each build, so its digest can be listed', async () => {
  const { script } = await evidencePageDigests();
  expect(sha256Of(await buildEvidenceScript())).toBe(script);
});

test('the pages of earlier versions stay in the list, each once', () => {
  // A version that was released is never taken out: add its line here with it.
  expect(WRITTEN_PAGES.map(({ version, script }) => [version, script])).toEqual([
    ['1.0.0', '41f800174abba60282d96c853bbabb567df6fd43412ba4e0a552e2819d62a623'],
  ]);
});
