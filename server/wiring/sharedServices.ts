import type { Clock } from '../../shared/values/clock.ts';
import type { openArchiveForWriting } from '../collection/record/coverRetrievals.ts';
import type { Jobs } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import type { SettingsStore } from '../store/settings.ts';

/** What opening the archive gave. */
export type OpenedArchive = Pick<
  Awaited<ReturnType<typeof openArchiveForWriting>>,
  'store' | 'key' | 'checkpoints'
>;

/** What most services use. */
export interface SharedServices extends OpenedArchive {
  clock: Clock;
  log: Log;
  settings: SettingsStore;
  jobs: Jobs;
  nodeName: string;
}
