import type { AuditResult } from '../../shared/fixity.ts';
import {
  type AuditCounts,
  breakOffAudits,
  endAudit,
  insertAudit,
  updateAudit,
} from '../store/sqlite/audits.ts';
import { counter } from '../store/sqlite/blobs.ts';
import { lastingDamages } from '../store/sqlite/damages.ts';
import type { Store } from '../store/store.ts';
import { type AuditSlice, auditBlobs } from '../workers/auditBlobs.ts';
import { type Finding, recordDamage, recordIntact } from './damages.ts';

const LISTED = 1_000;

export interface AuditOptions {
  signal: AbortSignal;
  /** Told how many bytes were read, and how many there are. */
  progress: (done: number, total: number) => void;
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
 * Re-hashes every stored byte, as fast as one thread can, and records what it finds. When it is done the audit on
 * schedule begins anew, because nothing is left that was not looked at just now.
 *
 * @throws the signal's reason, with what was found until then recorded.
 */
export async function auditEverything(
  store: Store,
  { signal, progress }: AuditOptions,
): Promise<AuditResult> {
  const id = await store.write((database) =>
    insertAudit(database, { started_by: 'owner', started_at: store.instant() }),
  );
  const tally = newTally();
  let completed = false;
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
  } finally {
    await store.write((database) => {
      const ended_at = store.instant();
      endAudit(database, id, { ended_at, completed });
      if (completed) breakOffAudits(database, 'schedule', ended_at);
    });
  }
  return {
    checked: tally.checked,
    bytes: tally.bytes,
    damaged_objects: counter(store.read, 'damaged_objects'),
    damaged: lastingDamages(store.read, LISTED),
    restored_objects: tally.restored,
    restored: tally.restored_digests,
  };
}

/** Adds a slice to what was counted, and records both and what it found, in one transaction. */
export async function recordSlice(
  store: Pick<Store, 'write' | 'instant'>,
  id: number,
  tally: AuditTally,
  slice: AuditSlice,
): Promise<void> {
  const recorded = await store.write((database) => {
    const made = slice.findings.map((finding) => recordFinding(database, finding, store.instant()));
    const counts = {
      position: slice.position,
      checked: tally.checked + slice.checked,
      bytes: tally.bytes + slice.bytes,
      damaged: tally.damaged + made.filter((kind) => kind === 'damaged').length,
      restored: tally.restored + made.filter((kind) => kind === 'restored').length,
    };
    updateAudit(database, { id, ...counts });
    return { counts, restored: slice.findings.filter((_finding, index) => made[index] === 'restored') };
  });
  Object.assign(tally, recorded.counts);
  const room = LISTED - tally.restored_digests.length;
  tally.restored_digests.push(...recorded.restored.slice(0, room).map(({ sha256 }) => sha256));
}

/** Records what was found of one object: a damage or a restoration, or nothing where that is known already. */
export function recordFinding(
  database: Parameters<typeof recordDamage>[0],
  finding: Finding,
  at: string,
): 'damaged' | 'restored' | null {
  const { problem, sha256 } = finding;
  if (problem === null) return recordIntact(database, sha256, at) ? 'restored' : null;
  return recordDamage(database, finding, problem, at) ? 'damaged' : null;
}
