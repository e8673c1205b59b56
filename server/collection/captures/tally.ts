import type { CaptureRefusal, CaptureResult } from '../../../shared/collection/captures.ts';

/** Counts the results of an import. */
export class Tally {
  readonly #refused = new Map<CaptureRefusal, number>();
  readonly #events: number[] = [];
  captures = 0;
  alreadyHeld = 0;
  skipped = 0;

  refuse(reason: CaptureRefusal, count = 1): void {
    if (count > 0) this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + count);
  }

  /** Counts one capture that was recorded or already held, and its event, if any. */
  record(recorded: { held: boolean; event: number | null }): void {
    if (recorded.held) this.alreadyHeld += 1;
    else this.captures += 1;
    if (recorded.event !== null) this.#events.push(recorded.event);
  }

  result(): CaptureResult {
    return {
      captures: this.captures,
      already_held: this.alreadyHeld,
      skipped: this.skipped,
      events: this.#events,
      refused: [...this.#refused].map(([reason, count]) => ({ reason, count })),
    };
  }
}
