/**
 * So many objects may have come and not be recorded yet. Each holds up to 64 KiB of memory; if more came, they would
 * have to be written to files one by one, which takes the disk longer than to wait.
 */
const MOST = 512;

/** Counts objects that came and are not recorded yet, so that no more are asked for than the disk takes; beyond `MOST` come those that were asked for already. */
export class Backlog {
  #count = 0;
  #waiting: (() => void)[] = [];

  /** Resolves when there is room; those who wait go on in the order in which they came. */
  async room(): Promise<void> {
    while (this.#count >= MOST) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Counts one; gives back how to say, once, that it is dealt with. */
  add(): () => void {
    this.#count += 1;
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      this.#count -= 1;
      // All of them: whoever goes on may bring nothing, and would then wake nobody.
      if (this.#count < MOST) for (const goOn of this.#waiting.splice(0)) goOn();
    };
  }
}
