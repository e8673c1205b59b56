import { type Clock, instantOf } from '../../../shared/clock.ts';
import type { Settings } from '../../../shared/settings.ts';
import type { Log } from '../../runtime/log.ts';
import {
  clampDueTimes,
  earliestDue,
  rescheduleDefaults,
  sourcesByDueTime,
} from '../../store/sqlite/collection/dueTimes.ts';
import type { SourceToCheck } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import { MAX_BACKOFF_MS } from './hostRateLimiter.ts';
import { type Collector, hostOf, JITTER, MIN_HOSTS_FOR_OFFLINE } from './round.ts';

export interface SchedulerServices {
  store: Store;
  clock: Clock;
  settings: () => Settings;
  collector: Collector;
  log: Log;
}

/** The clock is looked at this often, because a machine that slept wakes with its timers late. */
const LOOK_EVERY_MS = 30_000;
/**
 * Sources that are due within this share of their interval are taken along: what jitter parts comes together again, so
 * that a round has hosts enough to tell whether the fault is the node's own.
 */
const TAKE_ALONG = 2 * JITTER;
/** No more are taken along than make a round this large: of many sources, each round checks a part. */
const MOST_TAKEN_ALONG = 100;

/**
 * Checks sources when they are due. What fell due while the machine slept or the node was closed is checked once.
 * A round is over before the next one starts.
 */
export class Scheduler {
  readonly #services: SchedulerServices;
  readonly #abort = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> | undefined;
  #interval: number | undefined;
  #lookedAt: number | undefined;

  constructor(services: SchedulerServices) {
    this.#services = services;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Looks again at what is due: a source was added or changed. */
  wake(): void {
    this.#wake.abort();
  }

  async close(): Promise<void> {
    this.#abort.abort();
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#services;
    while (!this.#abort.signal.aborted) {
      this.#wake = new AbortController();
      try {
        const wait = await this.#collectDue();
        if (this.#abort.signal.aborted) return;
        await clock.sleep(wait, this.#wake.signal);
      } catch (error) {
        log.error({ error }, 'A scheduled collection failed');
        await clock.sleep(LOOK_EVERY_MS, this.#abort.signal);
      }
    }
  }

  /** Runs a round if anything is due; gives back how long to wait before looking again. */
  async #collectDue(): Promise<number> {
    const { store, clock, collector } = this.#services;
    await this.#followInterval();
    await this.#followClock();
    const earliest = earliestDue(store.read);
    const wait = earliest === undefined ? LOOK_EVERY_MS : Date.parse(earliest) - clock.now();
    if (wait > 0) return Math.min(wait, LOOK_EVERY_MS);
    await collector.collect(() => this.#due(), {
      startedBy: 'schedule',
      signal: this.#abort.signal,
      progress: () => {},
    });
    return 0;
  }

  /** What is due, and of what is due soon the next ones. */
  #due(): SourceToCheck[] {
    const { store, clock, settings } = this.#services;
    const now = clock.now();
    const everyMinutes = settings().collection_every_minutes;
    const taken: SourceToCheck[] = [];
    const hosts = new Set<string>();
    for (const source of sourcesByDueTime(store.read, {
      now: instantOf(now),
      everyMinutes,
      ahead: TAKE_ALONG,
    })) {
      const isDue = Date.parse(source.next_check_at) <= now;
      if (!isDue && taken.length >= MOST_TAKEN_ALONG && hosts.size >= MIN_HOSTS_FOR_OFFLINE) break;
      taken.push(source);
      hosts.add(hostOf(source));
    }
    return taken;
  }

  /**
   * A clock that was wrong and is set right again must not keep sources from being checked for as long as it was wrong.
   * Whether it was set back while the node was closed shows in due times that nothing explains.
   */
  async #followClock(): Promise<void> {
    const { store, clock, settings } = this.#services;
    const before = this.#lookedAt;
    const now = clock.now();
    this.#lookedAt = now;
    if (before !== undefined && now >= before) return;
    const slackMinutes = before === undefined ? MAX_BACKOFF_MS / 60_000 : 0;
    const everyMinutes = settings().collection_every_minutes;
    await store.write((database) =>
      clampDueTimes(database, { now: instantOf(now), everyMinutes, slackMinutes }),
    );
  }

  /** The owner changed the node's own interval: what follows it is due by the new one. */
  async #followInterval(): Promise<void> {
    const { store, settings } = this.#services;
    const every = settings().collection_every_minutes;
    const before = this.#interval;
    this.#interval = every;
    if (before === undefined || before === every) return;
    await store.write((database) => rescheduleDefaults(database, every));
  }
}
