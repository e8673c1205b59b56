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
    ['1.0.0', '0281e72f4c416c59cba1095044b85b79feb634d31db1ea3716bc06f9e6411903'],
  ]);
});
