import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOver } from '../../ledger/entry.ts';
import { GrowingTree } from '../../ledger/merkle.ts';
import {
  insertBatch,
  insertLeaf,
  lastCovered,
  lastRetrieval,
  lastToCover,
  type RetrievalBatch,
  retrievalsAfter,
  setLastToCover,
} from '../../store/sqlite/collection/retrievalBatches.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { storedRetrievalLeaf } from './retrievalLeaf.ts';

/** The digest of what `retrievals.recorded` records: which retrievals it covers, and the root over their leaves. */
export const batchDigest: (batch: Omit<RetrievalBatch, 'ledger_entry'>) => string = fingerprintOver([
  'first',
  'last',
  'root',
]);

/** What an entry `retrievals.recorded` is of. */
export function batchSubject({ first, last }: Pick<RetrievalBatch, 'first' | 'last'>): string {
  return `${first}-${last}`;
}

/** After so many of the retrievals of an older archive, others get a turn. */
const IN_ONE_STEP = 250;

/**
 * Sees to it that the ledger covers every retrieval: from now on each transaction that keeps any ends with the entry
 * that covers them. Those of an archive that is older than this are covered at once, by one entry. Call it for each
 * store that is opened to be written, before anything is.
 *
 * A retrieval that was put into the database by somebody else meanwhile is never covered, and so found by verification.
 */
export async function coverRetrievals(
  store: Pick<Store, 'read' | 'instant' | 'writeInSteps' | 'beforeCommit' | 'failure'>,
): Promise<void> {
  const known = lastRetrieval(store.read);
  store.beforeCommit((database) => {
    const after = Math.max(known, lastCovered(database));
    if (lastRetrieval(database) <= after) return;
    for (const _ of coverAfter(database, after, Number.POSITIVE_INFINITY, store.instant()));
  });
  // On a full disk the archive is opened to be read; the next start covers them.
  if (lastToCover(store.read) === 0 || store.failure()) return;
  await store.writeInSteps(function* (database) {
    yield* coverAfter(database, 0, lastToCover(database), store.instant());
    setLastToCover(database, 0);
  });
}

/** Covers the retrievals after a number, up to another: one entry for each run without a gap, so one for all of them. */
function* coverAfter(
  database: WriteDatabase,
  after: number,
  upTo: number,
  at: string,
): Generator<void, void, void> {
  let first = 0;
  let last = 0;
  let tree = new GrowingTree();
  const end = () => {
    if (tree.size > 0) recordBatch(database, { first, last, root: tree.root().toString('hex') }, at);
    tree = new GrowingTree();
  };
  for (const row of retrievalsAfter(database, after)) {
    if (row.id > upTo) break;
    if (tree.size === 0 || row.id !== last + 1) {
      end();
      first = row.id;
    }
    last = row.id;
    const leaf = storedRetrievalLeaf(row);
    insertLeaf(database, row.id, leaf);
    tree.append(leaf);
    if (tree.size % IN_ONE_STEP === 0) yield;
  }
  end();
}

function recordBatch(database: WriteDatabase, batch: Omit<RetrievalBatch, 'ledger_entry'>, at: string): void {
  const { seq } = appendEntry(database, {
    type: 'retrievals.recorded',
    subject: batchSubject(batch),
    digest: batchDigest(batch),
    at,
  });
  insertBatch(database, { ledger_entry: seq, ...batch });
}
