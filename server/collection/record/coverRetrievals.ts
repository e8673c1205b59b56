import type { RecordedRetrieval } from '../../../shared/collection/retrieval.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOver } from '../../ledger/entry.ts';
import { type ArchiveConfig, type OpenArchive, openArchive } from '../../ledger/openArchive.ts';
import { GrowingTree, leafHash } from '../../ledger/tree.ts';
import {
  insertBatch,
  insertLeaf,
  lastCovered,
  lastRetrieval,
  lastToCover,
  type RetrievalBatch,
  retrievalsAfter,
  type StoredRetrieval,
  setLastToCover,
} from '../../store/sqlite/collection/retrievalBatches.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';

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
async function coverRetrievals(
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

/**
 * Opens an archive for a program that may store retrievals: each transaction that stores any also appends the ledger
 * entry that covers them.
 *
 * @throws what `openArchive` throws
 */
export async function openArchiveForWriting(config: ArchiveConfig): Promise<OpenArchive> {
  const opened = await openArchive(config);
  try {
    await coverRetrievals(opened.store);
    return opened;
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}

/** Returns the leaf hash of a retrieval (RFC 6962): SHA-256 of a zero byte and its canonical JSON. */
export function retrievalLeaf(retrieval: RecordedRetrieval): Buffer {
  return leafHash(canonicalText(retrieval));
}

/**
 * Returns the same hash for a stored row. The JSON is built by hand for speed: each attempt needs a leaf, and
 * verification needs the leaves of all retrievals. A test compares both functions.
 */
export function storedRetrievalLeaf(row: StoredRetrieval): Buffer {
  return leafHash(
    `{"bytes":${textOf(row.bytes)},"capture":${captureText(row)},${connectionMember(row)}"content_type":${textOf(row.content_type)},` +
      `"duration_ms":${textOf(row.duration_ms)},"error":${textOf(row.error)},"final_url":${textOf(row.final_url)},` +
      `"headers":${row.headers},"id":${row.id},"observed_at":${textOf(row.observed_at)},` +
      `"observer":${textOf(row.observer)},"original_observed_at":${textOf(row.original_observed_at)},` +
      `"page_label":${canonicalOf(row.page_label, '{"label":')},${partMember(row)}` +
      `"redirects":${row.redirects === '[]' ? '[]' : canonicalOf(row.redirects, '[{"status":', '[{"headers":', '[{"connection":')},` +
      `"request":${canonicalOf(row.request, '{"headers":', '{"body":')},"round":${textOf(row.round)},` +
      `"sha256":${textOf(row.sha256)},"source":${textOf(row.source)},"status":${textOf(row.status)},` +
      `"url":${textOf(row.url)}}`,
  );
}

function textOf(value: string | number | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function captureText({ captured, record_id, payload_digest }: StoredRetrieval): string {
  if (captured === null) return 'null';
  return `{"payload_digest":${textOf(payload_digest)},"record_id":${textOf(record_id)}}`;
}

function partMember({ part_of }: StoredRetrieval): string {
  return part_of === null ? '' : `"part_of":${textOf(part_of)},`;
}

/** Retrievals of earlier versions have no such member, so that their leaves stay as they were covered. */
function connectionMember({ connection }: StoredRetrieval): string {
  return connection === null ? '' : `"connection":${canonicalOf(connection, '{"address":')},`;
}

/**
 * Returns stored JSON in canonical form. Text that begins with an opening was written by `insertRetrieval` and is
 * canonical already; rows of earlier versions have another order of members. Invalid JSON was written by another
 * program: it is hashed unchanged and matches no leaf.
 */
function canonicalOf(text: string | null, ...openings: string[]): string {
  if (text === null) return 'null';
  if (openings.some((opening) => text.startsWith(opening))) return text;
  try {
    return canonicalText(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
