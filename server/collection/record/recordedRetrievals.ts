import type { LedgerProblem } from '../../../shared/ledger.ts';
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
 * The retrievals that each entry covers. The root is taken over the leaves that are kept, which must be the one that was
 * recorded; then each leaf that does not follow from its retrieval names the one that was changed. Those of an older
 * archive that was not opened yet wait to be covered: nothing can be said of them.
 */
export const RETRIEVAL_SUBJECTS: RecordedSubjects = {
  types: ['retrievals.recorded'],
  *digests(database) {
    const held = heldLeaves(database);
    let next = held.next();
    for (const batch of iterateBatches(database)) {
      const tree = new GrowingTree();
      for (; !next.done && next.value.id <= batch.last; next = held.next()) {
        const leaf = next.value;
        if (leaf.id < batch.first) {
          yield uncovered(leaf);
          continue;
        }
        const root = leaf.kept ?? leaf.found;
        if (root) tree.append(root);
        const fault = faultOf(leaf, batch);
        if (fault) yield fault;
      }
      const root = tree.root().toString('hex');
      if (root !== batch.root) yield wrongRoot(batch, root);
      yield { seq: batch.ledger_entry, digest: batchDigest({ ...batch, root }) };
    }
    const waiting = lastToCover(database);
    for (; !next.done; next = held.next()) if (next.value.id > waiting) yield uncovered(next.value);
  },
};

/** A retrieval's leaf as it was kept, and as it follows from the retrieval as it stands; of one of them at least. */
interface HeldLeaf {
  id: number;
  kept: Buffer | undefined;
  found: Buffer | undefined;
}

/** The retrievals and the leaves that are kept of them, side by side. */
function* heldLeaves(database: ReadDatabase): Generator<HeldLeaf, void> {
  const leaves = leavesAfter(database, Number.MIN_SAFE_INTEGER);
  let leaf = leaves.next();
  for (const row of retrievalsAfter(database, Number.MIN_SAFE_INTEGER)) {
    for (; !leaf.done && leaf.value.retrieval < row.id; leaf = leaves.next())
      yield { id: leaf.value.retrieval, kept: leaf.value.leaf, found: undefined };
    const isKept = !leaf.done && leaf.value.retrieval === row.id;
    yield { id: row.id, kept: isKept ? leaf.value?.leaf : undefined, found: storedRetrievalLeaf(row) };
    if (isKept) leaf = leaves.next();
  }
  for (; !leaf.done; leaf = leaves.next())
    yield { id: leaf.value.retrieval, kept: leaf.value.leaf, found: undefined };
}

function faultOf({ id, kept, found }: HeldLeaf, { ledger_entry }: RetrievalBatch): LedgerProblem | undefined {
  if (found && kept?.equals(found)) return undefined;
  return {
    seq: ledger_entry,
    problem: found ? 'wrong_digest' : 'missing_subject',
    subject: `retrieval ${id}`,
    expected: kept?.toString('hex') ?? null,
    actual: found?.toString('hex') ?? null,
  };
}

function uncovered({ id, kept, found }: HeldLeaf): LedgerProblem {
  const expected = (found ?? kept)?.toString('hex') ?? null;
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
