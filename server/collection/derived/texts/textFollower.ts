import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../../../runtime/log.ts';
import {
  dequeueText,
  indexText,
  type PendingText,
  pendingTexts,
  queueTexts,
  sourcesWithoutText,
} from '../../../store/sqlite/collection/documentSearch.ts';
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
/** Sources per page when missing texts are looked up at start. */
const PAGE = 500;

/**
 * Extracts and indexes the texts of the sources' current versions in the background: new versions while the node runs,
 * and missing texts at start. Works with low priority and only while there is work.
 */
export class TextFollower {
  readonly #store: Pick<Store, 'read'>;
  readonly #texts: Texts;
  readonly #idleMonitor: IdleMonitor;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** Whether others wrote since the wanted texts were last read. */
  #isWoken = false;

  constructor(services: { store: Pick<Store, 'read'>; texts: Texts; idleMonitor: IdleMonitor; log: Log }) {
    this.#store = services.store;
    this.#texts = services.texts;
    this.#idleMonitor = services.idleMonitor;
    this.#log = services.log;
  }

  start(): void {
    this.#idleMonitor.start(() => {
      this.#isWoken = true;
      this.#running ??= this.#run();
    });
    this.#running = this.#run({ isFirst: true });
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
        break;
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
      wanted = pendingTexts(this.#store.read, BATCH);
      // The deriver extracts one text at a time; the next one starts while the last is written.
      const made = await Promise.allSettled(wanted.map((text) => this.#index(text)));
      const failed = made.find((outcome) => outcome.status === 'rejected');
      if (failed) throw failed.reason;
    } while (wanted.length > 0 || this.#isWoken);
  }

  async #index(wanted: PendingText): Promise<void> {
    const { content, title } = await this.#texts.textOf(wanted.sha256, 'low');
    const text = content && decompressContent<TextContent>(content).text.slice(0, MAX_SEARCHED_CHARACTERS);
    await this.#idleMonitor.write((database) => {
      indexText(database, wanted, text === null ? undefined : { title: title ?? '', text });
      dequeueText(database, wanted);
    });
  }

  /** Requests texts that are missing, were deleted, or were made by other versions of the tools. */
  async #requestMissing(signal: AbortSignal): Promise<void> {
    for (let after = 0; !signal.aborted; ) {
      const page = sourcesWithoutText(this.#store.read, { after, limit: PAGE, tools: CURRENT_TEXT_TOOLS });
      const keys = page.filter(({ isWanted }) => isWanted).map(({ source_key }) => source_key);
      if (keys.length > 0) await this.#idleMonitor.write((database) => queueTexts(database, keys));
      after = page.at(-1)?.source_key ?? 0;
      if (page.length < PAGE) return;
    }
  }
}

/** An abort ends the wait; the loop checks the signal next. */
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}
