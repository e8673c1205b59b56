import { Button } from '@mantine/core';
import { formatCount } from '../../format/size.ts';
import classes from './Pager.module.css';

export interface PagerProps {
  /** The plural of what is listed: `packs`. */
  what: string;
  /** The singular, if it is not `what` without its last letter: `entry`. */
  one?: string;
  total: number;
  limit: number;
  offset: number;
  onOffset: (offset: number) => void;
}

/** Shows the current range and the total, with links to the previous and next page. */
export function Pager({ what, one = what.slice(0, -1), total, limit, offset, onOffset }: PagerProps) {
  const last = Math.min(offset + limit, total);
  const range =
    total <= limit && offset === 0 ? '' : `${formatCount(offset + 1)} to ${formatCount(last)} of `;
  return (
    <nav className={classes.pager} aria-label={`Pagination of ${what}`}>
      <span className="muted numeric" aria-live="polite">
        {range}
        {formatCount(total)} {total === 1 ? one : what}
      </span>
      {total > limit && (
        <span className={classes.buttons}>
          <Button
            variant="default"
            size="xs"
            disabled={offset === 0}
            onClick={() => onOffset(Math.max(0, offset - limit))}
          >
            Previous
          </Button>
          <Button
            variant="default"
            size="xs"
            disabled={last >= total}
            onClick={() => onOffset(offset + limit)}
          >
            Next
          </Button>
        </span>
      )}
    </nav>
  );
}
