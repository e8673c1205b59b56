import type { AuditResult, DatabaseCheck } from '../../shared/fixity.ts';
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

const LISTED = 1_000;

export interface AuditOptions {
  signal: AbortSignal;
  /** Told how many bytes were read, and how many there are. */
  progress: (done: number, total: number) => void;
  /** What SQLite said of its file, where it was asked already. */
  database?: DatabaseCheck;
}

/** What is counted on the way of one audit. */
export interface AuditTally extends AuditCounts {
  position: string;
  restored_digests: string[];
}

export function newTally(before: Partial<AuditTally> = {}): AuditTally {
  return { position: '', checked: 0, bytes: 0, damaged: 0, restored: 0, restored_digests: [], ...before };
}

/**
 * Lets SQLite check its file, then re-hashes every stored byte, as fast as one thread can, records what it finds and
 * sets apart what no row names. When it is done the audit on schedule begins anew, because nothing is left that was not
 * looked at just now.
 *
 * Where the database is damaged it does no more than say so: what its rows say cannot be relied on, and to write to it
 * may damage it further.
 *
 * @throws the signal's reason, with what was found until then recorded.
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
  if (!database.ok) return { database, ...NOTHING_LOOKED_AT, ...emptyFindings() };
  const id = await begin();
  const tally = newTally();
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
        tell: (bytes) => progress(done + bytes, total),
      });
      await recordSlice(store, id, tally, slice);
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
    damaged: currentDamages(store.read, LISTED),
    restored_objects: tally.restored,
    restored: tally.restored_digests,
    ...lost,
  };
}

const NOTHING_LOOKED_AT = {
  checked: 0,
  bytes: 0,
  damaged_objects: 0,
  damaged: [],
  restored_objects: 0,
  restored: [],
};

/** Records what a slice found, then how far the audit came with it. */
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
  tally.restored_digests.push(...restored.slice(0, LISTED - tally.restored_digests.length));
  await store.write((database) => updateAudit(database, { id, ...tally }));
}

/** Findings that are recorded in one transaction: more would hold up what else is to be done. */
const RECORDED_AT_ONCE = 100;

/** Records damages and restorations, and tells how many damages are new and which objects are right again. */
export async function recordFindings(
  store: Pick<Store, 'write' | 'instant'>,
  findings: readonly Finding[],
): Promise<{ damaged: number; restored: string[] }> {
  let damaged = 0;
  const restored: string[] = [];
  for (let first = 0; first < findings.length; first += RECORDED_AT_ONCE) {
    await store.write((database) => {
      for (const finding of findings.slice(first, first + RECORDED_AT_ONCE)) {
        const { sha256, problem } = finding;
        const at = store.instant();
        if (problem !== null) damaged += Number(recordDamage(database, finding, problem, at));
        else if (recordIntact(database, sha256, at)) restored.push(sha256);
      }
    });
  }
  return { damaged, restored };
}
