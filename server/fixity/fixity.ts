import type { Audit, AuditResult } from '../../shared/fixity.ts';
import { Problem } from '../../shared/problems.ts';
import type { Jobs, RunningJob } from '../runtime/jobs.ts';
import { abortAudits, auditsPage } from '../store/sqlite/node/audits.ts';
import type { Store } from '../store/store.ts';
import { auditEverything } from './audit.ts';
import { AuditSchedule, type AuditScheduleServices } from './auditSchedule.ts';

/** The care for stored bytes, running: what of it outlives a request. */
export interface FixityService {
  /** Begins to re-hash stored objects as they fall due. */
  startSchedule(): Promise<void>;
  /** Starts an audit of everything, or gives back the one that runs. @throws Problem `shutting_down`. */
  startAudit(): RunningJob<AuditResult>;
  close(): Promise<void>;
}

export function openFixity({ jobs, ...services }: AuditScheduleServices & { jobs: Jobs }): FixityService {
  const { store, log } = services;
  const schedule = new AuditSchedule(services);
  let running: RunningJob<AuditResult> | undefined;
  let closing = false;
  return {
    async startSchedule() {
      // What the owner had started ended with the process that it ran in. A full disk keeps nobody from reading.
      await store
        .write((database) => abortAudits(database, 'owner', store.instant()))
        .catch((error: unknown) =>
          log.error({ error }, 'Audits that were broken off could not be told as ended'),
        );
      schedule.start();
    },
    startAudit() {
      if (closing) throw new Problem('shutting_down', 'The node is being closed; try again when it runs.');
      if (running) return running;
      const started = jobs.start('audit', 'bytes', (run) => auditEverything(store, run));
      running = started;
      const over = () => {
        running = undefined;
      };
      started.finished.then(({ database: { ok, findings } }) => {
        over();
        if (!ok) log.error({ findings }, 'The database is damaged');
      }, over);
      return started;
    },
    async close() {
      closing = true;
      await schedule.close();
    },
  };
}

/** A page of the audits, newest first. */
export function listAudits(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): { items: Audit[]; total: number } {
  return read.transaction(() => auditsPage(read, page)).deferred();
}
