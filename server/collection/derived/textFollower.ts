import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../../runtime/log.ts';
import {
  dequeueText,
  indexText,
  type PendingText,
  pendingTexts,
  queueTexts,
  sourcesWithoutText,
} from '../../store/sqlite/collection/documentSearch.ts';
import type { Store } from '../../store/store.ts';
import { decompressContent } from './content.ts';
import { MAX_SEARCHED_CHARACTERS } from './limits.ts';
import type { IdleMonitor } from './quiet.ts';
import type { TextContent } from './tasks.ts';
import type { Texts } from './texts.ts';
import { CURRENT_TEXT_TOOLS } from './tools.ts';

/** After a failure (a full disk, say) it tries again. */
const RETRY_MS = 60_000;
/** So many texts are made before it looks again whether others write. */
const BATCH = 16;
/** So many sources are looked at in one go when a node starts. */
const PAGE = 500;

/**
 * Makes the texts of the sources' current versions, so that they can be searched: what changes while the node runs, and
 * at start what was missed. One at a time, behind everything else, and at rest when there is nothing to do.
 */
export class TextFollower {
  readonly #store: Pick<Store, 'read'>;
  readonly #texts: Texts;
  readonly #quiet: IdleMonitor;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** Others wrote since it last looked at what is wanted. */
  #isWoken = false;

  constructor(services: { store: Pick<Store, 'read'>; texts: Texts; quiet: IdleMonitor; log: Log }) {
    this.#store = services.store;
    this.#texts = services.texts;
    this.#quiet = services.quiet;
    this.#log = services.log;
  }

  start(): void {
    this.#quiet.start(() => {
      this.#isWoken = true;
      this.#running ??= this.#run();
    });
    this.#running = this.#run({ isFirst: true });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#quiet.stop();
    await this.#running;
  }

  /** Works until nothing is wanted. */
  async #run({ isFirst = false } = {}): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        if (isFirst) await this.#wantWhatWasMissed(signal);
        await this.#makeWanted(signal);
        break;
      } catch (error) {
        if (signal.aborted) break;
        this.#log.error({ error }, 'The texts of new versions could not be made');
        await wait(RETRY_MS, undefined, { signal, ref: false }).catch(endsWithTheLoop);
      }
    }
    this.#running = undefined;
  }

  async #makeWanted(signal: AbortSignal): Promise<void> {
    let wanted: PendingText[];
    do {
      await this.#quiet.reached(signal);
      this.#isWoken = false;
      wanted = pendingTexts(this.#store.read, BATCH);
      // One text is made at a time; the next is begun while the last is being written.
      const made = await Promise.allSettled(wanted.map((text) => this.#makeFindable(text)));
      const failed = made.find((outcome) => outcome.status === 'rejected');
      if (failed) throw failed.reason;
    } while (wanted.length > 0 || this.#isWoken);
  }

  async #makeFindable(wanted: PendingText): Promise<void> {
    const { content, title } = await this.#texts.textOf(wanted.sha256, 'low');
    const text = content && decompressContent<TextContent>(content).text.slice(0, MAX_SEARCHED_CHARACTERS);
    await this.#quiet.write((database) => {
      indexText(database, wanted, text === null ? undefined : { title: title ?? '', text });
      dequeueText(database, wanted);
    });
  }

  /** What changed before there was an index, while the tools were others, or what was deleted to be made anew. */
  async #wantWhatWasMissed(signal: AbortSignal): Promise<void> {
    for (let after = 0; !signal.aborted; ) {
      const page = sourcesWithoutText(this.#store.read, { after, limit: PAGE, tools: CURRENT_TEXT_TOOLS });
      const keys = page.filter(({ isWanted }) => isWanted).map(({ source_key }) => source_key);
      if (keys.length > 0) await this.#quiet.write((database) => queueTexts(database, keys));
      after = page.at(-1)?.source_key ?? 0;
      if (page.length < PAGE) return;
    }
  }
}

/** The wait was ended because the node closes, which its loop looks at next. */
function endsWithTheLoop(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}
