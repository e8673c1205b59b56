import type { DamageContext } from '../../fixity/audit.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { StartChild } from '../../runtime/child.ts';
import type { Log } from '../../runtime/log.ts';
import { keptDatabases } from '../../store/opening/openDatabase.ts';
import {
  countReleasesToClean,
  type DerivedDocumentRow,
  dequeueText,
  derivedDocument,
  indexText,
  mergeIndex,
  outdatedTexts,
  overwriteFreePages,
  type PendingText,
  pendingTexts,
  putDerivedDocument,
  queueTexts,
  queueVersion,
  releasesAreClean,
  sourcesWithoutText,
} from '../../store/sqlite/collection/documentSearch.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { IdleMonitor } from './idleMonitor.ts';
import { TEXT_TIMEOUT_MS } from './limits.ts';
import { Passages } from './passages/passages.ts';
import { type DeriveOptions, Deriver, noticeDamagedObjects, objectToRead } from './process/deriver.ts';
import { CURRENT_TEXT_TOOLS, isPermanent, NO_TEXT_TOOL, NotDerivableError } from './process/tasks.ts';

/** The service that derives documents from archived objects. */
export interface Derived {
  readonly deriver: Deriver;
  readonly texts: Texts;
  readonly passages: Passages;
  /** Starts extracting the texts of versions and packs' files in the background. */
  startFollowing(): void;
  /** Ends the derive processes. Unfinished documents are derived after the next start. */
  close(): Promise<void>;
}

interface DerivedOptions {
  store: Store;
  log: Log;
  /** Starts the process that reads documents. By default, Node forks it. */
  startChild?: StartChild;
  /** See `NodeConfig`. */
  idleMs?: number;
  quickMs?: number;
}

/** Opens the service. Nothing is derived before the first request or `startFollowing`. */
export function openDerived({ store, log, startChild, idleMs, quickMs }: DerivedOptions): Derived {
  const deriver = new Deriver(log, startChild, store.blobs, quickMs);
  const idleMonitor = new IdleMonitor(store, idleMs);
  const texts = new Texts({ store, deriver, write: idleMonitor.write });
  const follower = new TextFollower({ store, texts, idleMonitor, log });
  return {
    deriver,
    texts,
    passages: new Passages({
      store,
      deriver,
      textOf: (sha256, priority) => texts.textOf(sha256, priority),
    }),
    startFollowing: () => follower.start(),
    close: async () => {
      await Promise.all([follower.close(), deriver.close()]);
    },
  };
}

/** The texts of archived objects. A text is extracted on the first request and then stored. */
export class Texts {
  readonly #store: DamageContext;
  readonly #deriver: Deriver;
  readonly #write: Store['write'];
  readonly #making = new Map<string, Promise<DerivedDocumentRow>>();

  constructor(services: {
    store: DamageContext;
    deriver: Deriver;
    write: Store['write'];
  }) {
    this.#store = services.store;
    this.#deriver = services.deriver;
    this.#write = services.write;
  }

  /**
   * Returns the text of an archived object, or the reason why it has none. Extracts and stores it if needed. Concurrent
   * requests for the same text share one extraction.
   *
   * @throws Problem `derivation_busy`, `shutting_down`; whatever writing throws.
   */
  async textOf(sha256: string, priority: DeriveOptions['priority'] = 'normal'): Promise<DerivedDocumentRow> {
    const stored = derivedDocument(this.#store.read, 'text', sha256);
    if (stored && CURRENT_TEXT_TOOLS.includes(`${stored.tool} ${stored.tool_version}`)) return stored;
    // A request does not share the extraction of a background task, which may have to wait longer.
    const key = `${priority} ${sha256}`;
    const making = this.#making.get(key) ?? this.#make(sha256, priority);
    this.#making.set(key, making);
    return making.finally(() => this.#making.delete(key));
  }

  /** Returns the title of an archived object and the beginning of its text, for the index. The text is null if it has none. */
  async searchedText(sha256: string): Promise<{ title: string | null; text: string | null }> {
    if (isReleased(this.#store.read, sha256)) return { title: null, text: null };
    const { title, content } = await this.textOf(sha256, 'low');
    const options = { timeoutMs: TEXT_TIMEOUT_MS, priority: 'low' } as const;
    return { title, text: content && (await this.#deriver.derive({ task: 'searched', content }, options)) };
  }

  async #make(sha256: string, priority: DeriveOptions['priority']): Promise<DerivedDocumentRow> {
    const outcome = await this.#derive(sha256, priority);
    const document: DerivedDocumentRow = {
      kind: 'text',
      subject: sha256,
      objects: [sha256],
      made_at: this.#store.instant(),
      ...outcome,
    };
    if (isPermanent(document.outcome))
      await this.#write((database) => putDerivedDocument(database, document), {
        batched: priority === 'low',
      });
    return document;
  }

  async #derive(sha256: string, priority: DeriveOptions['priority']) {
    try {
      const { tool, toolVersion, title, content } = await this.#deriver.derive(
        { task: 'text', object: objectToRead(this.#store, sha256) },
        { timeoutMs: TEXT_TIMEOUT_MS, priority },
      );
      return { tool, tool_version: toolVersion, outcome: 'made', detail: null, title, content };
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      await noticeDamagedObjects(this.#store, error, [sha256]);
      const { tool, toolVersion } = NO_TEXT_TOOL;
      const detail = error.message;
      return { tool, tool_version: toolVersion, outcome: error.reason, detail, title: null, content: null };
    }
  }
}

/** Delay before the next attempt after a failure, such as a full disk. */
const RETRY_MS = 60_000;
/** Texts extracted before the store must be idle again. */
const BATCH = 16;
/** Longer texts may have so many different words that their index takes tens of milliseconds. */
const MAX_BATCHED_CHARACTERS = 20_000;
/** How long after the log could not be emptied it is tried again. */
const CLEAN_AGAIN_MS = 2_000;
/** Pages of the index that are merged in one transaction. */
const CLEANED_PAGES = 8;
/** Sources per page when missing texts are looked up at start. */
const PAGE = 500;

/**
 * Extracts and indexes the texts of the sources' versions and of the packs' files in the background: new ones while the
 * node runs, and missing ones at start. Works with low priority and only while there is work.
 */
class TextFollower {
  readonly #store: Pick<Store, 'read' | 'clock' | 'folder' | 'emptyLog'>;
  readonly #texts: Texts;
  readonly #idleMonitor: IdleMonitor;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #cleaningLater: Promise<void> | undefined;
  /** The releases since whose last one the index is merged: only the log is left then. */
  #mergedReleases = 0;
  /** Whether anything was committed since the wanted texts were last read. */
  #isWoken = false;

  constructor(services: {
    store: Pick<Store, 'read' | 'clock' | 'folder' | 'emptyLog'>;
    texts: Texts;
    idleMonitor: IdleMonitor;
    log: Log;
  }) {
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
    await Promise.all([this.#running, this.#cleaningLater]);
  }

  /** Works until no text is wanted. */
  async #run({ isFirst = false } = {}): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        if (isFirst) await this.#requestMissing(signal);
        await this.#processWanted(signal);
        await this.#clean(signal);
        // A commit may have come since the last look.
        if (!this.#isWoken) break;
      } catch (error) {
        if (signal.aborted) break;
        this.#log.error({ error }, 'The texts of new versions could not be extracted');
        await this.#store.clock.sleep(RETRY_MS, signal);
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

  /**
   * Overwrites what is left of released bytes, step by step: their words in the index, free pages, and last the log. Only
   * then are they no longer counted. As long as somebody reads an older state from the log, it is tried again.
   */
  async #clean(signal: AbortSignal): Promise<void> {
    const releases = countReleasesToClean(this.#store.read);
    if (releases === 0) return;
    // A database that is kept until the next audit has the words, too. The audit goes on here with its commits.
    if (keptDatabases(this.#store.folder).length > 0) return;
    let isMerged = this.#mergedReleases === releases;
    for (let pages = -CLEANED_PAGES; !isMerged; pages = CLEANED_PAGES) {
      await this.#idleMonitor.waitUntilIdle(signal);
      isMerged = await this.#idleMonitor.write((database) => mergeIndex(database, pages));
    }
    if (this.#mergedReleases !== releases) await this.#idleMonitor.writeInSteps(overwriteFreePages);
    this.#mergedReleases = releases;
    if (!(await this.#store.emptyLog())) return this.#cleanLater(signal);
    this.#mergedReleases = 0;
    await this.#idleMonitor.write((database) => releasesAreClean(database, releases));
  }

  #cleanLater(signal: AbortSignal): void {
    this.#cleaningLater ??= this.#store.clock
      .sleep(CLEAN_AGAIN_MS, signal)
      .catch(ignoreAbort)
      .then(() => {
        this.#cleaningLater = undefined;
        if (!signal.aborted) this.#running ??= this.#run();
      });
  }

  async #index(wanted: PendingText): Promise<void> {
    const { title, text } = await this.#texts.searchedText(wanted.sha256);
    const index = function* (database: WriteDatabase) {
      yield* indexText(database, wanted, text === null ? undefined : { title: title ?? '', text });
      dequeueText(database, wanted);
    };
    if (text !== null && text.length > MAX_BATCHED_CHARACTERS) return this.#idleMonitor.writeInSteps(index);
    await this.#idleMonitor.write(
      (database) => {
        for (const _ of index(database));
      },
      { batched: true },
    );
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
      await yieldToEventLoop();
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
      await yieldToEventLoop();
    }
  }
}

/** An abort ends the wait; the loop checks the signal next. */
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}
