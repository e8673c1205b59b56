import type { ImportRequest, PlannedImport, RecordImport } from '../../shared/archive/recordImport.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import type { Drafts } from '../archive/drafts/drafts.ts';
import type { RecordedRequests } from '../collection/record/recordedRequests.ts';
import type { Jobs, RunningJob } from '../runtime/jobs.ts';
import type { Store } from '../store/store.ts';
import { DraftClosedError } from './fetchFile.ts';
import { addressOfRecord, type ImportServices, importRecord, planImport } from './importRecord.ts';

interface ImportsConfig {
  store: Store;
  drafts: Drafts;
  requests: RecordedRequests;
  jobs: Jobs;
  settings: () => Settings;
}

/** Imports records of repositories as drafts; each import is a job. */
export class Imports {
  readonly #config: ImportsConfig;
  /** The imports that run, by address. The same one twice at a time would be two drafts of one record. */
  readonly #running = new Map<string, RunningJob<RecordImport>>();

  constructor(config: ImportsConfig) {
    this.#config = config;
  }

  /** Lists what an import would bring. @throws as `planImport`; Problem `data_cap_reached`, `disk_nearly_full` */
  async plan(request: ImportRequest, signal = new AbortController().signal): Promise<PlannedImport> {
    this.#config.requests.requireRoom();
    return this.#named(signal, () => planImport(this.#services(), request, signal));
  }

  /** Starts an import, or returns the one of the same record that runs. @throws Problem `data_cap_reached`, `disk_nearly_full` */
  start(request: ImportRequest): RunningJob<RecordImport> {
    const { jobs, requests } = this.#config;
    requests.requireRoom();
    const services = this.#services();
    const address = addressOfRecord(request, services.doiResolver);
    const running = this.#running.get(address);
    if (running) return running;
    const started = jobs.start('import', 'bytes', async (run) => {
      try {
        return await this.#named(run.signal, () => importRecord(services, request, run));
      } finally {
        this.#running.delete(address);
      }
    });
    this.#running.set(address, started);
    return started;
  }

  /** Runs work, and names the reason of its end as a problem. */
  async #named<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DraftClosedError) throw new Problem('record_unreadable', error.message);
      if (signal.aborted) throw new Problem('shutting_down', 'The import was stopped.', { cause: error });
      throw error;
    }
  }

  #services(): ImportServices {
    const { store, drafts, requests, settings } = this.#config;
    const { retry_delays_seconds, doi_resolver } = settings();
    return {
      store,
      drafts,
      requests,
      limits: drafts.limits,
      retryDelays: retry_delays_seconds,
      doiResolver: doi_resolver,
    };
  }
}
