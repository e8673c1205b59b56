import type { LedgerProblem } from '../../../shared/ledger/ledger.ts';
import { GrowingTree } from '../../ledger/merkle.ts';
import type { RecordedSubjects } from '../../ledger/verifyLedger.ts';
import {
  iterateBatches,
  lastToCover,
  leavesAfter,
  type RetrievalBatch,
  retrievalsAfter,
} from '../../store/sqlite/collection/retrievalBatches.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { batchDigest, batchSubject } from './coverRetrievals.ts';
import { storedRetrievalLeaf } from './retrievalLeaf.ts';

/**
 * Verifies the retrievals that each entry covers. The root of the stored leaves must be the recorded root. A stored leaf
 * that differs from its retrieval's leaf identifies an altered retrieval. In an archive of an older version that was not
 * opened for writing since, retrievals are not covered yet and cannot be verified.
 */
export const RETRIEVAL_SUBJECTS: RecordedSubjects = {
  types: ['retrievals.recorded'],
  *digests(database) {
    const pairs = leafPairs(database);
    let next = pairs.next();
    for (const batch of iterateBatches(database)) {
      const tree = new GrowingTree();
      for (; !next.done && next.value.id <= batch.last; next = pairs.next()) {
        const leaf = next.value;
        if (leaf.id < batch.first) {
          yield uncovered(leaf);
          continue;
        }
        const hash = leaf.stored ?? leaf.computed;
        if (hash) tree.append(hash);
        const problem = problemOf(leaf, batch);
        if (problem) yield problem;
      }
      const root = tree.root().toString('hex');
      if (root !== batch.root) yield wrongRoot(batch, root);
      yield { seq: batch.ledger_entry, digest: batchDigest({ ...batch, root }) };
    }
    const lastPending = lastToCover(database);
    for (; !next.done; next = pairs.next()) if (next.value.id > lastPending) yield uncovered(next.value);
  },
};

/** The stored leaf of a retrieval and the leaf computed from its row. At least one of them is defined. */
interface LeafPair {
  id: number;
  stored: Buffer | undefined;
  computed: Buffer | undefined;
}

/** Merges the retrievals and the stored leaves, by id. */
function* leafPairs(database: ReadDatabase): Generator<LeafPair, void> {
  const leaves = leavesAfter(database, Number.MIN_SAFE_INTEGER);
  let leaf = leaves.next();
  for (const row of retrievalsAfter(database, Number.MIN_SAFE_INTEGER)) {
    for (; !leaf.done && leaf.value.retrieval < row.id; leaf = leaves.next())
      yield { id: leaf.value.retrieval, stored: leaf.value.leaf, computed: undefined };
    const isStored = !leaf.done && leaf.value.retrieval === row.id;
    yield { id: row.id, stored: isStored ? leaf.value?.leaf : undefined, computed: storedRetrievalLeaf(row) };
    if (isStored) leaf = leaves.next();
  }
  for (; !leaf.done; leaf = leaves.next())
    yield { id: leaf.value.retrieval, stored: leaf.value.leaf, computed: undefined };
}

function problemOf(
  { id, stored, computed }: LeafPair,
  { ledger_entry }: RetrievalBatch,
): LedgerProblem | undefined {
  if (computed && stored?.equals(computed)) return undefined;
  return {
    seq: ledger_entry,
    problem: computed ? 'wrong_digest' : 'missing_subject',
    subject: `retrieval ${id}`,
    expected: stored?.toString('hex') ?? null,
    actual: computed?.toString('hex') ?? null,
  };
}

function uncovered({ id, stored, computed }: LeafPair): LedgerProblem {
  const expected = (computed ?? stored)?.toString('hex') ?? null;
  return { seq: 0, problem: 'missing_entry', subject: `retrieval ${id}`, expected, actual: null };
}

function wrongRoot(batch: RetrievalBatch, root: string): LedgerProblem {
  return {
    seq: batch.ledger_entry,
    problem: 'wrong_root',
    subject: batchSubject(batch),
    expected: root,
    actual: batch.root,
  };
}
