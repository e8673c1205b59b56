import type { Event } from '../../../../shared/collection/event.ts';
import { STATES } from '../../components/data/states/states.ts';
import classes from './ChangeSummary.module.css';

/** What an event means, in one line: for a change, what changed, once the node has summarized it. */
export function ChangeSummary({ event }: { event: Pick<Event, 'event_type' | 'summary'> }) {
  if (event.event_type !== 'changed') {
    return <span className={classes.plain}>{STATES.event[event.event_type].meaning}</span>;
  }
  // The text of the source may run in the other direction.
  if (event.summary) return <bdi className={classes.summary}>{event.summary}</bdi>;
  return <span className={classes.plain}>The content changed</span>;
}
