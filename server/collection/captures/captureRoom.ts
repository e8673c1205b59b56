import type { ObjectReceiver } from '../record/objectReceiver.ts';

/** Room is asked for in steps, because asking looks at the disk. */
const STEP_BYTES = 8_388_608;

/** The room that one import has reserved for objects that are in no row yet. */
export class CaptureSpace {
  readonly #receiver: ObjectReceiver;
  /** Reserved, and not taken by any object. */
  #free = 0;
  #taken = 0;

  constructor(receiver: ObjectReceiver) {
    this.#receiver = receiver;
  }

  /** Takes room for an object; false where there is none. */
  async take(bytes: number): Promise<boolean> {
    if (bytes > this.#free) {
      const step = Math.max(bytes - this.#free, STEP_BYTES);
      if (await this.#receiver.reserveSpace(step)) this.#free += step;
      else if (await this.#receiver.reserveSpace(bytes - this.#free)) this.#free = bytes;
      else return false;
    }
    this.#free -= bytes;
    this.#taken += bytes;
    return true;
  }

  /** The object is counted by its row now. */
  counted(bytes: number): void {
    this.#taken -= bytes;
    this.#receiver.releaseSpace(bytes);
  }

  close(): void {
    this.#receiver.releaseSpace(this.#free + this.#taken);
    this.#free = 0;
    this.#taken = 0;
  }
}
