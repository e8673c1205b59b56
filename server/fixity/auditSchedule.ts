import type { Settings } from '../../shared/node/settings.ts';
import type { JobRun } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import { endAudit, insertAudit, type RunningAudit, scheduledAudit } from '../store/sqlite/node/audits.ts';
import { blobRowsAfter, counter } from '../store/sqlite/node/blobs.ts';
import { currentDamages } from '../store/sqlite/node/damages.ts';
import type { Store } from '../store/store.ts';
import { newTally, recordFindings, recordSlice } from './audit.ts';
import { auditBlobs } from './auditBlobs.ts';
import { checkDatabase } from './checkDatabase.ts';
import { moveUnnamedBlobs } from './lostAndFound.ts';

export interface AuditScheduleServices {
  store: Store;
  settings: () => Pick<Settings, 'audit_every_days'>;
  log: Log;
  /** Fetches damaged objects from elsewhere; returns the digests of those that are intact now. */
  repair?: (run: JobRun, by: 'owner' | 'schedule') => Promise<string[]>;
}

/** The interval at which blobs that are due are checked. */
export const LOOK_EVERY_MS = 600_000;
/** Slow enough not to disturb other reads. */
const BYTES_PER_SECOND = 20_000_000;
/** Damaged blobs are checked each time, so that a repair is noticed soon; at most this many. */
const MAX_RECHECKED = 1_000;
const DAY_MS = 86_400_000;
/** How long it takes until damaged objects that nobody held are looked for again. */
const REPAIR_AGAIN_MS = DAY_MS;

/**
 * Re-hashes every stored blob once in `audit_every_days`. The work is spread evenly over that time by bytes, in the order
 * of the digests. The position is kept in the database, so a node continues there after a restart. Overdue blobs are
 * checked at the same low rate.
 */
export class AuditSchedule {
  readonly #services: AuditScheduleServices;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;
  /** The damaged objects that nobody held, and when they were looked for. */
  #unrepaired = { digests: new Set<string>(), at: 0 };

  constructor(services: AuditScheduleServices) {
    this.#services = services;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, log } = this.#services;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        await this.#recheckDamaged();
        while (await this.#checkDue());
        await this.#repairDamaged();
      } catch (error) {
        if (!signal.aborted) log.error({ error }, 'Stored bytes could not be re-hashed on schedule');
      }
      await store.clock.sleep(LOOK_EVERY_MS, signal);
    }
  }

  /** Checks damaged blobs again and records those that are intact now. */
  async #recheckDamaged(): Promise<void> {
    const { store } = this.#services;
    const only = currentDamages(store.read, MAX_RECHECKED).map(({ sha256 }) => sha256);
    if (only.length === 0) return;
    const { findings } = await auditBlobs(store, { ...this.#lowRate, after: '', only });
    await recordFindings(
      store,
      findings.filter(({ problem }) => problem === null),
    );
  }

  /** Repairs what is damaged: new damage at once, the rest once a day. */
  async #repairDamaged(): Promise<void> {
    const { store, repair, log } = this.#services;
    const { signal } = this.#abort;
    const damaged = () => currentDamages(store.read, MAX_RECHECKED).map(({ sha256 }) => sha256);
    const before = damaged();
    const { digests, at } = this.#unrepaired;
    const isDue = store.clock.now() - at >= REPAIR_AGAIN_MS || before.some((sha256) => !digests.has(sha256));
    if (!repair || before.length === 0 || !isDue || signal.aborted) return;
    const restored = await repair({ signal, progress: () => {} }, 'schedule');
    this.#unrepaired = { digests: new Set(damaged()), at: store.clock.now() };
    if (restored.length > 0) log.info({ objects: restored.length }, 'Damaged bytes were repaired');
  }

  /** Checks blobs that are due for a few seconds; returns whether more may be due. */
  async #checkDue(): Promise<boolean> {
    const { store, settings, log } = this.#services;
    const days = settings().audit_every_days;
    if (days === 0 || this.#abort.signal.aborted) return false;
    const audit = scheduledAudit(store.read) ?? (await this.#begin());
    const maxBytes = this.#dueBytes(audit, days * DAY_MS) - audit.bytes;
    if (maxBytes <= 0 || !this.#isNextDue(audit, maxBytes)) return false;
    const slice = await auditBlobs(store, { ...this.#lowRate, after: audit.position, maxBytes });
    const tally = newTally(audit);
    if (slice.checked > 0) await recordSlice(store, audit.id, tally, slice);
    if (tally.damaged > audit.damaged)
      log.warn({ objects: tally.damaged - audit.damaged }, 'Stored bytes are damaged');
    if (slice.isEnd && maxBytes === Number.POSITIVE_INFINITY) {
      await this.#finishCycle();
      await store.write((database) =>
        endAudit(database, audit.id, { ended_at: store.instant(), completed: true }),
      );
      return false;
    }
    return slice.checked > 0 && !slice.isEnd;
  }

  /** Most looks of a small archive find that not even the next blob is due. A thread is not started for them. */
  #isNextDue({ position }: RunningAudit, maxBytes: number): boolean {
    const [next] = blobRowsAfter(this.#services.store.read, position, 1);
    return (next?.bytes ?? Number.POSITIVE_INFINITY) <= maxBytes;
  }

  /** Ends a cycle: checks the database and moves blobs that no row names. */
  async #finishCycle(): Promise<void> {
    const { store, log } = this.#services;
    const { signal } = this.#abort;
    const { ok, findings } = await checkDatabase(store, signal);
    if (!ok) return log.error({ findings }, 'The database is damaged');
    const { unnamed_objects } = await moveUnnamedBlobs(store, signal);
    if (unnamed_objects > 0)
      log.warn(
        { objects: unnamed_objects },
        'Stored bytes that no record names were moved to lost-and-found',
      );
  }

  /** Returns how many bytes of the cycle are due by now; Infinity after its end. */
  #dueBytes({ started_at }: RunningAudit, intervalMs: number): number {
    const { store } = this.#services;
    const elapsed = store.clock.now() - Date.parse(started_at);
    if (elapsed >= intervalMs) return Number.POSITIVE_INFINITY;
    return Math.floor(counter(store.read, 'blob_bytes') * (elapsed / intervalMs));
  }

  async #begin(): Promise<RunningAudit> {
    const { store } = this.#services;
    const started_at = store.instant();
    const id = await store.write((database) => insertAudit(database, { started_by: 'schedule', started_at }));
    return { id, started_at, ...newTally() };
  }

  get #lowRate() {
    return { bytesPerSecond: BYTES_PER_SECOND, signal: this.#abort.signal };
  }
}
