import { useQuery } from '@tanstack/react-query';
import type { Schedule } from '../../../../../shared/collection/schedule/scheduleFields.ts';
import classes from './ScheduleFields.module.css';
import { scheduledTime, zoneOf } from './scheduleText.ts';

const SHOWN = 4;

/** The times at which a source would be checked next, computed as the node computes them. */
export function NextTimes({ schedule, everyMinutes }: { schedule: Schedule; everyMinutes: number }) {
  const { data } = useQuery({
    queryKey: ['nextTimes', schedule, everyMinutes],
    queryFn: () => nextTimesOf(schedule, everyMinutes),
    placeholderData: (previous) => previous,
    gcTime: 0,
  });
  if (!data) return null;
  const zone = zoneOf(schedule);
  const about = schedule.every === null ? 'about ' : '';
  return (
    <p className={classes.next} aria-live="polite">
      {'problem' in data ? (
        data.problem
      ) : (
        <>
          <span className="muted">Next checks{zone && ` (${zone})`}: </span>
          {about}
          {data.times.map((at, index) => (
            <span key={at}>
              {index > 0 && ' · '}
              <span className="numeric nowrap">{scheduledTime(at, zone)}</span>
            </span>
          ))}
        </>
      )}
    </p>
  );
}

async function nextTimesOf(
  schedule: Schedule,
  everyMinutes: number,
): Promise<{ times: number[] } | { problem: string }> {
  // Loaded when it is first shown: the parser is not part of the page.
  const { CronError, nextTimes } = await import('../../../../../shared/collection/schedule/nextTimes.ts');
  if (schedule.every === '') return { problem: 'Enter the times to see when the next checks are.' };
  try {
    const times = nextTimes(schedule, everyMinutes, { from: Date.now(), count: SHOWN });
    return times.length > 0 ? { times } : { problem: 'This is never due. Change the times or the hours.' };
  } catch (error) {
    if (error instanceof CronError) return { problem: error.message };
    // Hours or a zone that are not complete yet.
    if (error instanceof RangeError || error instanceof TypeError)
      return { problem: 'The hours are not complete.' };
    throw error;
  }
}
