import { statement, type WriteDatabase } from './open.ts';
import { PARTED } from './sources.ts';

/**
 * Makes due after their interval, or a little less of it, what is due later than any interval from `now` explains: the clock was set back.
 *
 * @param slackMinutes how much later than its interval a source may rightly be due.
 */
export function bringDueTimesNear(
  database: WriteDatabase,
  { now, everyMinutes, slackMinutes }: { now: string; everyMinutes: number; slackMinutes: number },
): void {
  statement(
    database,
    `UPDATE sources
     SET next_check_at = strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * ${PARTED}) || ' minutes')
     WHERE removed = 0 AND next_check_at > strftime('%Y-%m-%dT%H:%M:%fZ', @now,
       (coalesce(every_minutes, @everyMinutes) * 1.05 + @slackMinutes) || ' minutes')`,
  ).run({ now, everyMinutes, slackMinutes });
}
