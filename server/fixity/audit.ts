import type { AuditResult, DatabaseCheck } from '../../shared/ledger/fixity.ts';
import {
  type AuditCounts,
  abortAudits,
  endAudit,
  insertAudit,
  updateAudit,
} from '../store/sqlite/node/audits.ts';
import { counter } from '../store/sqlite/node/blobs.ts';
import { currentDamages } from '../store/sqlite/node/damages.ts';
import type { Store } from '../store/store.ts';
import { type AuditSlice, auditBlobs } from './auditBlobs.ts';
import { checkDatabase } from './checkDatabase.ts';
import { type Finding, recordDamage, recordIntact } from './damages.ts';
import { emptyFindings, moveUnnamedBlobs } from './lostAndFound.ts';

/** The number of objects that a result names. */
export const MAX_LISTED = 1_000;

export interface AuditOptions {
  signal: AbortSignal;
  /** Called with the number of bytes read and the total. */
  progress: (done: number, total: number) => void;
  /** The result of `checkDatabase`, if it was called before. */
  database?: DatabaseCheck;
}

/** The state of a running audit. */
export interface AuditTally extends AuditCounts {
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
      if (completed) abortAudits(writing, 'schedule', ended_at);
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
    ...lost,
  };
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
