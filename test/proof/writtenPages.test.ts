import { expect, test } from 'vitest';
import { buildEvidenceScript, evidencePageDigests } from '../../renderer/inlineScripts.ts';
import { WRITTEN_PAGES } from '../../shared/proof/evidence/writtenPages.ts';
import { sha256Of } from '../support/archive/packs.ts';

test('the script of evidence files is the same in each build, so its digest can be listed', async () => {
  const { script } = await evidencePageDigests();
  expect(sha256Of(await buildEvidenceScript())).toBe(script);
});

test('the pages of earlier versions stay in the list, each once', () => {
  // A version that was ever in the list is never taken out: add its line here with it.
  expect(WRITTEN_PAGES.map(({ version, script }) => [version, script])).toEqual([
    ['1.0.0', '3d5633b0785a575fce6924fcf85a11b6a6c5f3a22edd67f970f20325fc78e609'],
    ['1.0.0', '49849c581382c820dd71c61c88cc7bfd2d60abd8c1ef5faf2cb8d3ffc8ccdc60'],
  ]);
});
