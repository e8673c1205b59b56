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

/** Returns the digest of an entry `retrievals.recorded`: over the range it covers and the root of their leaves. */
export const batchDigest: (batch: Omit<RetrievalBatch, 'ledger_entry'>) => string = fingerprintOver([
  'first',
  'last',
  'root',
]);

/** Returns the subject of an entry `retrievals.recorded`. */
export function batchSubject({ first, last }: Pick<RetrievalBatch, 'first' | 'last'>): string {
  return `${first}-${last}`;
}

/** The number of retrievals of an older archive that are covered before the event loop gets a turn. */
const STEP_SIZE = 250;

/**
 * Makes the ledger cover every retrieval. From now on, each transaction that inserts retrievals ends with an entry that
 * covers them. The retrievals of an archive from before such entries existed are covered now, by one entry. Call it for
 * each store that is opened for writing, before the first write.
 *
 * A retrieval inserted by another program is never covered, so verification finds it.
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
  // With a full disk the archive is read-only; the next start covers them.
  if (lastToCover(store.read) === 0 || store.failure()) return;
  await store.writeInSteps(function* (database) {
    yield* coverAfter(database, 0, lastToCover(database), store.instant());
    setLastToCover(database, 0);
  });
}

/** Covers the retrievals with `after` < id ≤ `upTo`, with one entry for each run of consecutive ids. */
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
    if (tree.size % STEP_SIZE === 0) yield;
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
