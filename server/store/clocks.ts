import { type Clock, instantOf } from '../../shared/values/clock.ts';
import type { Warn } from './opening/headFile.ts';
import type { ReadDatabase } from './sqlite/engine/open.ts';
import { lastEntry } from './sqlite/node/ledger.ts';

/** Smaller corrections of the machine's clock are not reported. */
const REPORT_FROM_MS = 1_000;

/**
 * A clock that never goes backwards, whatever the machine's clock does. Its instants are never before an earlier one or
 * before the last entry of the ledger. A machine clock that is behind is reported once.
 */
class MonotonicClock {
  readonly #clock: Clock;
  readonly #reportBehind: (behindMs: number) => void;
  #latest: number;
  #isReported = false;

  /** @param latest the last recorded instant, if any. */
  constructor(clock: Clock, latest: string | undefined, reportBehind: (behindMs: number) => void) {
    this.#clock = clock;
    this.#latest = latest === undefined ? 0 : Date.parse(latest);
    this.#reportBehind = reportBehind;
  }

  /** The current time in ISO 8601; the latest recorded instant while the machine's clock is behind it. */
  instant(): string {
    const now = this.#clock.now();
    if (now >= this.#latest) {
      this.#latest = now;
      this.#isReported = false;
    } else if (!this.#isReported && this.#latest - now >= REPORT_FROM_MS) {
      this.#isReported = true;
      this.#reportBehind(this.#latest - now);
    }
    return instantOf(this.#latest);
  }

  /** How far the machine's clock is behind the latest recorded instant, in milliseconds; 0 if it is not behind. */
  get behindMs(): number {
    const behind = this.#latest - this.#clock.now();
    return behind >= REPORT_FROM_MS ? behind : 0;
  }
}

/** Returns a clock that is never before the last entry of the ledger. */
export function steadyClock(clock: Clock, database: ReadDatabase, warn: Warn): MonotonicClock {
  const lastRecordedAt = lastEntry(database)?.at;
  const steady = new MonotonicClock(clock, lastRecordedAt, (behindMs) =>
    warn(
      { behind_ms: behindMs },
      'The clock of this machine is behind the last recorded time. Correct it. Until then, new records get the last recorded time.',
    ),
  );
  if (lastRecordedAt !== undefined) steady.instant();
  return steady;
}
