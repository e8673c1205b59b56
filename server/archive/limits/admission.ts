import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Reservation } from '../../store/sqlite/engine/writeOptions.ts';

/** A number of writes and of bytes in their bodies. */
export interface Amount {
  writes: number;
  bytes: number;
}

/** How one write checks, reserves and counts its budgets. */
export interface AdmissionHooks {
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
export class Admission implements Reservation {
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
