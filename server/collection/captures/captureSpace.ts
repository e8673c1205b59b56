import type { ObjectReceiver } from '../record/objectReceiver.ts';

/** Space is reserved in steps, because each reservation queries the disk. */
const STEP_BYTES = 8_388_608;

/** The disk space that one import has reserved for objects that have no row yet. */
export class CaptureSpace {
  readonly #receiver: ObjectReceiver;
  /** Reserved, and not assigned to any object. */
  #free = 0;
  /** Assigned to objects that have no row yet. */
  #assigned = 0;

  constructor(receiver: ObjectReceiver) {
    this.#receiver = receiver;
  }

  /** Reserves space for an object. Returns false if there is too little. */
  reserve(bytes: number): boolean {
    if (bytes > this.#free) {
      const step = Math.max(bytes - this.#free, STEP_BYTES);
      if (this.#receiver.reserveSpace(step)) this.#free += step;
      else if (this.#receiver.reserveSpace(bytes - this.#free)) this.#free = bytes;
      else return false;
    }
    this.#free -= bytes;
    this.#assigned += bytes;
    return true;
  }

  /** Releases the space of objects that their rows count from now on. */
  release(bytes: number): void {
    this.#assigned -= bytes;
    this.#receiver.releaseSpace(bytes);
  }

  close(): void {
    this.#receiver.releaseSpace(this.#free + this.#assigned);
    this.#free = 0;
    this.#assigned = 0;
  }
}
