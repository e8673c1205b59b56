import classes from './UnseenMark.module.css';

export interface UnseenMarkProps {
  /** Marks the event as seen. Without it, the mark is only text. */
  onSeen?: () => void;
}

/** Marks an event that the owner has not seen, with a dot and a word. */
export function UnseenMark({ onSeen }: UnseenMarkProps) {
  if (!onSeen) return <span className={classes.mark}>unseen</span>;
  return (
    <button
      type="button"
      className={classes.mark}
      aria-label="unseen: mark as seen"
      title="Mark as seen"
      onClick={onSeen}
    >
      unseen
    </button>
  );
}
