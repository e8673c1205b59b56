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
    ['1.0.0', '7d1dc180ab380d7339f5250a027aa035d6dc061d2b204d5c00865087ed1974ed'],
  ]);
});
