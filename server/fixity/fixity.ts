import type { Audit, AuditResult } from '../../shared/ledger/fixity.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { RepeatedWork } from '../runtime/background.ts';
import { type JobRun, type Jobs, type RunningJob, shuttingDown } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import {
  type AuditCounts,
  abortAudits,
  auditsPage,
  counter,
  currentDamages,
  endAudit,
  insertAudit,
  type RunningAudit,
  scheduledAudit,
} from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';
import {
  auditBlobs,
  auditEverything,
  checkDatabase,
  endGoodAudit,
  MAX_LISTED,
  newTally,
  recordFindings,
  recordSlice,
} from './audit.ts';
import { moveUnnamedBlobs } from './lostAndFound.ts';

/** The background audits of a running node. */
export interface FixityService {
  /** Starts the scheduled audit. */
  startSchedule(): Promise<void>;
  /** Starts a full audit, or returns the running one. @throws Problem `shutting_down` */
  startAudit(): RunningJob<AuditResult>;
  close(): Promise<void>;
}

interface FixityConfig extends AuditScheduleServices {
  jobs: Jobs;
}

export function openFixity({ jobs, ...services }: FixityConfig): FixityService {
  const { store, log, repair } = services;
  const schedule = new AuditSchedule(services);
  let running: RunningJob<AuditResult> | undefined;
  let closing = false;
  return {
    async startSchedule() {
      // Audits of the owner ended with their process. A full disk must not prevent the start.
      await store
        .write((database) => abortAudits(database, { startedBy: 'owner', at: store.instant() }))
        .catch((error: unknown) => log.error({ error }, 'Interrupted audits could not be marked as ended'));
      schedule.start();
    },
    startAudit() {
      if (closing) throw shuttingDown();
      if (running) return running;
      const started = jobs.start('audit', 'bytes', async (run) => {
        const result = await auditEverything(store, run);
        if (!repair || result.damaged_objects === 0) return result;
        const repaired = await repair({ signal: run.signal, progress: () => {} }, 'owner');
        const restored_objects = result.restored_objects + repaired.length;
        return {
          ...result,
          restored_objects,
          restored: [...result.restored, ...repaired].slice(0, MAX_LISTED),
        };
      });
      running = started;
      const finish = () => {
        running = undefined;
      };
      started.finished.then(({ database: { ok, findings } }) => {
        finish();
        if (!ok) log.error({ findings }, 'The database is damaged');
      }, finish);
      return started;
    },
    async close() {
      closing = true;
      await schedule.close();
    },
  };
}

/** Returns a page of the audits, newest first. */
export function listAudits(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): { items: Audit[]; total: number } {
  return auditsPage(read, page);
}

interface AuditScheduleServices {
  store: Store;
  settings: () => Pick<Settings, 'audit_every_days'>;
  log: Log;
  /** Fetches damaged objects from elsewhere; returns the digests of those that are intact now. */
  repair?: (run: JobRun, by: 'owner' | 'schedule') => Promise<string[]>;
}

/** The interval at which blobs that are due are checked. */
export const POLL_INTERVAL_MS = 600_000;
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
class AuditSchedule {
  readonly #services: AuditScheduleServices;
  readonly #work: RepeatedWork;
  /** The damaged objects that nobody held, and when they were looked for. */
  #unrepaired = { digests: new Set<string>(), at: 0 };

  constructor(services: AuditScheduleServices) {
    this.#services = services;
    this.#work = new RepeatedWork(services.store.clock);
  }

  start(): void {
    this.#work.start(
      () => this.#check(),
      POLL_INTERVAL_MS,
      (error) => this.#services.log.error({ error }, 'Stored bytes could not be re-hashed on schedule'),
    );
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  async #check(): Promise<void> {
    await this.#recheckDamaged();
    while (await this.#checkDue());
    await this.#repairDamaged();
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
    const { signal } = this.#work;
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
    if (days === 0 || this.#work.signal.aborted) return false;
    const audit = scheduledAudit(store.read) ?? (await this.#begin());
    const maxBytes = this.#dueBytes(audit, days * DAY_MS) - audit.bytes;
    if (maxBytes <= 0) return false;
    const slice = await auditBlobs(store, { ...this.#lowRate, after: audit.position, maxBytes });
    const tally = newTally(audit);
    // Also past objects that are offloaded: a slice may have no time for others.
    const isFurther = slice.position !== audit.position;
    if (isFurther) await recordSlice(store, audit.id, tally, slice);
    if (tally.damaged > audit.damaged)
      log.warn({ objects: tally.damaged - audit.damaged }, 'Stored bytes are damaged');
    if (slice.isEnd && maxBytes === Number.POSITIVE_INFINITY) {
      await this.#finishCycle(tally);
      await store.write((database) =>
        endAudit(database, audit.id, { ended_at: store.instant(), completed: true }),
      );
      return false;
    }
    return isFurther && !slice.isEnd;
  }

  /** Ends a cycle: checks the database and moves blobs that no row names. */
  async #finishCycle(tally: AuditCounts): Promise<void> {
    const { store, log } = this.#services;
    const { signal } = this.#work;
    const { ok, findings } = await checkDatabase(store, signal);
    if (!ok) return log.error({ findings }, 'The database is damaged');
    const lost = await moveUnnamedBlobs(store, signal);
    const { unnamed_objects } = lost;
    await endGoodAudit(store, tally, lost);
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
    return { bytesPerSecond: BYTES_PER_SECOND, signal: this.#work.signal };
  }
}
