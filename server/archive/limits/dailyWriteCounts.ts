import { createHmac } from 'node:crypto';
import type { Log } from '../../runtime/log.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import {
  addWriteCounts,
  beginWriteDay,
  type WriteCounts,
  type WriteDay,
  writeCounts,
  writeDay,
} from '../../store/sqlite/node/writeCounts.ts';
import type { Store } from '../../store/store.ts';
import { type WriteWindow, windowAt } from './budgets.ts';

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
    for (const group of groups) addWriteCounts(database, nameOf(group, key), hour, amount);
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
    const begun = { day, key: this.#store.randomHex(64) };
    beginWriteDay(database, begun);
    return begun;
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
