import type { AuditResult, DamageProblem, DatabaseCheck } from '../../shared/ledger/fixity.ts';
import { Problem } from '../../shared/problems.ts';
import { rehashBlobs } from '../hashing/hashFiles.ts';
import { runInThread } from '../runtime/threads.ts';
import { type BlobStore, isMissing, isUnreadable } from '../store/blobs/blobStore.ts';
import { databaseFile } from '../store/files.ts';
import { removeKeptDatabases } from '../store/opening/openDatabase.ts';
import {
  type AuditCounts,
  abortAudits,
  blobRow,
  counter,
  currentDamages,
  endAudit,
  insertAudit,
  releasedObjects,
  updateAudit,
} from '../store/sqlite/node/blobs.ts';
import { readSetting, writeSetting } from '../store/sqlite/node/owner.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import { type Finding, isDamaged, recordDamage, recordIntact } from './damages.ts';
import { emptyFindings, moveUnnamedBlobs } from './lostAndFound.ts';

/** The number of objects that a result names. */
export const MAX_LISTED = 1_000;

interface AuditOptions {
  signal: AbortSignal;
  /** Called with the number of bytes read and the total. */
  progress: (done: number, total: number) => void;
  /** The result of `checkDatabase`, if it was called before. */
  database?: DatabaseCheck;
}

/** The state of a running audit. */
interface AuditTally extends AuditCounts {
  position: string;
  restored_digests: string[];
}

export function newTally(before: Partial<AuditTally> = {}): AuditTally {
  return { position: '', checked: 0, bytes: 0, damaged: 0, restored: 0, restored_digests: [], ...before };
}

/**
 * Audits the whole archive: checks the database, re-hashes every blob as fast as one thread can, records the findings and
 * moves blobs that no row names to `lost-and-found/`. A complete audit restarts the cycle of the scheduled one.
 *
 * If the database is damaged, the audit ends with that finding: its rows cannot be trusted, and writing could damage it
 * further.
 *
 * @throws the signal's reason; findings until then are recorded
 */
export async function auditEverything(
  store: Store,
  { signal, progress, ...checked }: AuditOptions,
): Promise<AuditResult> {
  const started_at = store.instant();
  const begin = () => store.write((writing) => insertAudit(writing, { started_by: 'owner', started_at }));
  const end = (id: number, completed: boolean) =>
    store.write((writing) => {
      const ended_at = store.instant();
      endAudit(writing, id, { ended_at, completed });
      if (completed) abortAudits(writing, { startedBy: 'schedule', at: ended_at });
    });
  const database =
    checked.database ??
    (await checkDatabase(store, signal).catch(async (error: unknown) => {
      if (signal.aborted) await end(await begin(), false);
      throw error;
    }));
  if (!database.ok) return { database, ...NOTHING_CHECKED, ...emptyFindings() };
  const id = await begin();
  const tally = newTally();
  let elsewhere = 0;
  let completed = false;
  let lost = emptyFindings();
  try {
    for (let isEnd = false; !isEnd; ) {
      const done = tally.bytes;
      const total = counter(store.read, 'blob_bytes');
      progress(done, total);
      const slice = await auditBlobs(store, {
        after: tally.position,
        signal,
        onProgress: (bytes) => progress(done + bytes, total),
      });
      await recordSlice(store, id, tally, slice);
      elsewhere += slice.elsewhere;
      isEnd = slice.isEnd;
    }
    progress(tally.bytes, tally.bytes);
    completed = true;
    lost = await moveUnnamedBlobs(store, signal);
    await endGoodAudit(store, tally, lost);
  } finally {
    await end(id, completed);
  }
  return {
    database,
    checked: tally.checked,
    bytes: tally.bytes,
    damaged_objects: counter(store.read, 'damaged_objects'),
    damaged: currentDamages(store.read, MAX_LISTED),
    restored_objects: tally.restored,
    restored: tally.restored_digests,
    ...(elsewhere > 0 && { elsewhere_objects: elsewhere }),
    ...releasedObjects(store.read),
    ...lost,
  };
}

/**
 * Removes the copies of the database from before its schema was changed, if a complete audit of an intact database found
 * neither new damage nor bytes that no row names: the rows that name them may have been lost in the change.
 */
export async function endGoodAudit(
  { folder }: Pick<Store, 'folder'>,
  { damaged }: Pick<AuditTally, 'damaged'>,
  { unnamed_objects }: Pick<AuditResult, 'unnamed_objects'>,
): Promise<void> {
  if (damaged === 0 && unnamed_objects === 0) await removeKeptDatabases(folder);
}

const NOTHING_CHECKED = {
  checked: 0,
  bytes: 0,
  damaged_objects: 0,
  damaged: [],
  restored_objects: 0,
  restored: [],
};

/** Records the findings of a slice and the progress of the audit. */
export async function recordSlice(
  store: Pick<Store, 'write' | 'instant'>,
  id: number,
  tally: AuditTally,
  slice: AuditSlice,
): Promise<void> {
  const { damaged, restored } = await recordFindings(store, slice.findings);
  tally.position = slice.position;
  tally.checked += slice.checked;
  tally.bytes += slice.bytes;
  tally.damaged += damaged;
  tally.restored += restored.length;
  tally.restored_digests.push(...restored.slice(0, MAX_LISTED - tally.restored_digests.length));
  await store.write((database) => updateAudit(database, { id, ...tally }));
}

/** The number of findings in one transaction; more would delay other writes. */
const FINDINGS_PER_TRANSACTION = 100;

/** Records damages and restorations; returns the number of new damages and the restored digests. */
export async function recordFindings(
  store: Pick<Store, 'write' | 'instant'>,
  findings: readonly Finding[],
): Promise<{ damaged: number; restored: string[] }> {
  let damaged = 0;
  const restored: string[] = [];
  for (let first = 0; first < findings.length; first += FINDINGS_PER_TRANSACTION) {
    await store.write((database) => {
      for (const finding of findings.slice(first, first + FINDINGS_PER_TRANSACTION)) {
        const { sha256, problem } = finding;
        const at = store.instant();
        if (problem !== null) damaged += Number(recordDamage(database, finding, problem, at));
        else if (recordIntact(database, sha256, at)) restored.push(sha256);
      }
    });
  }
  return { damaged, restored };
}

/** Which blobs a slice of an audit checks. */
export interface AuditSliceInput {
  folder: string;
  /** The slice starts with the blob after this digest. */
  after: string;
  /** Check only these digests. */
  only?: readonly string[];
  /** The slice ends before the blob that would exceed this number of bytes. */
  maxBytes?: number;
  /** The maximum rate of reading; unlimited if undefined. */
  bytesPerSecond?: number;
}

/** The result of a slice. */
export interface AuditSlice {
  /** The digest of the last checked blob; `after` if none was checked. */
  position: string;
  /** Whether there are no more blobs. */
  isEnd: boolean;
  checked: number;
  /** Blobs that were not checked, because they are offloaded. */
  elsewhere: number;
  /** Blobs of the whole archive that were given up. None of them is checked. */
  released: number;
  bytes: number;
  /** Damaged blobs, and blobs that are recorded as damaged and are intact (`problem` null). */
  findings: { sha256: string; bytes: number; problem: DamageProblem | null; found: string | null }[];
}

/**
 * Re-hashes stored blobs in a worker thread, in the order of their digests, for a few seconds at most. Only reads: the
 * caller records the findings.
 *
 * @throws the signal's reason, after ending the thread; Error if the disk cannot be read
 */
export function auditBlobs(
  { folder }: Pick<Store, 'folder'>,
  {
    signal,
    onProgress,
    ...input
  }: Omit<AuditSliceInput, 'folder'> & { signal?: AbortSignal; onProgress?: (bytes: number) => void },
): Promise<AuditSlice> {
  return runInThread('auditSlice', { ...input, folder } satisfies AuditSliceInput, { signal, onProgress });
}

/** The parts of the store that checking blobs and recording their damage needs. */
export type DamageContext = Pick<Store, 'folder' | 'read' | 'write' | 'instant' | 'blobs'>;

/** Returns whether an error means that a blob is damaged: missing, of another size, or unreadable. */
export function isBlobDamageError(error: unknown): boolean {
  return (
    (error instanceof Problem && error.code === 'blob_damaged') || isMissing(error) || isUnreadable(error)
  );
}

/**
 * Records damage that was found while blobs were read, so that they are withheld from then on. The blobs are first
 * re-hashed, as in an audit; nothing is recorded twice. Resolves when the damage is recorded, or if it cannot be (then the
 * next reader tries again).
 */
export async function confirmDamage(store: DamageContext, digests: readonly string[]): Promise<void> {
  const unknown = digests.filter(
    (sha256) => !isDamaged(store.read, sha256) && !isReleased(store.read, sha256),
  );
  if (unknown.length === 0) return;
  let checks = checksOf.get(store.blobs);
  if (!checks) checksOf.set(store.blobs, (checks = new DamageChecks()));
  await checks.request(store, unknown);
}

/**
 * Records damage like `confirmDamage` and, as an audit does, also what is missing since a restore that did not bring it. For
 * work that cannot go on before it is recorded.
 */
export async function auditObjects(store: DamageContext, digests: readonly string[]): Promise<void> {
  await confirmDamage(store, digests);
  const left = digests.filter((sha256) => !isDamaged(store.read, sha256) && !isReleased(store.read, sha256));
  if (left.length > 0) await checkBlobs(store, left.sort(), () => true);
}

/** The setting with the time at which this archive was restored from a dump without its blobs. */
const RESTORED_AT = 'restored_without_bytes_at';

/**
 * Marks an archive as restored from a dump without its blobs. Reading a missing blob then records no damage, so that the
 * ledger stays as it was restored. An audit records the blobs that are still missing.
 */
export async function markRestoredWithoutBlobs(store: Pick<Store, 'write' | 'instant'>): Promise<void> {
  await store.write((database) => writeSetting(database, RESTORED_AT, store.instant()));
}

function isExpected({ sha256, problem }: Finding, { read }: DamageContext): boolean {
  const restoredAt = readSetting(read, RESTORED_AT);
  const storedAt = blobRow(read, sha256)?.stored_at;
  return (
    problem === 'missing' &&
    typeof restoredAt === 'string' &&
    storedAt !== undefined &&
    storedAt <= restoredAt
  );
}

const checksOf = new WeakMap<BlobStore, DamageChecks>();

/** Runs one check at a time; digests that are requested meanwhile are checked together in the next one. */
class DamageChecks {
  readonly #waiting = new Set<string>();
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  request(store: DamageContext, digests: readonly string[]): Promise<void> {
    for (const sha256 of digests) this.#waiting.add(sha256);
    if (this.#next) return this.#next;
    const check = () => {
      this.#next = undefined;
      const batch = [...this.#waiting].sort();
      this.#waiting.clear();
      return checkBlobs(store, batch);
    };
    // A failure is reported to those who requested that check.
    this.#last = this.#last.then(check, check);
    this.#next = this.#last;
    return this.#next;
  }
}

/** @param isRecorded which findings are recorded; by default, those that nobody expects */
async function checkBlobs(
  store: DamageContext,
  digests: readonly string[],
  isRecorded = (finding: Finding) => !isExpected(finding, store),
): Promise<void> {
  try {
    await checkOffloaded(store, digests);
    for (let only = digests; only.length > 0; ) {
      const { findings, position, isEnd } = await auditBlobs(store, { after: '', only });
      await recordFindings(store, findings.filter(isRecorded));
      only = isEnd ? [] : only.slice(only.indexOf(position) + 1);
    }
  } catch (error) {
    // Nothing can be written now. The reader still gets its error.
    if (!(error instanceof Problem)) throw error;
  }
}

/** Records the offloaded blobs of which every copy is damaged; none that cannot be reached now. */
async function checkOffloaded(store: DamageContext, digests: readonly string[]): Promise<void> {
  for (const sha256 of digests) {
    const bytes = store.blobs.offloaded.bytesOf(sha256);
    if (bytes === undefined || !(await store.blobs.offloaded.isOffloaded(sha256))) continue;
    const found = (await rehashBlobs(store.blobs, [{ sha256, bytes }])).get(sha256) ?? null;
    if (found === null) await recordFindings(store, [{ sha256, bytes, problem: 'unreadable', found }]);
  }
}

const MAX_DATABASE_FINDINGS = 100;

/** Runs SQLite's integrity check over the whole database, in a worker thread. Only reads. */
export async function checkDatabase(
  { folder }: Pick<Store, 'folder'>,
  signal?: AbortSignal,
): Promise<DatabaseCheck> {
  const input = { file: databaseFile(folder), atMost: MAX_DATABASE_FINDINGS };
  const findings = await runInThread<string[]>('checkDatabase', input, { signal });
  return { ok: findings.length === 0, findings };
}
