import { AsyncLocalStorage } from 'node:async_hooks';
import { createHmac } from 'node:crypto';
import type { Log } from '../../log.ts';
import type { NoRoom } from '../../store/room.ts';
import { noRoomFor } from '../../store/room.ts';
import type { SettingsStore } from '../../store/settings.ts';
import { countInvitationUse } from '../../store/sqlite/invitations.ts';
import { lastEntry } from '../../store/sqlite/ledger.ts';
import type { WriteDatabase } from '../../store/sqlite/open.ts';
import {
  beginWriteDay,
  countWrite,
  type WriteDay,
  writeCounts,
  writeDay,
} from '../../store/sqlite/writeCounts.ts';
import type { Store } from '../../store/store.ts';
import { addressGroup } from './addressGroup.ts';
import {
  addressBudgets,
  type Budget,
  exceededBudget,
  rateLimited,
  siteBudgets,
  windowAt,
} from './budgets.ts';
import { noRoom } from './noRoom.ts';

/** Who writes; the owner is exempt from what is counted by address. */
export interface WhoWrites {
  owner: boolean;
  address: string;
  /** The id of the invitation that was shown, if one was. */
  invitation?: string | undefined;
}

/** A write that was let in and is not over. */
export interface AdmittedWrite {
  /** Tells of bytes of the body as they come. @throws Problem `rate_limited` */
  receive(bytes: number): void;
}

interface Amount {
  writes: number;
  bytes: number;
}

/** Everyone together, among the keys of what is counted. */
const EVERYONE = '';

/**
 * The limits of the data-pack archive's POST endpoints (section 5 of the contract).
 *
 * A write is what appends to the ledger. It is counted in the very transaction that records it: what is answered with
 * success is counted, also after a crash, and what is refused is not. What is still under way holds its share, so that
 * many writes at once cannot pass where one would not.
 */
export class WriteLimits {
  readonly #store: Store;
  readonly #settings: SettingsStore;
  readonly #log: Log;
  readonly #underWay = new Map<string, Amount>();
  readonly #current = new AsyncLocalStorage<Admission>();
  readonly #closing = new AbortController();
  #heldBytes = 0;
  #forgetting: Promise<void> | undefined;

  constructor(store: Store, settings: SettingsStore, log: Log) {
    this.#log = log;
    this.#store = store;
    this.#settings = settings;
  }

  /** From here on every day is forgotten as it ends. */
  startForgetting(): void {
    this.#forgetting ??= this.#forgetEachDay();
  }

  /**
   * The store, for the services that serve these endpoints: what they write while a write is admitted is counted as
   * that write, so that no service and no route can forget to.
   */
  counting(): Store {
    const store = this.#store;
    return {
      ...store,
      write: (change) => {
        const admission = this.#current.getStore();
        if (admission === undefined) return store.write(change);
        return store.write((database) => {
          const before = lastEntry(database)?.seq ?? 0;
          const result = change(database);
          if ((lastEntry(database)?.seq ?? 0) > before) admission.count(database);
          return result;
        });
      },
    };
  }

  /**
   * Runs a write if every limit allows it.
   *
   * @param bytes of its body, as far as they are announced.
   * @throws Problem `rate_limited`, `data_cap_reached`, `disk_nearly_full`; whatever the write throws.
   */
  async admit<Result>(
    who: WhoWrites,
    bytes: number,
    write: (admitted: AdmittedWrite) => Promise<Result>,
  ): Promise<Result> {
    await this.#today();
    this.#requireBudget(who, { writes: 1, bytes });
    const admission = new Admission(this.#parts(who, bytes));
    try {
      const { current } = this.#settings;
      const refusal = await noRoomFor(this.#store, current, 0);
      if (refusal !== null) throw noRoom(refusal, current);
      return await this.#current.run(admission, () => write(admission));
    } finally {
      admission.end();
    }
  }

  /**
   * Asks for room for blobs before they are kept, and holds it until the write that runs is over.
   *
   * @throws Problem `data_cap_reached`, `disk_nearly_full`
   */
  async requireRoom(bytes: number): Promise<void> {
    const { current } = this.#settings;
    const asked = noRoomFor(this.#store, current, this.#heldBytes + bytes);
    // Held while the disk is asked, so that two who ask at once do not both get the last room.
    this.#heldBytes += bytes;
    const release = () => {
      this.#heldBytes -= bytes;
    };
    const refusal: NoRoom | null = await asked.catch((error: unknown) => {
      release();
      throw error;
    });
    if (refusal !== null) {
      release();
      throw noRoom(refusal, current);
    }
    const admission = this.#current.getStore();
    if (admission) admission.onEnd(release);
    else release();
  }

  /** What is left for a visitor, and of what everyone shares. */
  budgetsOf(who: WhoWrites): Budget[] {
    const now = this.#store.clock.now();
    const window = windowAt(now);
    const settings = this.#settings.current;
    const site = siteBudgets(settings, this.#counts(EVERYONE, window.hour, window.day), window);
    const budgets = this.#withUnderWay(EVERYONE, site);
    if (who.owner) return budgets;
    const group = addressGroup(who.address);
    const own = addressBudgets(settings, this.#counts(group, window.hour, window.day), window);
    return [...this.#withUnderWay(group, own), ...budgets];
  }

  /** The instant that budgets are counted at, in milliseconds. */
  now(): number {
    return this.#store.clock.now();
  }

  /** Ends what waits for midnight. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#forgetting;
  }

  #requireBudget(who: WhoWrites, more: Amount): void {
    const exceeded = exceededBudget(this.budgetsOf(who), more);
    if (exceeded) throw rateLimited(exceeded, this.#store.clock.now());
  }

  #counts(group: string, hour: number, day: string) {
    const known = writeDay(this.#store.read);
    if (known?.day !== day) return { hour_writes: 0, day_writes: 0, day_bytes: 0 };
    return writeCounts(this.#store.read, nameOf(group, known.key), hour);
  }

  #withUnderWay(group: string, budgets: Budget[]): Budget[] {
    const held = this.#underWay.get(group);
    if (held === undefined) return budgets;
    return budgets.map((budget) => ({ ...budget, used: budget.used + held[budget.counts] }));
  }

  #hold(group: string, { writes, bytes }: Amount): void {
    const held = this.#underWay.get(group) ?? { writes: 0, bytes: 0 };
    const next = { writes: held.writes + writes, bytes: held.bytes + bytes };
    if (next.writes === 0) this.#underWay.delete(group);
    else this.#underWay.set(group, next);
  }

  /** How one admission holds, counts and lets go. */
  #parts(who: WhoWrites, announced: number): AdmissionParts {
    const groups = who.owner ? [EVERYONE] : [EVERYONE, addressGroup(who.address)];
    const hold = (amount: Amount) => {
      for (const group of groups) this.#hold(group, amount);
    };
    hold({ writes: 1, bytes: announced });
    return {
      announced,
      grow: (bytes) => {
        this.#requireBudget(who, { writes: 0, bytes });
        hold({ writes: 0, bytes });
      },
      letGo: (bytes) => hold({ writes: -1, bytes: -bytes }),
      count: (database, bytes) => {
        const window = windowAt(this.#store.clock.now());
        const { key } = this.#begin(database, window.day);
        for (const group of groups) countWrite(database, nameOf(group, key), window.hour, bytes);
        if (who.invitation !== undefined) countInvitationUse(database, who.invitation, this.#store.instant());
      },
    };
  }

  /** Makes today the day that is counted; whatever was counted before goes. */
  #begin(database: WriteDatabase, day: string): WriteDay {
    const known = writeDay(database);
    if (known?.day === day) return known;
    const begun = { day, key: this.#store.randomHex(64) };
    beginWriteDay(database, begun);
    return begun;
  }

  async #today(): Promise<void> {
    const { day } = windowAt(this.#store.clock.now());
    if (writeDay(this.#store.read)?.day === day) return;
    await this.#store.write((database) => {
      this.#begin(database, day);
    });
  }

  /** Forgets a day when it ends and not only when somebody writes again; one that ended while the node was closed, now. */
  async #forgetEachDay(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#today().catch((error: unknown) => {
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

interface AdmissionParts {
  announced: number;
  grow(bytes: number): void;
  count(database: WriteDatabase, bytes: number): void;
  letGo(bytes: number): void;
}

/** One write that is under way, from its being let in to its being counted or refused. */
class Admission implements AdmittedWrite {
  readonly #parts: AdmissionParts;
  readonly #endings: (() => void)[] = [];
  #held: number;
  #received = 0;
  #isOver = false;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#held = parts.announced;
  }

  receive(bytes: number): void {
    this.#received += bytes;
    const beyond = this.#received - this.#held;
    if (beyond <= 0 || this.#isOver) return;
    this.#parts.grow(beyond);
    this.#held += beyond;
  }

  /** Counts it in the transaction that records it. What it held goes in the same turn, so it never counts twice. */
  count(database: WriteDatabase): void {
    if (this.#isOver) return;
    this.#parts.count(database, this.#received);
    this.end();
  }

  onEnd(ending: () => void): void {
    if (this.#isOver) ending();
    else this.#endings.push(ending);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.letGo(this.#held);
    for (const ending of this.#endings.splice(0)) ending();
  }
}
