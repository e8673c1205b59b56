import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import type { JobRun, Jobs } from '../../../runtime/jobs.ts';
import type { Log } from '../../../runtime/log.ts';
import { indexText } from '../../../store/sqlite/collection/documentSearch.ts';
import {
  countPendingTexts,
  dequeueText,
  outdatedTexts,
  type PendingText,
  pendingTexts,
  queueBacklog,
  queueTexts,
  queueVersion,
  sourcesWithoutText,
  textBacklog,
} from '../../../store/sqlite/collection/textQueue.ts';
import type { WriteDatabase } from '../../../store/sqlite/engine/open.ts';
import type { Store } from '../../../store/store.ts';
import { decompressContent } from '../content.ts';
import { CURRENT_TEXT_TOOLS } from '../extract/textTools.ts';
import type { IdleMonitor } from '../idleMonitor.ts';
import { MAX_SEARCHED_CHARACTERS } from '../limits.ts';
import type { TextContent } from '../process/tasks.ts';
import type { Texts } from './texts.ts';

/** Delay before the next attempt after a failure, such as a full disk. */
const RETRY_MS = 60_000;
/** Texts extracted before the store must be idle again. */
const BATCH = 16;
/** More of an older archive is queued when fewer texts than this are. */
const MIN_QUEUED = 64;
/** Events, and ledger entries of packs, that are queued at a time. */
const BACKLOG_STEP = 500;
/** How often the progress in an older archive is reported. */
const BACKLOG_REPORT_MS = 500;
/** Sources per page when missing texts are looked up at start. */
const PAGE = 500;

/**
 * Extracts and indexes the texts of the sources' versions and of the packs' files in the background: new ones while the
 * node runs, missing ones at start, and those of an older archive step by step, as a job. Works with low priority and
 * only while there is work.
 */
export class TextFollower {
  readonly #store: Pick<Store, 'read'>;
  readonly #texts: Texts;
  readonly #idleMonitor: IdleMonitor;
  readonly #log: Log;
  readonly #jobs: Jobs;
  readonly #closing = new AbortController();
  /** The job that shows the progress in an older archive. Cancelled, the rest waits for the next start. */
  #backlogJob: Pick<JobRun, 'signal' | 'progress'> | undefined;
  #running: Promise<void> | undefined;
  /** Whether anything was committed since the wanted texts were last read. */
  #isWoken = false;

  constructor(services: {
    store: Pick<Store, 'read'>;
    texts: Texts;
    idleMonitor: IdleMonitor;
    jobs: Jobs;
    log: Log;
  }) {
    this.#store = services.store;
    this.#texts = services.texts;
    this.#idleMonitor = services.idleMonitor;
    this.#jobs = services.jobs;
    this.#log = services.log;
  }

  start(): void {
    this.#idleMonitor.start(() => {
      this.#isWoken = true;
      this.#running ??= this.#run();
    });
    this.#running = this.#run({ isFirst: true });
    if (textBacklog(this.#store.read)) this.#startBacklogJob();
  }

  #startBacklogJob(): void {
    const { finished } = this.#jobs.start('texts', 'records', async (run) => {
      this.#backlogJob = run;
      const signal = AbortSignal.any([run.signal, this.#closing.signal]);
      while (!signal.aborted && textBacklog(this.#store.read)) {
        this.#isWoken = true;
        this.#running ??= this.#run();
        await wait(BACKLOG_REPORT_MS, undefined, { signal, ref: false }).catch(ignoreAbort);
        const { done = 0, total = null } = textBacklog(this.#store.read) ?? {};
        if (total !== null) run.progress(done, total);
      }
    });
    finished.catch((error: unknown) => this.#log.error({ error }, 'Older texts could not be indexed'));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#idleMonitor.stop();
    await this.#running;
  }

  /** Works until no text is wanted. */
  async #run({ isFirst = false } = {}): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        if (isFirst) await this.#requestMissing(signal);
        await this.#processWanted(signal);
        // A commit may have come since the last look.
        if (!this.#isWoken) break;
      } catch (error) {
        if (signal.aborted) break;
        this.#log.error({ error }, 'The texts of new versions could not be extracted');
        await wait(RETRY_MS, undefined, { signal, ref: false }).catch(ignoreAbort);
      }
    }
    this.#running = undefined;
  }

  async #processWanted(signal: AbortSignal): Promise<void> {
    let wanted: PendingText[];
    do {
      await this.#idleMonitor.waitUntilIdle(signal);
      this.#isWoken = false;
      await this.#queueMore();
      wanted = pendingTexts(this.#store.read, BATCH);
      // The deriver extracts one text at a time; the next one starts while the last is written.
      const made = await Promise.allSettled(wanted.map((text) => this.#index(text)));
      const failed = made.find((outcome) => outcome.status === 'rejected');
      if (failed) throw failed.reason;
    } while (wanted.length > 0 || this.#isWoken);
  }

  /** Queues the next part of an older archive if little is queued. */
  async #queueMore(): Promise<void> {
    const { read } = this.#store;
    const isWorking = this.#backlogJob !== undefined && !this.#backlogJob.signal.aborted;
    if (!isWorking || !textBacklog(read) || countPendingTexts(read) >= MIN_QUEUED) return;
    await this.#idleMonitor.write((database) => queueBacklog(database, BACKLOG_STEP));
    this.#isWoken = true;
  }

  async #index(wanted: PendingText): Promise<void> {
    const { content, title } = await this.#texts.textOf(wanted.sha256, 'low');
    const text = content && decompressContent<TextContent>(content).text.slice(0, MAX_SEARCHED_CHARACTERS);
    const index = (database: WriteDatabase) => {
      indexText(database, wanted, text === null ? undefined : { title: title ?? '', text });
      dequeueText(database, wanted);
    };
    await this.#idleMonitor.write(index, { batched: true });
  }

  /** Queues texts that are missing, were deleted, or were made by other versions of the tools. */
  async #requestMissing(signal: AbortSignal): Promise<void> {
    const { read } = this.#store;
    for (let after = Number.MIN_SAFE_INTEGER; !signal.aborted; ) {
      const page = outdatedTexts(read, { after, limit: PAGE, tools: CURRENT_TEXT_TOOLS });
      const wanted = page.filter(({ isWanted }) => isWanted);
      if (wanted.length > 0) await this.#idleMonitor.write((database) => queueTexts(database, wanted));
      after = page.at(-1)?.key ?? 0;
      if (page.length < PAGE) break;
      await nextTurn();
    }
    for (let after = 0; !signal.aborted; ) {
      const page = sourcesWithoutText(read, { after, limit: PAGE });
      const missing = page.flatMap(({ source_key, sha256 }) => (sha256 ? [{ source_key, sha256 }] : []));
      if (missing.length > 0)
        await this.#idleMonitor.write((database) => {
          for (const { source_key, sha256 } of missing) queueVersion(database, source_key, sha256);
        });
      after = page.at(-1)?.source_key ?? 0;
      if (page.length < PAGE) return;
      await nextTurn();
    }
  }
}

/** An abort ends the wait; the loop checks the signal next. */
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}
