import type { Clock } from '../../../shared/values/clock.ts';
import { MonotonicClock } from '../monotonicClock.ts';
import type { ReadDatabase } from '../sqlite/engine/open.ts';
import { lastEntry } from '../sqlite/node/ledger.ts';
import type { Warn } from './warn.ts';

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
