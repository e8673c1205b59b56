import { useNavigate } from 'react-router';
import classes from './EventList.module.css';
import { EventRow } from './EventRow.tsx';
import type { EventRows as Rows } from './useEventRows.ts';
import { indexAt, type RowFocus } from './useRowFocus.ts';
import type { VirtualRows } from './useVirtualRows.ts';

export interface EventRowsProps {
  rows: Rows;
  list: VirtualRows;
  focus: RowFocus;
  rowHeight: number;
  openId: number | undefined;
  addressOfEvent: (id: number) => string;
  /** Whether the owner has not seen an event; undefined for visitors. */
  isUnseen: ((id: number) => boolean) | undefined;
  onSeen: (id: number) => void;
}

/** The visible rows, positioned in an element as high as the whole list. */
export function EventRows({
  rows,
  list,
  focus,
  rowHeight,
  openId,
  addressOfEvent,
  isUnseen,
  onSeen,
}: EventRowsProps) {
  const navigate = useNavigate();
  const { setScroller, ...drawn } = list;
  const count = rows.shown ?? 0;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- one listener handles all rows' clicks
    <div
      ref={setScroller}
      className={classes.scroller}
      role="feed"
      aria-label="Events, newest first"
      aria-busy={rows.shown === undefined}
      onKeyDown={(event) => focus.onKeyDown(event, list)}
      onFocus={focus.onFocus}
      onClick={({ target }) => {
        const event = rows.rowAt(indexAt(target) ?? -1);
        if (event && !isControl(target)) void navigate(addressOfEvent(event.id));
      }}
    >
      <div className={classes.canvas} style={{ height: drawn.height }}>
        {drawn.rows.map(({ index, top }) => {
          const event = rows.rowAt(index);
          return (
            <article
              // Counted from the end: a row keeps its element when new rows arrive at the beginning.
              key={count - index}
              data-index={index}
              className={classes.item}
              style={{ height: rowHeight, transform: `translateY(${top}px)` }}
              aria-posinset={index + 1}
              aria-setsize={count}
              aria-label={event ? `Event ${event.id}` : 'Loading'}
            >
              <EventRow
                event={event}
                to={event ? addressOfEvent(event.id) : ''}
                isOpen={event !== undefined && event.id === openId}
                onSeen={event && isUnseen?.(event.id) ? onSeen : undefined}
              />
            </article>
          );
        })}
      </div>
    </div>
  );
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button') !== null;
}
