import { setImmediate } from 'node:timers/promises';
import type { Log } from '../../runtime/log.ts';
import {
  type ComparableEvent,
  eventsToJudge,
  hasRules,
  lastJudgedEvent,
  putEventNoise,
  setLastJudgedEvent,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import type { Store } from '../../store/store.ts';
import { IdleMonitor } from '../derived/idleMonitor.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import { judgeEvent, noiseMarkOf } from './judgeEvent.ts';

/** Events looked up at a time. */
const PAGE = 1_000;
/** The position is written at least once per this many events, so that a restart repeats little work. */
const WRITE_EVERY = 10_000;

/** Applies noise rules to new changes in the background, once the store is idle. */
export class NoiseFollower {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #log: Log;
  readonly #idleMonitor: IdleMonitor;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
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
      await setImmediate();
    }
  }

  async #judge(event: ComparableEvent): Promise<void> {
    const { id, rules, rules_digest } = event;
    const services = { store: this.#store, deriver: this.#deriver };
    const is_noise = noiseMarkOf(await judgeEvent(services, event, rules, 'low'));
    await this.#idleMonitor.write((database) => {
      if (is_noise !== undefined && rules_digest !== null)
        putEventNoise(database, [{ event: id, is_noise, rules_digest }]);
      setLastJudgedEvent(database, id);
    });
  }
}
