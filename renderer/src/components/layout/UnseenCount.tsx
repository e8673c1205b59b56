import { formatCount } from '../../format/size.ts';
import { useSeenEvents } from '../../state/seenEvents.ts';
import classes from './UnseenCount.module.css';

/** The number of unseen events, without noise, next to the timeline in the navigation. */
export function UnseenCount() {
  const unseen = useSeenEvents()?.marks.unseen ?? 0;
  if (unseen === 0) return null;
  return (
    <span className={classes.count}>
      {formatCount(unseen)}
      <span className="visually-hidden"> unseen</span>
    </span>
  );
}
