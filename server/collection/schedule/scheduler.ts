import type { Settings } from '../../../shared/node/settings.ts';
import { type Clock, instantOf } from '../../../shared/values/clock.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import { randomFraction } from '../../store/randomFraction.ts';
import {
  clampDueTimes,
  earliestDue,
  rescheduleDefaults,
  type ScheduledSource,
  scheduledSources,
  sourcesByDueTime,
  updateNextCheck,
} from '../../store/sqlite/collection/dueTimes.ts';
import type { SourceToCheck } from '../../store/sqlite/collection/sources.ts';
import type { Store } from '../../store/store.ts';
import { MAX_BACKOFF_MS } from './hostRateLimiter.ts';
import { JITTER, nextCheckTime, waitsForHours } from './nextCheck.ts';
import { type Collector, hostOf, MIN_HOSTS_FOR_OFFLINE } from './round.ts';

interface SchedulerServices {
  store: Store;
  clock: Clock;
  settings: () => Settings;
  collector: Collector;
  log: Log;
}

/** The maximum time between two looks at the clock. Timers are late after the machine was suspended. */
const POLL_INTERVAL_MS = 30_000;
/**
 * Sources due within this share of their interval join a round early. This undoes the spread of the jitter, so that a
 * round has enough hosts to detect a fault of the node's own network.
 */
const EARLY_SHARE = 2 * JITTER;
/** Once a round has this many sources and enough hosts, no more sources join early. */
const MAX_ROUND_WITH_EARLY = 100;
/** Sources that are rescheduled in one transaction. */
const BATCH = 50;

/**
 * Checks sources when they are due. A source that was due several times while the machine slept or the node was closed
 * is checked once. Rounds do not overlap.
 */
export class Scheduler {
  readonly #services: SchedulerServices;
  readonly #abort = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> | undefined;
  #interval: number | undefined;
  #lastNow: number | undefined;

  constructor(services: SchedulerServices) {
    this.#services = services;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Re-reads the due times. Call it after a source was added or changed. */
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
        await clock.sleep(POLL_INTERVAL_MS, this.#abort.signal);
      }
    }
  }

  /** Runs a round if a source is due. Returns the time to wait before the next call in milliseconds. */
  async #collectDue(): Promise<number> {
    const { store, clock, collector } = this.#services;
    await this.#applyIntervalChange();
    await this.#applyClockChange();
    const earliest = earliestDue(store.read);
    const wait = earliest === undefined ? POLL_INTERVAL_MS : Date.parse(earliest) - clock.now();
    if (wait > 0) return Math.min(wait, POLL_INTERVAL_MS);
    if (await this.#postponeInactive()) return 0;
    await collector.collect(() => this.#due(), {
      startedBy: 'schedule',
      signal: this.#abort.signal,
      progress: () => {},
    });
    return 0;
  }

  /** Returns the sources that are due, and the next ones that join early. */
  #due(): SourceToCheck[] {
    const { store, clock, settings } = this.#services;
    const now = clock.now();
    const everyMinutes = settings().collection_every_minutes;
    const due: SourceToCheck[] = [];
    const hosts = new Set<string>();
    for (const source of sourcesByDueTime(store.read, {
      now: instantOf(now),
      everyMinutes,
      ahead: EARLY_SHARE,
    })) {
      const isDue = Date.parse(source.next_check_at) <= now;
      if (!isDue && due.length >= MAX_ROUND_WITH_EARLY && hosts.size >= MIN_HOSTS_FOR_OFFLINE) break;
      due.push(source);
      hosts.add(hostOf(source));
    }
    return due;
  }

  /**
   * Brings due times nearer after the clock was set back, so that sources are not left unchecked for as long as the
   * clock was wrong. At the first call, due times too far in the future show that it was set back while the node was
   * closed.
   */
  async #applyClockChange(): Promise<void> {
    const { store, clock, settings } = this.#services;
    const before = this.#lastNow;
    const now = clock.now();
    this.#lastNow = now;
    if (before !== undefined && now >= before) return;
    const slackMinutes = before === undefined ? MAX_BACKOFF_MS / 60_000 : 0;
    const everyMinutes = settings().collection_every_minutes;
    await store.write((database) =>
      clampDueTimes(database, { now: instantOf(now), everyMinutes, slackMinutes }),
    );
    await this.#reschedule(({ next_check_at }, due) => Date.parse(next_check_at) > due + MAX_BACKOFF_MS);
  }

  /** Reschedules sources that are due outside their active hours. Returns whether there were any. */
  async #postponeInactive(): Promise<boolean> {
    const { store, clock } = this.#services;
    const now = clock.now();
    const postponed: { key: number; at: string }[] = [];
    for (const source of scheduledSources(store.read, instantOf(now))) {
      if (!source.active_hours) continue;
      const at = waitsForHours(source.active_hours, now, randomFraction(store));
      if (at !== null) postponed.push({ key: source.key, at: instantOf(at) });
    }
    if (postponed.length === 0) return false;
    await this.#setNextChecks(postponed);
    return true;
  }

  #setNextChecks(times: readonly { key: number; at: string }[]): Promise<void> {
    return this.#services.store.write((database) => {
      for (const { key, at } of times) updateNextCheck(database, key, at);
    });
  }

  /** Reschedules, from now on, the sources with a cron expression or active hours for which `isWrong` holds. */
  async #reschedule(isWrong: (source: ScheduledSource, due: number) => boolean): Promise<void> {
    const { store, clock, settings } = this.#services;
    const everyMinutes = settings().collection_every_minutes;
    const sources = scheduledSources(store.read);
    for (let start = 0; start < sources.length; start += BATCH) {
      const wrong: { key: number; at: string }[] = [];
      for (const source of sources.slice(start, start + BATCH)) {
        const [from, fraction] = [clock.now(), randomFraction(store)];
        const due = nextCheckTime(source, { everyMinutes, from, fraction });
        if (isWrong(source, due)) wrong.push({ key: source.key, at: instantOf(due) });
      }
      if (wrong.length > 0) await this.#setNextChecks(wrong);
      // Times of cron expressions take a while, and requests must not wait for all of them.
      await yieldToEventLoop();
    }
  }

  /** Reschedules the sources without an interval of their own after the node's default interval was changed. */
  async #applyIntervalChange(): Promise<void> {
    const { store, settings } = this.#services;
    const every = settings().collection_every_minutes;
    const before = this.#interval;
    this.#interval = every;
    if (before === undefined || before === every) return;
    await store.write((database) => rescheduleDefaults(database, every));
    await this.#reschedule(({ every_minutes, every: cron }) => every_minutes === null && cron === null);
  }
}
