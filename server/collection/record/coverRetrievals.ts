import type {
  ProvenRetrievals,
  ProvenRetrievalsQuery,
  RecordedRetrieval,
  RetrievalProof,
} from '../../../shared/collection/retrieval.ts';
import type { LedgerProblem } from '../../../shared/ledger/ledger.ts';
import { Problem } from '../../../shared/problems.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { appendEntry } from '../../ledger/appendEntry.ts';
import { fingerprintOver } from '../../ledger/entry.ts';
import { type ArchiveConfig, type OpenArchive, openArchive } from '../../ledger/openArchive.ts';
import { inclusionPath } from '../../ledger/prove.ts';
import { GrowingTree, leafHash } from '../../ledger/tree.ts';
import type { RecordedSubjects } from '../../ledger/verifyLedger.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { WorkCoalescer } from '../../runtime/concurrency.ts';
import {
  batchOf,
  insertBatch,
  insertLeaf,
  iterateBatches,
  lastCovered,
  lastRetrieval,
  leavesAfter,
  leavesBetween,
  type RetrievalBatch,
  retrievalsAfter,
  type StoredRetrieval,
} from '../../store/sqlite/collection/retrievalBatches.ts';
import { retrievalById, retrievalsFrom } from '../../store/sqlite/collection/retrievals.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { endWordsOfPeers } from '../../withholding/peerWords.ts';

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

/**
 * Makes the ledger cover every retrieval: from now on, each transaction that inserts retrievals ends with an entry that
 * covers them. Call it for each store that is opened for writing, before the first write.
 *
 * A retrieval inserted by another program is never covered, so verification finds it.
 */
function coverRetrievals(store: Pick<Store, 'read' | 'instant' | 'beforeCommit'>): void {
  const known = lastRetrieval(store.read);
  store.beforeCommit((database) => {
    const after = Math.max(known, lastCovered(database));
    if (lastRetrieval(database) <= after) return;
    coverAfter(database, after, store.instant());
  });
}

/** Covers the retrievals after an id, with one entry for each run of consecutive ids. */
function coverAfter(database: WriteDatabase, after: number, at: string): void {
  let first = 0;
  let last = 0;
  let tree = new GrowingTree();
  const end = () => {
    if (tree.size > 0) recordBatch(database, { first, last, root: tree.root().toString('hex') }, at);
    tree = new GrowingTree();
  };
  for (const row of retrievalsAfter(database, after)) {
    if (tree.size === 0 || row.id !== last + 1) {
      end();
      first = row.id;
    }
    last = row.id;
    const leaf = storedRetrievalLeaf(row);
    insertLeaf(database, row.id, leaf);
    tree.append(leaf);
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
 * entry that covers them, and ends what was withheld because of a peer for bytes that came from somewhere else.
 *
 * @throws what `openArchive` throws
 */
export async function openArchiveForWriting(config: ArchiveConfig): Promise<OpenArchive> {
  const opened = await openArchive(config);
  try {
    coverRetrievals(opened.store);
    await endWordsOfPeers(opened.store);
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

/** A retrieval whose connection is not known has no such member. */
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

/** One proof at a time, because an entry may cover very many retrievals. */
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
    for await (const proven of provenRetrievals(read, retrievals)) items.push(proven);
    const last = retrievals.at(-1)?.id;
    return { items, limit, next: last === undefined || retrievals.length < limit ? null : last + 1 };
  });
}

/** Yields retrievals, which come in the order of their ids, with their proofs. Those that no entry covers are left out. */
export async function* provenRetrievals(
  read: ReadDatabase,
  retrievals: Iterable<RetrievalProof['retrieval']>,
): AsyncGenerator<RetrievalProof> {
  let batch: RetrievalBatch | undefined;
  let pathOf: ((id: number) => Buffer[]) | undefined;
  for (const retrieval of retrievals) {
    const { id } = retrieval;
    if (!batch || id > batch.last) {
      batch = batchOf(read, id);
      pathOf = batch && (await auditPaths(read, batch));
    }
    if (!batch || !pathOf) continue;
    yield {
      retrieval,
      leaf: retrievalLeaf(retrieval).toString('base64'),
      ...batch,
      hashes: base64(pathOf(id)),
    };
  }
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
    if (blocks.length % BLOCKS_PER_TURN === 0) await yieldToEventLoop();
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

/**
 * Verifies the retrievals that each entry covers. The root of the stored leaves must be the recorded root. A stored leaf
 * that differs from its retrieval's leaf identifies an altered retrieval.
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
    for (; !next.done; next = pairs.next()) yield uncovered(next.value);
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
