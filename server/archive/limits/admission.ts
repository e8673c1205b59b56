import type { WriteDatabase } from '../../store/sqlite/open.ts';

/** A write that was let in and is not over. */
export interface AdmittedWrite {
  /** Tells of bytes of the body as they come. @throws Problem `rate_limited` */
  receive(bytes: number): void;
}

/** What an admission holds of the budgets, and how it gives it back. */
export interface AdmissionParts {
  /** Bytes of the body, as far as they were announced; they are held from the beginning. */
  announced: number;
  /** Holds so many bytes more. @throws Problem `rate_limited` */
  grow(bytes: number): void;
  /** Counts the write and so many bytes, in the transaction that records it. */
  count(database: WriteDatabase, bytes: number): void;
  /** Lets go of the write and of so many bytes. */
  letGo(bytes: number): void;
}

/** One write that is under way, from its being let in to its being counted or refused. */
export class Admission implements AdmittedWrite {
  readonly #parts: AdmissionParts;
  readonly #endings: (() => void)[] = [];
  #held: number;
  #received = 0;
  #isCounted = false;
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

  /** Counts it in the transaction that records it. */
  count(database: WriteDatabase): void {
    if (this.#isOver || this.#isCounted) return;
    this.#isCounted = true;
    this.#parts.count(database, this.#received);
  }

  /** What was counted is seen: from this turn on it is no longer held, so that it never counts twice. */
  shown(): void {
    if (this.#isCounted) this.end();
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
