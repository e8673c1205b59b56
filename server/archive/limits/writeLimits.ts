import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Log } from '../../runtime/log.ts';
import type { SettingsStore } from '../../store/settings.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Reservation } from '../../store/sqlite/engine/writer.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { countInvitationUse } from '../../store/sqlite/node/owner.ts';
import { reachedStorageLimit, type StorageLimit, type Store } from '../../store/store.ts';
import {
  addressBudgets,
  addressGroup,
  type Budget,
  DailyWriteCounts,
  EVERYONE,
  exceededBudget,
  rateLimited,
  siteBudgets,
  windowAt,
} from './budgets.ts';

/** The client that writes. Only the storage limits apply to the owner. */
interface WriteOrigin {
  owner: boolean;
  address: string;
  /** The id of the invitation that was used, if any. */
  invitation?: string | undefined;
}

/** An admitted write. Its route reserves space and writes through it. */
export interface AdmittedWrite {
  /** What is written through it is counted as this write, in the transaction that records it. */
  readonly store: Store;
  /**
   * Reserves space for blobs before they are stored, and holds it until the write ends.
   *
   * @throws Problem `data_cap_reached`, `disk_nearly_full`
   */
  readonly reserveSpace: (bytes: number) => Promise<void>;
}

/**
 * The limits of the POST endpoints of the data-pack archive (section 5 of the contract).
 *
 * A request counts as a write if it appends to the ledger. It is counted in the transaction that records it, so that
 * acknowledged writes are counted even after a crash, and refused ones are not. All bytes that were read count. Running
 * writes reserve their share, so that concurrent writes cannot exceed a limit together.
 */
export class WriteLimits {
  readonly #store: Store;
  readonly #settings: SettingsStore;
  readonly #days: DailyWriteCounts;
  readonly #held = new Map<string, Amount>();
  readonly #recording = new Set<Promise<void>>();
  readonly #log: Log;
  #heldBytes = 0;

  constructor(store: Store, settings: SettingsStore, log: Log) {
    this.#store = store;
    this.#settings = settings;
    this.#log = log;
    this.#days = new DailyWriteCounts(store, log);
  }

  /** Starts deleting the counts of each day when it ends. */
  startDailyReset(): void {
    this.#days.startDailyReset();
  }

  /** Begins the admission of a write. The caller reports the bytes read of its body and the end of its request. */
  beginAdmission(who: WriteOrigin): Admission {
    return new Admission(this.#parts(who));
  }

  /**
   * Runs a write if every limit allows it.
   *
   * @param announced the announced length of its body, or 0.
   * @throws Problem `rate_limited`, `data_cap_reached`, `disk_nearly_full`; any error of the write.
   */
  async admit<Result>(
    admission: Admission,
    announced: number,
    write: (admitted: AdmittedWrite) => Promise<Result>,
  ): Promise<Result> {
    await this.#days.begin();
    admission.enter(announced);
    try {
      const { current } = this.#settings;
      const refusal = this.#reachedStorageLimit(0);
      if (refusal !== null) {
        admission.reject();
        throw outOfSpace(refusal, current);
      }
      return await write({
        store: counting(this.#store, admission),
        reserveSpace: async (more) => this.#reserveSpace(admission, more),
      });
    } finally {
      admission.end();
    }
  }

  #reserveSpace(admission: Admission, bytes: number): void {
    const refusal = this.#reachedStorageLimit(this.#heldBytes + bytes);
    if (refusal !== null) throw outOfSpace(refusal, this.#settings.current);
    this.#heldBytes += bytes;
    admission.onEnd(() => {
      this.#heldBytes -= bytes;
    });
  }

  /** Returns the budgets of a visitor and of the whole site. The owner has none. */
  budgetsOf(who: WriteOrigin): Budget[] {
    if (who.owner) return [];
    const now = this.#store.clock.now();
    const window = windowAt(now);
    const settings = this.#settings.current;
    const site = siteBudgets(settings, this.#days.counts(EVERYONE, window), window);
    const group = addressGroup(who.address);
    const address = addressBudgets(settings, this.#days.counts(group, window), window);
    return [...this.#withHeld(group, address), ...this.#withHeld(EVERYONE, site)];
  }

  /** The current time of the clock that budgets use, in milliseconds. */
  now(): number {
    return this.#store.clock.now();
  }

  /** Waits for pending counts and stops the daily reset. */
  async close(): Promise<void> {
    await Promise.all(this.#recording);
    await this.#days.close();
  }

  #reachedStorageLimit(bytes: number): StorageLimit | null {
    return reachedStorageLimit(this.#store, this.#settings.current, bytes);
  }

  #requireBudget(who: WriteOrigin, more: Amount): void {
    const exceeded = exceededBudget(this.budgetsOf(who), more);
    if (exceeded) throw rateLimited(exceeded, this.#store.clock.now());
  }

  #withHeld(group: string, budgets: Budget[]): Budget[] {
    const held = this.#held.get(group);
    if (held === undefined) return budgets;
    return budgets.map((budget) => ({ ...budget, used: budget.used + held[budget.counts] }));
  }

  #hold(group: string, { writes, bytes }: Amount): void {
    const held = this.#held.get(group) ?? { writes: 0, bytes: 0 };
    const next = { writes: held.writes + writes, bytes: held.bytes + bytes };
    if (next.writes === 0 && next.bytes === 0) this.#held.delete(group);
    else this.#held.set(group, next);
  }

  /** Returns the hooks of one admission. The owner's writes are only counted for everyone. */
  #parts(who: WriteOrigin): AdmissionHooks {
    const groups = who.owner ? [EVERYONE] : [EVERYONE, addressGroup(who.address)];
    return {
      require: (more) => this.#requireBudget(who, more),
      hold: (amount) => {
        for (const group of groups) this.#hold(group, amount);
      },
      count: (database, bytes) => {
        this.#days.count(database, groups, { writes: 1, bytes });
        if (who.invitation !== undefined)
          countInvitationUse(database, { id: who.invitation, at: this.#store.instant() });
      },
      record: (bytes, reservation) => {
        const recording = this.#record(groups, bytes, reservation).finally(() =>
          this.#recording.delete(recording),
        );
        this.#recording.add(recording);
      },
    };
  }

  /** Counts the bytes of a refused write, and releases their reservation. */
  async #record(groups: readonly string[], bytes: number, reservation: Reservation): Promise<void> {
    const count = (database: WriteDatabase) => this.#days.count(database, groups, { writes: 0, bytes });
    try {
      await this.#store.write(count, { reservation });
    } catch (error) {
      reservation.release();
      this.#log.warn({ error, bytes }, 'The bytes of a refused write could not be counted.');
    }
  }
}

/**
 * The store for one admitted write: a change that appends to the ledger is counted with it. The admission takes the place
 * of any other reservation, because it holds all that the write has reserved.
 */
function counting(store: Store, admission: Admission): Store {
  return {
    ...store,
    write: (change, options) =>
      store.write(
        (database) => {
          const before = lastEntry(database)?.seq ?? 0;
          const result = change(database);
          if ((lastEntry(database)?.seq ?? 0) > before) admission.count(database);
          return result;
        },
        { ...options, reservation: admission },
      ),
  };
}

/** A number of writes and of bytes in their bodies. */
interface Amount {
  writes: number;
  bytes: number;
}

/** How one write checks, reserves and counts its budgets. */
interface AdmissionHooks {
  /** @throws Problem `rate_limited` if a budget does not allow this additional amount. */
  require(more: Amount): void;
  /** Reserves an amount of the budgets. A negative amount releases it. */
  hold(amount: Amount): void;
  /** Counts a write with its bytes, in the transaction that records it. */
  count(database: WriteDatabase, bytes: number): void;
  /** Counts bytes in a separate transaction, and releases their reservation after it. */
  record(bytes: number, reservation: Reservation): void;
}

/**
 * The admission of one write, from the start to the end of its request. The amount that it may use is reserved while it
 * runs. A recorded write is counted in the same transaction. Bytes that were read but not counted then (all bytes of a
 * refused write) are counted at the end of the request and reserved until then, so budgets never appear larger than they
 * are.
 */
class Admission implements Reservation {
  readonly #parts: AdmissionHooks;
  readonly #endListeners: (() => void)[] = [];
  #state: 'waiting' | 'running' | 'ended' = 'waiting';
  #isRejected = false;
  #isCounted = false;
  #heldWrites = 0;
  #heldBytes = 0;
  /** The bytes of the body that were read so far, and how many of them are counted. */
  #received = 0;
  #counted = 0;
  #isClosed = false;

  constructor(parts: AdmissionHooks) {
    this.#parts = parts;
  }

  /**
   * Admits the write.
   *
   * @param announced the announced length of the body, or 0. It is reserved from the beginning.
   * @throws Problem `rate_limited`
   */
  enter(announced: number): void {
    this.#parts.require({ writes: 1, bytes: announced });
    this.#state = 'running';
    this.#hold(1, announced);
  }

  /** Rejects the write. Its body is discarded and not counted. */
  reject(): void {
    this.#isRejected = true;
  }

  /** Reports bytes of the body as they arrive. @throws Problem `rate_limited` while the write is running */
  receive(bytes: number): void {
    if (this.#state === 'waiting' || this.#isRejected) return;
    this.#received += bytes;
    const beyond = this.#received - this.#counted - this.#heldBytes;
    if (beyond <= 0) return;
    try {
      if (this.#state === 'running') this.#parts.require({ writes: 0, bytes: beyond });
    } finally {
      // Even if they exceed the budget, because they were read.
      this.#hold(0, beyond);
    }
  }

  /** Counts the write in the transaction that records it. */
  count(database: WriteDatabase): void {
    if (this.#state !== 'running' || this.#isCounted) return;
    this.#isCounted = true;
    this.#counted = this.#received;
    this.#parts.count(database, this.#received);
  }

  /** Ends the reservation of a counted write. Called when readers begin to see its count, so that it never counts twice. */
  release(): void {
    if (this.#isCounted) this.end();
  }

  onEnd(listener: () => void): void {
    if (this.#state === 'ended') listener();
    else this.#endListeners.push(listener);
  }

  /** Called when the write has ended, recorded or not. */
  end(): void {
    if (this.#state !== 'running') return;
    this.#state = 'ended';
    this.#hold(-this.#heldWrites, this.#received - this.#counted - this.#heldBytes);
    for (const listener of this.#endListeners.splice(0)) listener();
    this.#settle();
  }

  /** Called when the request has ended, with the number of bytes read of its body, if known. */
  close(bytes: number): void {
    this.#isClosed = true;
    if (this.#state !== 'waiting' && !this.#isRejected) this.#received = Math.max(bytes, this.#received);
    this.#settle();
  }

  #settle(): void {
    if (this.#state !== 'ended' || !this.#isClosed) return;
    const uncounted = this.#received - this.#counted;
    if (uncounted <= 0) return;
    this.#counted = this.#received;
    this.#hold(0, uncounted - this.#heldBytes);
    this.#parts.record(uncounted, { release: () => this.#hold(0, -this.#heldBytes) });
  }

  #hold(writes: number, bytes: number): void {
    this.#heldWrites += writes;
    this.#heldBytes += bytes;
    this.#parts.hold({ writes, bytes });
  }
}

/** Returns the problem for a write that is refused because of the storage limits. */
export function outOfSpace(refusal: StorageLimit, { data_cap_gb, min_free_disk_gb }: Settings): Problem {
  if (refusal === 'data_cap_reached') {
    const detail = `The archive is limited to ${data_cap_gb} GB and has no space left for this. Its owner can raise data_cap_gb.`;
    return new Problem('data_cap_reached', detail, { members: { limit: 'data_cap_gb' } });
  }
  const detail = `The archive keeps ${min_free_disk_gb} GB of its disk free, and less is left. Its owner can free some space or lower min_free_disk_gb.`;
  return new Problem('disk_nearly_full', detail, { members: { limit: 'min_free_disk_gb' } });
}
