import type { RoundPause } from '../../../shared/collection/collection.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { type Clock, instantOf } from '../../../shared/values/clock.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import { type NetworkPause, readBatteryLow, readNetworkPause } from '../../runtime/machineState.ts';
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
import { randomFraction, type Store } from '../../store/store.ts';
import { MAX_BACKOFF_MS } from './hostRateLimiter.ts';
import { JITTER, nextCheckTime, waitsForHours } from './nextCheck.ts';
import { type Collector, hostOf, MIN_HOSTS_FOR_OFFLINE } from './round.ts';

interface SchedulerServices {
  store: Store;
  clock: Clock;
  settings: () => Settings;
  collector: Collector;
  log: Log;
  /** Why no round may start by itself now; null if one may. */
  pause: () => Promise<RoundPause>;
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
/** A timer that is this much late was stopped: the machine slept. */
const MAX_LATE_MS = 120_000;
/** After sleep or a pause, this many sources are checked at once. The others follow within this time, at most this far apart. */
const FIRST_LOT = 50;
const SPREAD_MS = 600_000;
const MAX_STEP_MS = 2_000;

/**
 * Checks sources when they are due. A source that was due several times while the machine slept or the node was closed
 * is checked once. Rounds do not overlap, and none waits for the pages of those before it to be drawn.
 */
export class Scheduler {
  readonly #services: SchedulerServices;
  readonly #abort = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> | undefined;
  #interval: number | undefined;
  #lastNow: number | undefined;
  #paused: RoundPause = null;
  #isSuspended = false;
  /** Whether sources may have become due that nobody looked at: at first, after sleep, and after a pause. */
  #mustCatchUp = true;

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

  /** Starts no round until `resume`, because the machine goes to sleep. A running one continues. */
  suspend(): void {
    this.#isSuspended = true;
  }

  resume(): void {
    this.#isSuspended = false;
    this.#mustCatchUp = true;
    this.wake();
  }

  /** Why no round starts by itself, as it was when one was due. */
  get paused(): RoundPause {
    return this.#paused;
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
        const wakeAt = clock.now() + wait;
        await clock.sleep(wait, this.#wake.signal);
        if (clock.now() > wakeAt + MAX_LATE_MS) this.#mustCatchUp = true;
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
    if (await this.#isPaused()) return POLL_INTERVAL_MS;
    if (await this.#postponeInactive()) return 0;
    if (this.#mustCatchUp) await this.#spreadOverdue();
    await collector.check(() => this.#due(), {
      startedBy: 'schedule',
      signal: this.#abort.signal,
      progress: () => {},
    });
    return 0;
  }

  async #isPaused(): Promise<boolean> {
    if (this.#isSuspended) return true;
    const before = this.#paused;
    this.#paused = await this.#services.pause();
    if (this.#paused === before) return before !== null;
    if (before !== null) this.#mustCatchUp = true;
    const { log } = this.#services;
    log.info({ reason: this.#paused }, this.#paused ? 'Rounds are paused.' : 'Rounds start again.');
    return this.#paused !== null;
  }

  /** Spreads the sources that became due meanwhile. Without this, a laptop that was opened would check all at once. */
  async #spreadOverdue(): Promise<void> {
    this.#mustCatchUp = false;
    const { store, clock, settings } = this.#services;
    const now = clock.now();
    const everyMinutes = settings().collection_every_minutes;
    const due = [...sourcesByDueTime(store.read, { now: instantOf(now), everyMinutes, ahead: 0 })];
    const later = due.slice(FIRST_LOT);
    const step = Math.min(MAX_STEP_MS, SPREAD_MS / later.length);
    for (let start = 0; start < later.length; start += BATCH) {
      const lot = later.slice(start, start + BATCH);
      await this.#setNextChecks(
        lot.map(({ key }, index) => ({ key, at: instantOf(now + step * (start + index + 1)) })),
      );
      await yieldToEventLoop();
    }
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
      for (const { key, at } of times) updateNextCheck(database, { key, next_check_at: at });
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

/** The machine is asked at most this often, because a program is run for it. */
const ASK_AGAIN_MS = 60_000;

interface PauseServices {
  clock: Clock;
  settings: () => Pick<Settings, 'collect_on_low_battery' | 'collect_when_metered'>;
  networkPause?: (() => Promise<NetworkPause>) | undefined;
  batteryLow?: (() => Promise<boolean>) | undefined;
}

/** Returns the function that says why no round may start by itself. The machine is asked only for what the owner did not allow. */
export function roundPauses({
  clock,
  settings,
  networkPause = readNetworkPause,
  batteryLow = readBatteryLow,
}: PauseServices): () => Promise<RoundPause> {
  const isLow = remembered(clock, batteryLow);
  const network = remembered(clock, networkPause);
  return async () => {
    const { collect_on_low_battery, collect_when_metered } = settings();
    if (!collect_on_low_battery && (await isLow())) return 'battery_low';
    if (!collect_when_metered && (await network()) === 'metered') return 'metered';
    return null;
  };
}

function remembered<Value>(clock: Clock, ask: () => Promise<Value>): () => Promise<Value> {
  let last: { at: number; value: Value } | undefined;
  return async () => {
    const age = clock.now() - (last?.at ?? Number.NEGATIVE_INFINITY);
    if (!last || age < 0 || age >= ASK_AGAIN_MS) last = { at: clock.now(), value: await ask() };
    return last.value;
  };
}
