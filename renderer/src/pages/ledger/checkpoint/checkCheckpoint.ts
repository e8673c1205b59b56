import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { call } from '../../../api/client.ts';
import { readText } from '../../../api/readText.ts';
import type { SavedCheckpoint } from './checkpointFile.ts';
import { type CheckpointComparison, compareCheckpoint } from './compareCheckpoint.ts';

/**
 * Requests the head, the keys, the entry at the saved position and a consistency proof, and compares the checkpoint
 * with them.
 */
export async function checkCheckpoint(saved: SavedCheckpoint, node: string): Promise<CheckpointComparison> {
  const [{ items, head }, key, changes] = await Promise.all([
    call('readLedger', { query: { from: Math.max(1, saved.seq), limit: 1 } }),
    readText('readLedgerKey'),
    call('listKeyChanges', { query: { limit: MAX_LIST_LIMIT } }),
  ]);
  const entry = items.find(({ seq }) => seq === saved.seq);
  // An empty ledger needs no proof. Beyond its end the node cannot give one.
  const isWithin = saved.seq > 0 && saved.seq <= head.seq;
  const proof = isWithin
    ? await call('proveConsistency', { query: { from: saved.seq, to: head.seq } })
    : undefined;
  return compareCheckpoint(saved, { node, key: key.trim(), keyChanges: changes.items, head, entry, proof });
}
