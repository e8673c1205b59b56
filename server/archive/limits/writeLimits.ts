import { AsyncLocalStorage } from 'node:async_hooks';
import type { Log } from '../../runtime/log.ts';
import type { SettingsStore } from '../../store/settings.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { countInvitationUse } from '../../store/sqlite/node/invitations.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import type { StorageLimit } from '../../store/storageSpace.ts';
import { reachedStorageLimit } from '../../store/storageSpace.ts';
import type { Store } from '../../store/store.ts';
import { addressGroup } from './addressGroup.ts';
import { Admission, type AdmissionHooks, type Amount } from './admission.ts';
import {
  addressBudgets,
  type Budget,
  exceededBudget,
  rateLimited,
  siteBudgets,
  windowAt,
} from './budgets.ts';
import { DailyWriteCounts, EVERYONE } from './dailyWriteCounts.ts';
import { outOfSpace } from './outOfSpace.ts';

/** Who writes; the owner is exempt from all limits but those of room. */
export interface WriteOrigin {
  owner: boolean;
  address: string;
  /** The id of the invitation that was shown, if one was. */
  invitation?: string | undefined;
}

/**
 * The limits of the data-pack archive's POST endpoints (section 5 of the contract).
 *
 * A write is what appends to the ledger. It is counted in the very transaction that records it: what is answered with
 * success is counted, also after a crash, and what is refused is not. Bytes count when they were read, whatever became of
 * them. What is still under way holds its share, so that many writes at once cannot pass where one would not.
 */
export class WriteLimits {
  readonly #store: Store;
  readonly #settings: SettingsStore;
  readonly #days: DailyWriteCounts;
  readonly #underWay = new Map<string, Amount>();
  readonly #current = new AsyncLocalStorage<Admission>();
  readonly #recording = new Set<Promise<void>>();
  readonly #log: Log;
  #heldBytes = 0;

  constructor(store: Store, settings: SettingsStore, log: Log) {
    this.#store = store;
    this.#settings = settings;
    this.#log = log;
    this.#days = new DailyWriteCounts(store, log);
  }

  /** From here on every day is forgotten as it ends. */
  startDailyReset(): void {
    this.#days.startDailyReset();
  }

  /**
   * The store, for the services that serve these endpoints: what they write while a write is admitted is counted as
   * that write, so that no service and no route can forget to.
   */
  counting(): Store {
    const store = this.#store;
    return {
      ...store,
      write: (change, options) => {
        const admission = this.#current.getStore();
        if (admission === undefined) return store.write(change, options);
        return store.write(
          (database) => {
            const before = lastEntry(database)?.seq ?? 0;
            const result = change(database);
            if ((lastEntry(database)?.seq ?? 0) > before) admission.count(database);
            return result;
          },
          {
            ...options,
            onVisible: () => {
              options?.onVisible?.();
              admission.shown();
            },
          },
        );
      },
    };
  }

  /** A write that comes: it is told of each byte of its body that is read, and of the end of its request. */
  coming(who: WriteOrigin): Admission {
    return new Admission(this.#parts(who));
  }

  /**
   * Runs a write if every limit allows it.
   *
   * @param announced bytes of its body, as far as they are.
   * @throws Problem `rate_limited`, `data_cap_reached`, `disk_nearly_full`; whatever the write throws.
   */
  async admit<Result>(
    admission: Admission,
    announced: number,
    write: () => Promise<Result>,
  ): Promise<Result> {
    await this.#days.begin();
    admission.enter(announced);
    try {
      const { current } = this.#settings;
      const refusal = await this.#reachedStorageLimit(0);
      if (refusal !== null) {
        admission.turnAway();
        throw outOfSpace(refusal, current);
      }
      return await this.#current.run(admission, write);
    } finally {
      admission.end();
    }
  }

  /**
   * Asks for room for blobs before they are kept, and holds it until the write that runs is over.
   *
   * @throws Problem `data_cap_reached`, `disk_nearly_full`
   */
  async reserveSpace(bytes: number): Promise<void> {
    const { current } = this.#settings;
    const asked = this.#reachedStorageLimit(this.#heldBytes + bytes);
    // Held while the disk is asked, so that two who ask at once do not both get the last room.
    this.#heldBytes += bytes;
    const release = () => {
      this.#heldBytes -= bytes;
    };
    const refusal: StorageLimit | null = await asked.catch((error: unknown) => {
      release();
      throw error;
    });
    if (refusal !== null) {
      release();
      throw outOfSpace(refusal, current);
    }
    const admission = this.#current.getStore();
    if (admission) admission.onEnd(release);
    else release();
  }

  /** What is left for a visitor, and of what everyone shares; nothing bounds the owner. */
  budgetsOf(who: WriteOrigin): Budget[] {
    if (who.owner) return [];
    const now = this.#store.clock.now();
    const window = windowAt(now);
    const settings = this.#settings.current;
    const site = siteBudgets(settings, this.#days.counts(EVERYONE, window), window);
    const budgets = this.#withUnderWay(EVERYONE, site);
    const group = addressGroup(who.address);
    const own = addressBudgets(settings, this.#days.counts(group, window), window);
    return [...this.#withUnderWay(group, own), ...budgets];
  }

  /** The instant that budgets are counted at, in milliseconds. */
  now(): number {
    return this.#store.clock.now();
  }

  /** Ends what waits for midnight. */
  async close(): Promise<void> {
    await Promise.all(this.#recording);
    await this.#days.close();
  }

  #reachedStorageLimit(bytes: number): Promise<StorageLimit | null> {
    const { latest, freeBytes } = this.#store;
    return reachedStorageLimit({ read: latest(), freeBytes }, this.#settings.current, bytes);
  }

  #requireBudget(who: WriteOrigin, more: Amount): void {
    const exceeded = exceededBudget(this.budgetsOf(who), more);
    if (exceeded) throw rateLimited(exceeded, this.#store.clock.now());
  }

  #withUnderWay(group: string, budgets: Budget[]): Budget[] {
    const held = this.#underWay.get(group);
    if (held === undefined) return budgets;
    return budgets.map((budget) => ({ ...budget, used: budget.used + held[budget.counts] }));
  }

  #hold(group: string, { writes, bytes }: Amount): void {
    const held = this.#underWay.get(group) ?? { writes: 0, bytes: 0 };
    const next = { writes: held.writes + writes, bytes: held.bytes + bytes };
    if (next.writes === 0 && next.bytes === 0) this.#underWay.delete(group);
    else this.#underWay.set(group, next);
  }

  /** How one admission asks, holds and counts. The owner's writes are counted among everyone's. */
  #parts(who: WriteOrigin): AdmissionHooks {
    const groups = who.owner ? [EVERYONE] : [EVERYONE, addressGroup(who.address)];
    return {
      require: (more) => this.#requireBudget(who, more),
      hold: (amount) => {
        for (const group of groups) this.#hold(group, amount);
      },
      count: (database, bytes) => {
        this.#days.count(database, groups, { writes: 1, bytes });
        if (who.invitation !== undefined) countInvitationUse(database, who.invitation, this.#store.instant());
      },
      record: (bytes, onOver) => {
        const recording = this.#record(groups, bytes, onOver).finally(() =>
          this.#recording.delete(recording),
        );
        this.#recording.add(recording);
      },
    };
  }

  /** Counts bytes that were read for nothing. */
  async #record(groups: readonly string[], bytes: number, onOver: () => void): Promise<void> {
    const count = (database: WriteDatabase) => this.#days.count(database, groups, { writes: 0, bytes });
    try {
      await this.#store.write(count, { onVisible: onOver });
    } catch (error) {
      onOver();
      this.#log.warn({ error, bytes }, 'Bytes of a refused write could not be counted.');
    }
  }
}
