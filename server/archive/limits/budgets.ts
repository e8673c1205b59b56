import { createHmac } from 'node:crypto';
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { GIGABYTE, MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import type { Log } from '../../runtime/log.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import {
  addWriteCounts,
  beginWriteDay,
  type WriteCounts,
  type WriteDay,
  writeCounts,
  writeDay,
} from '../../store/sqlite/node/owner.ts';
import type { Store } from '../../store/store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The hour and the day (UTC) of an instant. Budgets are reset at the start of each. */
interface WriteWindow {
  /** Such as `2026-11-20`. */
  day: string;
  hour: number;
  hourEnds: number;
  dayEnds: number;
}

export function windowAt(now: number): WriteWindow {
  const [hours, days] = [Math.floor(now / HOUR_MS), Math.floor(now / DAY_MS)];
  return {
    day: instantOf(now).slice(0, 10),
    hour: hours % 24,
    hourEnds: (hours + 1) * HOUR_MS,
    dayEnds: (days + 1) * DAY_MS,
  };
}

/** The current state of one limit: the quota of the window, the used amount, and when it is reset. */
export interface Budget {
  limit: keyof Settings;
  counts: 'writes' | 'bytes';
  quota: number;
  used: number;
  windowSeconds: number;
  resetsAt: number;
}

/** Returns the budgets of one address. */
export function addressBudgets(settings: Settings, counts: WriteCounts, window: WriteWindow): Budget[] {
  return [
    {
      limit: 'ip_writes_per_hour',
      counts: 'writes',
      quota: settings.ip_writes_per_hour,
      used: counts.hour_writes,
      ...hourly(window),
    },
    {
      limit: 'ip_writes_per_day',
      counts: 'writes',
      quota: settings.ip_writes_per_day,
      used: counts.day_writes,
      ...daily(window),
    },
    {
      limit: 'ip_mb_per_day',
      counts: 'bytes',
      quota: settings.ip_mb_per_day * MEGABYTE,
      used: counts.day_bytes,
      ...daily(window),
    },
  ];
}

/** Returns the budgets of the whole site, which include the writes of the owner. */
export function siteBudgets(settings: Settings, counts: WriteCounts, window: WriteWindow): Budget[] {
  return [
    {
      limit: 'site_writes_per_hour',
      counts: 'writes',
      quota: settings.site_writes_per_hour,
      used: counts.hour_writes,
      ...hourly(window),
    },
    {
      limit: 'site_gb_per_day',
      counts: 'bytes',
      quota: settings.site_gb_per_day * GIGABYTE,
      used: counts.day_bytes,
      ...daily(window),
    },
  ];
}

function hourly({ hourEnds }: WriteWindow) {
  return { windowSeconds: HOUR_MS / 1000, resetsAt: hourEnds };
}

function daily({ dayEnds }: WriteWindow) {
  return { windowSeconds: DAY_MS / 1000, resetsAt: dayEnds };
}

/** Returns the budget that this additional amount would exceed. If there are several, the one that is reset last. */
export function exceededBudget(
  budgets: readonly Budget[],
  more: { writes: number; bytes: number },
): Budget | undefined {
  let exceeded: Budget | undefined;
  for (const budget of budgets) {
    if (budget.used + more[budget.counts] <= budget.quota) continue;
    if (exceeded === undefined || budget.resetsAt > exceeded.resetsAt) exceeded = budget;
  }
  return exceeded;
}

export function secondsUntil(instant: number, now: number): number {
  return Math.max(1, Math.ceil((instant - now) / 1000));
}

export function rateLimited({ limit, quota, counts, resetsAt }: Budget, now: number): Problem {
  const resets_at = instantOf(resetsAt);
  const amount = counts === 'writes' ? `make ${quota} writes` : `send ${quota} bytes`;
  const whose = limit.startsWith('site') ? 'All addresses together' : 'One address';
  const span = limit.endsWith('hour') ? 'an hour' : 'a day';
  const detail = `${whose} may ${amount} in ${span} (${limit}). Try again at ${resets_at}.`;
  return new Problem('rate_limited', detail, {
    members: { limit, quota, resets_at },
    headers: { 'Retry-After': String(secondsUntil(resetsAt, now)) },
  });
}

/** The name of the group that includes everyone. */
export const EVERYONE = '';

const NOTHING: WriteCounts = { hour_writes: 0, day_writes: 0, day_bytes: 0 };

/**
 * The writes of the current day, stored in the database: for everyone, and for each group of addresses under a keyed hash
 * of the address. When the day ends, its counts and its key are deleted.
 */
export class DailyWriteCounts {
  readonly #store: Store;
  readonly #log: Log;
  readonly #closing = new AbortController();
  /** The last committed day and its key, which do not change until the day ends. */
  #known: WriteDay | undefined;
  #resetting: Promise<void> | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Starts deleting the counts of each day when it ends. */
  startDailyReset(): void {
    this.#resetting ??= this.#resetDaily();
  }

  /** Starts counting the current day, if that has not happened. */
  async begin(): Promise<void> {
    const { day } = windowAt(this.#store.clock.now());
    if (this.#committed(day)) return;
    await this.#store.write((database) => {
      this.#begin(database, day);
    });
  }

  /** Returns what a group has written in a window. Running writes are not included. */
  counts(group: string, { day, hour }: WriteWindow): WriteCounts {
    const known = this.#committed(day);
    return known ? writeCounts(this.#store.read, nameOf(group, known.key), hour) : NOTHING;
  }

  /** Counts writes and bytes for each of these groups, in the transaction that records them. */
  count(database: WriteDatabase, groups: readonly string[], amount: { writes: number; bytes: number }): void {
    const { day, hour } = windowAt(this.#store.clock.now());
    const { key } = this.#begin(database, day);
    for (const group of groups) addWriteCounts(database, { who: nameOf(group, key), hour, ...amount });
  }

  /** Stops the daily reset. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#resetting;
  }

  /** Returns the day with its key if it is the one being counted. */
  #committed(day: string): WriteDay | undefined {
    if (this.#known?.day !== day) this.#known = writeDay(this.#store.read);
    return this.#known?.day === day ? this.#known : undefined;
  }

  /** Starts counting a day, and deletes the counts of an earlier one. */
  #begin(database: WriteDatabase, day: string): WriteDay {
    const known = writeDay(database);
    if (known?.day === day) return known;
    const started = { day, key: this.#store.randomHex(64) };
    beginWriteDay(database, started);
    return started;
  }

  /** Deletes the counts of a day when it ends, not only at the next write. Also at startup, for a day that has ended. */
  async #resetDaily(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.begin().catch((error: unknown) => {
        this.#log.error(
          { error },
          'The write counts of a past day could not be deleted. It will be retried.',
        );
      });
      const now = this.#store.clock.now();
      await this.#store.clock.sleep(windowAt(now).dayEnds - now, signal);
    }
  }
}

/** Returns the name under which a group is counted: a keyed hash, so that the database contains no addresses. */
function nameOf(group: string, key: string): string {
  if (group === EVERYONE) return EVERYONE;
  return createHmac('sha256', Buffer.from(key, 'hex')).update(group).digest('base64url');
}

/**
 * Whom an address stands for: an IPv4 address for itself, also where it is mapped into IPv6; an IPv6 address for its
 * /64, because a device can use any number of addresses in one. Any other text is returned unchanged.
 */
export function addressGroup(address: string): string {
  const bare = address.replace(/%.*$/, '');
  if (!isIPv6(bare)) return bare;
  const plain = ipaddr.process(bare);
  if (plain instanceof ipaddr.IPv4) return plain.toString();
  const network = plain.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}
