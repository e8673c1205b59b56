import { call } from '../../api/client.ts';
import { type CheckpointComparison, compareCheckpoint, type SavedCheckpoint } from './checkpointFile.ts';

/**
 * Requests the head, the entry at the saved position and a consistency proof, and compares the checkpoint
 * with them.
 */
export async function checkCheckpoint(saved: SavedCheckpoint, node: string): Promise<CheckpointComparison> {
  const { items, head } = await call('readLedger', { query: { from: Math.max(1, saved.seq), limit: 1 } });
  const entry = items.find(({ seq }) => seq === saved.seq);
  // An empty ledger needs no proof. Beyond its end the node cannot give one.
  const isWithin = saved.seq > 0 && saved.seq <= head.seq;
  const proof = isWithin
    ? await call('proveConsistency', { query: { from: saved.seq, to: head.seq } })
    : undefined;
  return compareCheckpoint(saved, { node, head, entry, proof });
}
