import type { Audit, AuditResult } from '../../shared/ledger/fixity.ts';
import type { Jobs, RunningJob } from '../runtime/jobs.ts';
import { shuttingDown } from '../runtime/shuttingDown.ts';
import { abortAudits, auditsPage } from '../store/sqlite/node/audits.ts';
import type { Store } from '../store/store.ts';
import { auditEverything, MAX_LISTED } from './audit.ts';
import { AuditSchedule, type AuditScheduleServices } from './auditSchedule.ts';

/** The background audits of a running node. */
export interface FixityService {
  /** Starts the scheduled audit. */
  startSchedule(): Promise<void>;
  /** Starts a full audit, or returns the running one. @throws Problem `shutting_down` */
  startAudit(): RunningJob<AuditResult>;
  close(): Promise<void>;
}

export interface FixityConfig extends AuditScheduleServices {
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
        .write((database) => abortAudits(database, 'owner', store.instant()))
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
  return read.transaction(() => auditsPage(read, page)).deferred();
}
