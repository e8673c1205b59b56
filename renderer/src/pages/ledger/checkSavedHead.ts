import { call } from '../../api/client.ts';
import { compareHeads, type HeadComparison, type SavedHead } from './savedHead.ts';

/** Asks the node for its head, the entry at the saved place and a proof, and holds the saved head against them. */
export async function checkSavedHead(saved: SavedHead, node: string): Promise<HeadComparison> {
  const { items, head } = await call('readLedger', { query: { from: Math.max(1, saved.seq), limit: 1 } });
  const entry = items.find(({ seq }) => seq === saved.seq);
  // Without entries of the ledger there is nothing to prove; beyond its end the node has nothing to prove with.
  const isWithin = saved.seq > 0 && saved.seq <= head.seq;
  const proof = isWithin
    ? await call('proveConsistency', { query: { from: saved.seq, to: head.seq } })
    : undefined;
  return compareHeads(saved, { node, head, entry, proof });
}
