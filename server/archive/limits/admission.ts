import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';

/** So many writes, and so many bytes of bodies. */
export interface Amount {
  writes: number;
  bytes: number;
}

/** How the budgets are asked, held and counted for one write. */
export interface AdmissionHooks {
  /** @throws Problem `rate_limited` where a budget has not room for so much more. */
  require(more: Amount): void;
  /** Holds so much of the budgets; less than nothing is given back. */
  hold(amount: Amount): void;
  /** Counts a write with its bytes, in the transaction that records it. */
  count(database: WriteDatabase, bytes: number): void;
  /** Counts bytes in a transaction of their own; tells when that is over. */
  record(bytes: number, onOver: () => void): void;
}

/**
 * One write, from its coming to the end of its request. What it may still need is held while it runs. A write that is
 * recorded is counted in that very transaction. The bytes that were read and are not counted with it, all of them where
 * it was refused, are counted when its request is over, and held until then: so no budget ever shows more than there is.
 */
export class Admission {
  readonly #parts: AdmissionHooks;
  readonly #endings: (() => void)[] = [];
  #state: 'coming' | 'running' | 'over' = 'coming';
  #isTurnedAway = false;
  #isCounted = false;
  #heldWrites = 0;
  #heldBytes = 0;
  /** Bytes of the body that were read so far, and those of them that are counted. */
  #received = 0;
  #counted = 0;
  #isClosed = false;

  constructor(parts: AdmissionHooks) {
    this.#parts = parts;
  }

  /**
   * Lets it in.
   *
   * @param announced bytes of its body, as far as they are; they are held from the beginning.
   * @throws Problem `rate_limited`
   */
  enter(announced: number): void {
    this.#parts.require({ writes: 1, bytes: announced });
    this.#state = 'running';
    this.#hold(1, announced);
  }

  /** What comes of a write that was let in no further than here is thrown away, and counts for nothing. */
  turnAway(): void {
    this.#isTurnedAway = true;
  }

  /** Tells of bytes of the body as they come. @throws Problem `rate_limited`, while the write runs */
  receive(bytes: number): void {
    if (this.#state === 'coming' || this.#isTurnedAway) return;
    this.#received += bytes;
    const beyond = this.#received - this.#counted - this.#heldBytes;
    if (beyond <= 0) return;
    try {
      if (this.#state === 'running') this.#parts.require({ writes: 0, bytes: beyond });
    } finally {
      // Also where they are too many: they were read.
      this.#hold(0, beyond);
    }
  }

  /** Counts it in the transaction that records it. */
  count(database: WriteDatabase): void {
    if (this.#state !== 'running' || this.#isCounted) return;
    this.#isCounted = true;
    this.#counted = this.#received;
    this.#parts.count(database, this.#received);
  }

  /** What was counted is seen: from this turn on it is no longer held, so that it never counts twice. */
  shown(): void {
    if (this.#isCounted) this.end();
  }

  onEnd(ending: () => void): void {
    if (this.#state === 'over') ending();
    else this.#endings.push(ending);
  }

  /** The write is over, recorded or not. */
  end(): void {
    if (this.#state !== 'running') return;
    this.#state = 'over';
    this.#hold(-this.#heldWrites, this.#received - this.#counted - this.#heldBytes);
    for (const ending of this.#endings.splice(0)) ending();
    this.#settle();
  }

  /** The request is over; so many bytes of its body were read, where that is known. */
  close(bytes: number): void {
    this.#isClosed = true;
    if (this.#state !== 'coming' && !this.#isTurnedAway) this.#received = Math.max(bytes, this.#received);
    this.#settle();
  }

  #settle(): void {
    if (this.#state !== 'over' || !this.#isClosed) return;
    const uncounted = this.#received - this.#counted;
    if (uncounted <= 0) return;
    this.#counted = this.#received;
    this.#hold(0, uncounted - this.#heldBytes);
    this.#parts.record(uncounted, () => this.#hold(0, -this.#heldBytes));
  }

  #hold(writes: number, bytes: number): void {
    this.#heldWrites += writes;
    this.#heldBytes += bytes;
    this.#parts.hold({ writes, bytes });
  }
}
