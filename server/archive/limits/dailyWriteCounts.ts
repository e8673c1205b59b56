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

/** Everyone together, among the groups that are counted. */
export const EVERYONE = '';

const NOTHING: WriteCounts = { hour_writes: 0, day_writes: 0, day_bytes: 0 };

/**
 * What was written today, in the database: by everyone, and by each group of addresses under a name that tells nothing
 * without the day's key. When a day ends, its counts and its key go.
 */
export class DailyWriteCounts {
  readonly #store: Store;
  readonly #log: Log;
  readonly #closing = new AbortController();
  /** As it was last read: what is committed and of today stays so until the day ends. */
  #known: WriteDay | undefined;
  #forgetting: Promise<void> | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** From here on every day is forgotten as it ends. */
  startDailyReset(): void {
    this.#forgetting ??= this.#forgetEachDay();
  }

  /** Makes today the day that is counted, where it is not yet. */
  async begin(): Promise<void> {
    const { day } = windowAt(this.#store.clock.now());
    if (this.#committed(day)) return;
    await this.#store.write((database) => {
      this.#begin(database, day);
    });
  }

  /** What a group has written in a window; what is under way is not in it. */
  counts(group: string, { day, hour }: WriteWindow): WriteCounts {
    const known = this.#committed(day);
    return known ? writeCounts(this.#store.latest(), nameOf(group, known.key), hour) : NOTHING;
  }

  /** Counts writes and bytes for each of these groups, in the transaction that records them. */
  count(database: WriteDatabase, groups: readonly string[], amount: { writes: number; bytes: number }): void {
    const { day, hour } = windowAt(this.#store.clock.now());
    const { key } = this.#begin(database, day);
    for (const group of groups) addWriteCounts(database, nameOf(group, key), hour, amount);
  }

  /** Ends what waits for midnight. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#forgetting;
  }

  /** That day with its key, where it is the one that is counted. */
  #committed(day: string): WriteDay | undefined {
    if (this.#known?.day !== day) this.#known = writeDay(this.#store.latest());
    return this.#known?.day === day ? this.#known : undefined;
  }

  /** Makes a day the one that is counted; whatever was counted before goes. */
  #begin(database: WriteDatabase, day: string): WriteDay {
    const known = writeDay(database);
    if (known?.day === day) return known;
    const begun = { day, key: this.#store.randomHex(64) };
    beginWriteDay(database, begun);
    return begun;
  }

  /** Forgets a day when it ends and not only when somebody writes again; one that ended while the node was closed, now. */
  async #forgetEachDay(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.begin().catch((error: unknown) => {
        this.#log.error(
          { error },
          'The counts of a day that is over could not be dropped; it is tried again.',
        );
      });
      const now = this.#store.clock.now();
      await this.#store.clock.sleep(windowAt(now).dayEnds - now, signal);
    }
  }
}

/** The name that a group is counted under: a keyed hash, so that the database holds no address. */
function nameOf(group: string, key: string): string {
  if (group === EVERYONE) return EVERYONE;
  return createHmac('sha256', Buffer.from(key, 'hex')).update(group).digest('base64url');
}
