import { setImmediate } from 'node:timers/promises';
import type { Log } from '../../runtime/log.ts';
import {
  type ComparableEvent,
  eventsToJudge,
  hasRules,
  lastJudgedEvent,
  putEventNoise,
  setLastJudgedEvent,
} from '../../store/sqlite/collection/eventNoise.ts';
import { lastEventId } from '../../store/sqlite/collection/events.ts';
import type { Store } from '../../store/store.ts';
import type { Deriver } from '../derived/deriver.ts';
import { IdleMonitor } from '../derived/quiet.ts';
import { judgeEvent, markOf } from './judge.ts';

/** So many events are looked up in one go. */
const PAGE = 1_000;
/** How far it came is written at least once in so many events, so that a start has little to go over again. */
const WRITE_EVERY = 10_000;

/** Looks at new changes of sources with rules once the round is over: whether the rules explain them. */
export class NoiseFollower {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #log: Log;
  readonly #quiet: IdleMonitor;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #isWoken = false;
  #after: number;

  constructor({ store, deriver, log }: { store: Store; deriver: Deriver; log: Log }) {
    this.#store = store;
    this.#deriver = deriver;
    this.#log = log;
    this.#quiet = new IdleMonitor(store);
    this.#after = lastJudgedEvent(store.read);
  }

  start(): void {
    this.#quiet.start(() => this.#wake());
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#quiet.stop();
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
        await this.#quiet.reached(signal);
        this.#isWoken = false;
        await this.#judgeNew(signal);
      }
    } catch (error) {
      if (!signal.aborted) this.#log.error({ error }, 'New events could not be held to the noise rules');
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
      const isFar = Math.floor(until / WRITE_EVERY) > Math.floor(this.#after / WRITE_EVERY);
      this.#after = until;
      if (isFar) await this.#quiet.write((database) => setLastJudgedEvent(database, until));
      await setImmediate();
    }
  }

  async #judge(event: ComparableEvent): Promise<void> {
    const { id, rules, rules_digest } = event;
    const judge = { store: this.#store, deriver: this.#deriver };
    const is_noise = markOf(await judgeEvent(judge, event, rules, 'low'));
    await this.#quiet.write((database) => {
      if (is_noise !== undefined && rules_digest !== null)
        putEventNoise(database, [{ event: id, is_noise, rules_digest }]);
      setLastJudgedEvent(database, id);
    });
  }
}
