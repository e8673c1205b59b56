import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { CopiedLedger } from '../../../server/copies/pages/browser/verifyEntry.ts';
import { sha256Of } from '../../../server/ledger/entry.ts';
import { framedLeaf } from '../../../server/ledger/tree.ts';
import { noteBody, parseCheckpoint } from '../../../shared/proof/ledger/signedNote.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { uploadNewPack } from '../../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { addCopy, sync } from '../withheldCopies.ts';

afterEach(closeTestNodes);

test('the page that verifies a copy takes no entry that the checkpoint does not cover', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, { title: 'One' }, { 'a.txt': 'a' });
  await uploadNewPack(node, { title: 'Two' }, { 'b.txt': 'b' });
  const place = join(await temporaryFolder(), 'copy');
  await sync(node, await addCopy(node, place));
  const head = parseCheckpoint(noteBody(await readFile(join(place, 'checkpoint'), 'utf8')));
  if (!head) throw new Error('The copy has no checkpoint.');
  const { size } = head;
  const open = () => new CopiedLedger(async (path) => new Response(await readFile(join(place, path))), head);
  for (let seq = 1; seq <= size; seq += 1) {
    const { entry, isIncluded } = await open().entry(seq);
    expect([isIncluded, (await open().record(entry, new URLSearchParams())).isRecorded]).toEqual([
      true,
      true,
    ]);
  }
  // Whoever has the copy can add to its files. Its checkpoint stays as it was signed.
  const seq = size + 1;
  const record = {
    sha256: sha256Of('a'),
    bytes: 1,
    reason: 'legal_order',
    note: null,
    at: '2019-01-01T00:00:00.000Z',
  };
  const digest = sha256Of(canonicalText(record));
  const entry = { seq, at: record.at, type: 'object.released', subject: record.sha256, digest };
  const leaf = canonicalText({ ...entry, prev: '0'.repeat(64), hash: '0'.repeat(64) });
  await appendFile(join(place, `tile/entries/000.p/${size}`), framedLeaf(leaf));
  const line = JSON.stringify({ kind: 'object_released', ledger_entry: seq, ...record });
  await appendFile(join(place, `records/1-${size}.jsonl`), `${line}\n`);
  for (const other of [seq, 0, -1, 1.5, Number.NaN])
    await expect(open().entry(other), String(other)).rejects.toThrow('The checkpoint covers no entry');
  await expect(open().release(record.sha256, 1)).rejects.toThrow('The checkpoint covers no entry');
});
