import { nodeDigest } from '../../../server/archive/recordedSubjects.ts';
import { appendEntry } from '../../../server/ledger/appendEntry.ts';
import { entryText, unsealedText } from '../../../server/ledger/entry.ts';
import { insertTreeNode } from '../../../server/store/sqlite/archive/studies.ts';
import { openStore } from '../../../server/store/store.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { systemClock } from '../../../shared/values/clock.ts';

const BATCH = 50_000;
const AT = '2026-11-20T10:14:21.592Z';

/**
 * Writes nodes with their ledger entries into a new data folder, with the ledger's own code.
 *
 * @returns the lengths of the inputs that verification must hash, in order: for each entry its hash, its leaf, its inner
 * hash of the Merkle tree and the digest of its subject
 */
export async function fillLedger(folder: string, entries: number): Promise<Uint16Array> {
  const store = await openStore({ folder, clock: systemClock });
  const sizes = new Uint16Array(entries * 4);
  for (let first = 1; first <= entries; first += BATCH) {
    await store.write((database) => {
      for (let number = first; number < Math.min(first + BATCH, entries + 1); number += 1) {
        const node = { path: `n${number}`, title: `Node ${number}`, description: '', created_at: AT };
        const entry = appendEntry(database, {
          type: 'node.created',
          subject: node.path,
          digest: nodeDigest(node),
          at: AT,
        });
        insertTreeNode(database, { ...node, parent: null, ledger_entry: entry.seq });
        sizes.set(
          [unsealedText(entry).length, 1 + entryText(entry).length, 65, canonicalText(node).length],
          (number - 1) * 4,
        );
      }
    });
  }
  await store.close();
  return sizes;
}
