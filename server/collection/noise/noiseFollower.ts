import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import {
  type ComparableEvent,
  eventsToJudge,
  hasRules,
  lastJudgedEvent,
  NO_PICTURE,
  putEventNoise,
  recordSearch,
  setLastJudgedEvent,
  type WatchedPart,
  watchedParts,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import type { Store } from '../../store/store.ts';
import { IdleMonitor } from '../derived/idleMonitor.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import { judgeEvent, noiseMarkOf, readVersion } from './judge.ts';

/** Events looked up at a time. */
const PAGE = 1_000;
/** The position is written at least once per this many events, so that a restart repeats little work. */
const WRITE_EVERY = 10_000;

/** Watched parts looked up at a time. */
const PARTS = 200;

type PartToSeek = Pick<WatchedPart, 'key' | 'watch'> & { sha256: string };

/** Judges new changes in the background, once the store is idle, and looks for watched parts in new versions. */
export class NoiseFollower {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #log: Log;
  readonly #idleMonitor: IdleMonitor;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** By the key of a source: the part and the version that could not be read, in which it was to be looked for. */
  readonly #unread = new Map<number, string>();
  #isWoken = false;
  #after: number;

  constructor({
    store,
    deriver,
    log,
    idleMs,
  }: { store: Store; deriver: Deriver; log: Log; idleMs?: number }) {
    this.#store = store;
    this.#deriver = deriver;
    this.#log = log;
    this.#idleMonitor = new IdleMonitor(store, idleMs);
    this.#after = lastJudgedEvent(store.read);
  }

  start(): void {
    this.#idleMonitor.start(() => this.#wake());
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#idleMonitor.stop();
    await this.#running;
  }

  #wake(): void {
    this.#isWoken = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    try {
      while (this.#isWoken) {
        await this.#idleMonitor.waitUntilIdle(signal);
        this.#isWoken = false;
        await this.#judgeNew(signal);
        await this.#seekParts(signal);
      }
    } catch (error) {
      if (!signal.aborted) this.#log.error({ error }, 'The noise rules could not be applied to new events');
    } finally {
      this.#running = undefined;
    }
  }

  async #judgeNew(signal: AbortSignal): Promise<void> {
    const last = lastEventId(this.#store.read);
    while (this.#after < last) {
      const until = Math.min(this.#after + PAGE, last);
      const page = hasRules(this.#store.read)
        ? eventsToJudge(this.#store.read, { after: this.#after, until })
        : [];
      for (const event of page) {
        signal.throwIfAborted();
        await this.#judge(event);
      }
      const isWriteDue = Math.floor(until / WRITE_EVERY) > Math.floor(this.#after / WRITE_EVERY);
      this.#after = until;
      if (isWriteDue) await this.#idleMonitor.write((database) => setLastJudgedEvent(database, until));
      await yieldToEventLoop();
    }
  }

  async #seekParts(signal: AbortSignal): Promise<void> {
    let after = 0;
    for (;;) {
      const page = watchedParts(this.#store.read, after, PARTS);
      for (const { key, watch, sha256, watch_sought } of page) {
        signal.throwIfAborted();
        if (sha256 !== null && sha256 !== watch_sought) await this.#seek({ key, watch, sha256 });
      }
      after = page.at(-1)?.key ?? after;
      if (page.length < PARTS) return;
      await yieldToEventLoop();
    }
  }

  /** A version that cannot be read, or not in time, is looked at again after the next start. */
  async #seek({ key, watch, sha256 }: PartToSeek): Promise<void> {
    const name = JSON.stringify([sha256, watch]);
    if (this.#unread.get(key) === name) return;
    if (sha256 === NO_PICTURE) return this.#recordSearch({ key, watch, sha256 }, false);
    const services = { store: this.#store, deriver: this.#deriver };
    const version = await readVersion(services, sha256, { watch, rules: [] }, 'low');
    const { outcome, found } = version?.watch ?? {};
    if (!found || outcome === 'timed_out' || outcome === 'failed') {
      this.#unread.set(key, name);
      return;
    }
    await this.#recordSearch({ key, watch, sha256 }, found.to > 0);
  }

  #recordSearch({ key, watch, sha256 }: PartToSeek, isFound: boolean): Promise<void> {
    const lost_at = isFound ? null : this.#store.instant();
    return this.#idleMonitor.write((database) =>
      recordSearch(database, { key, watch: JSON.stringify(watch), sha256, lost_at }),
    );
  }

  async #judge(event: ComparableEvent): Promise<void> {
    const { id, compared, scope, rules_digest } = event;
    const services = { store: this.#store, deriver: this.#deriver };
    const mark = noiseMarkOf(await judgeEvent(services, compared, scope, 'low'));
    await this.#idleMonitor.write((database) => {
      if (mark && rules_digest !== null) putEventNoise(database, [{ event: id, ...mark, rules_digest }]);
      setLastJudgedEvent(database, id);
    });
  }
}
