import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RetrievalProof } from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import { GrowingTree } from '../../ledger/merkle.ts';
import { inclusionPath } from '../../ledger/proofs.ts';
import { WorkCoalescer } from '../../runtime/workCoalescer.ts';
import {
  batchOf,
  leavesBetween,
  type RetrievalBatch,
} from '../../store/sqlite/collection/retrievalBatches.ts';
import { retrievalById } from '../../store/sqlite/collection/retrievals.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { retrievalLeaf } from './retrievalLeaf.ts';

/** One proof at a time, because an entry may cover a million retrievals of an older archive. */
const forReaders = new WeakMap<object, WorkCoalescer<RetrievalProof>>();

/**
 * Returns a proof that a ledger entry covers a retrieval. The proof does not disclose the other retrievals.
 *
 * @throws Problem `not_found` if there is no such retrieval, or no entry covers it.
 */
export async function proveRetrieval({ read }: Pick<Store, 'read'>, id: string): Promise<RetrievalProof> {
  const number = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0;
  const retrieval = retrievalById(read, number);
  const batch = retrieval && batchOf(read, number);
  if (!batch) throw new Problem('not_found', 'There is no such retrieval, or no ledger entry covers it.');
  let shared = forReaders.get(read);
  if (!shared) forReaders.set(read, (shared = new WorkCoalescer(1)));
  return shared.run(id, async () => ({
    retrieval,
    leaf: retrievalLeaf(retrieval).toString('base64'),
    ...batch,
    hashes: (await auditPath(read, number, batch)).map((hash) => hash.toString('base64')),
  }));
}

/** The number of leaves that are hashed into one block; a power of two. */
const BLOCK = 256;
/** The number of blocks that are computed before the event loop gets a turn. */
const BLOCKS_PER_TURN = 16;

async function auditPath(read: ReadDatabase, id: number, { first, last }: RetrievalBatch): Promise<Buffer[]> {
  const size = last - first + 1;
  const blocks: Buffer[] = [];
  for (let from = first; from + BLOCK - 1 <= last; from += BLOCK) {
    blocks.push(rootOf(leavesBetween(read, from, from + BLOCK - 1)));
    if (blocks.length % BLOCKS_PER_TURN === 0) await nextTurn();
  }
  return inclusionPath(id - first, size, (from, to) => {
    const tree = new GrowingTree();
    let next = from;
    for (; to - next >= BLOCK; next += BLOCK) tree.append(blocks[next / BLOCK] as Buffer, BLOCK);
    for (const leaf of leavesBetween(read, first + next, first + to - 1)) tree.append(leaf);
    return tree.root();
  });
}

function rootOf(leaves: readonly Buffer[]): Buffer {
  const tree = new GrowingTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree.root();
}
