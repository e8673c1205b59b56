import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  ProvenRetrievals,
  ProvenRetrievalsQuery,
  RetrievalProof,
} from '../../../shared/collection/retrieval.ts';
import { Problem } from '../../../shared/problems.ts';
import { GrowingTree } from '../../ledger/merkle.ts';
import { inclusionPath } from '../../ledger/proofs.ts';
import { WorkCoalescer } from '../../runtime/workCoalescer.ts';
import {
  batchOf,
  leavesBetween,
  type RetrievalBatch,
} from '../../store/sqlite/collection/retrievalBatches.ts';
import { retrievalById, retrievalsFrom } from '../../store/sqlite/collection/retrievals.ts';
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
    hashes: base64((await auditPaths(read, batch))(number)),
  }));
}

/**
 * Returns the retrievals from an id on, each with the proof that a ledger entry covers it. Retrievals that none covers
 * are left out.
 */
export async function proveRetrievals(
  { read }: Pick<Store, 'read'>,
  query: ProvenRetrievalsQuery,
): Promise<ProvenRetrievals> {
  const { limit } = query;
  let shared = pagesForReaders.get(read);
  if (!shared) pagesForReaders.set(read, (shared = new WorkCoalescer(1)));
  return shared.run(JSON.stringify(query), async () => {
    const retrievals = retrievalsFrom(read, query);
    const items: RetrievalProof[] = [];
    let batch: RetrievalBatch | undefined;
    let pathOf: ((id: number) => Buffer[]) | undefined;
    for (const retrieval of retrievals) {
      const { id } = retrieval;
      if (!batch || id > batch.last) {
        batch = batchOf(read, id);
        pathOf = batch && (await auditPaths(read, batch));
      }
      if (!batch || !pathOf) continue;
      items.push({
        retrieval,
        leaf: retrievalLeaf(retrieval).toString('base64'),
        ...batch,
        hashes: base64(pathOf(id)),
      });
    }
    const last = retrievals.at(-1)?.id;
    return { items, limit, next: last === undefined || retrievals.length < limit ? null : last + 1 };
  });
}

const pagesForReaders = new WeakMap<object, WorkCoalescer<ProvenRetrievals>>();

function base64(hashes: readonly Buffer[]): string[] {
  return hashes.map((hash) => hash.toString('base64'));
}

/** The number of leaves that are hashed into one block; a power of two. */
const BLOCK = 256;
/** The number of blocks that are computed before the event loop gets a turn. */
const BLOCKS_PER_TURN = 16;

/** Hashes the leaves of a batch, and returns a function that returns the audit path of each of its retrievals. */
async function auditPaths(
  read: ReadDatabase,
  { first, last }: RetrievalBatch,
): Promise<(id: number) => Buffer[]> {
  const size = last - first + 1;
  const blocks: Buffer[] = [];
  for (let from = first; from + BLOCK - 1 <= last; from += BLOCK) {
    blocks.push(rootOf(leavesBetween(read, from, from + BLOCK - 1)));
    if (blocks.length % BLOCKS_PER_TURN === 0) await nextTurn();
  }
  const rangeRoot = (from: number, to: number) => {
    const tree = new GrowingTree();
    let next = from;
    for (; to - next >= BLOCK; next += BLOCK) tree.append(blocks[next / BLOCK] as Buffer, BLOCK);
    for (const leaf of leavesBetween(read, first + next, first + to - 1)) tree.append(leaf);
    return tree.root();
  };
  return (id) => inclusionPath(id - first, size, rangeRoot);
}

function rootOf(leaves: readonly Buffer[]): Buffer {
  const tree = new GrowingTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree.root();
}
