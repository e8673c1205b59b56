import { Button } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { IconArrowUp } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { EmptyState } from '../../components/EmptyState.tsx';
import { ErrorNote } from '../../components/ErrorNote.tsx';
import { countOf, formatCount } from '../../format/size.ts';
import classes from './EventList.module.css';
import { EventRow } from './EventRow.tsx';
import { useEventRows } from './useEventRows.ts';
import { useTallList } from './useTallList.ts';

/** The heights of a row in the layouts of EventRow.module.css, and the width (28rem) below which it is the tall one. */
const ROW_HEIGHT = 62;
const TALL_ROW_HEIGHT = 112;
const NARROW_PX = 448;

export interface EventListProps {
  query: Record<string, string | undefined>;
  /** Whether any filter narrows the list. */
  isFiltered: boolean;
  onClearFilters: () => void;
  /** The event that is open beside the list. */
  openId: number | undefined;
  /** The address of an event's page, with the filters kept. */
  addressOfEvent: (id: number) => string;
}

/** The timeline as one list without end: as many rows are drawn and fetched as are seen, whatever there is. */
export function EventList({ query, isFiltered, onClearFilters, openId, addressOfEvent }: EventListProps) {
  const { ref: frame, width } = useElementSize();
  const rowHeight = width > 0 && width <= NARROW_PX ? TALL_ROW_HEIGHT : ROW_HEIGHT;
  const [focused, setFocused] = useState<number>();
  const [range, setRange] = useState({ first: 0, last: 20, atTop: true });
  const rows = useEventRows(query, range.first, range.last, range.atTop);
  const count = rows.shown ?? 0;
  // Without filters the events' ids are their ranks, so an event that is opened by its address is found at once.
  const startAt = openId !== undefined && !isFiltered && count > openId ? count - openId : 0;
  const { scroller, setScroller, ...list } = useTallList({ count, rowHeight, keep: focused, startAt });
  const { first, last, atTop } = list;
  if (first !== range.first || last !== range.last || atTop !== range.atTop) setRange({ first, last, atTop });

  const navigate = useNavigate();
  const focusRow = useRef<number>(undefined);
  useEffect(() => {
    if (focusRow.current === undefined) return;
    const row = scroller?.querySelector<HTMLElement>(`[data-index="${focusRow.current}"] [data-row-link]`);
    if (!row) return;
    focusRow.current = undefined;
    row.focus({ preventScroll: true });
  });
  const moveTo = (index: number) => {
    const target = Math.min(Math.max(index, 0), count - 1);
    focusRow.current = target;
    setFocused(target);
    list.reveal(target);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (focused === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const steps: Partial<Record<string, number>> = {
      ArrowDown: focused + 1,
      ArrowUp: focused - 1,
      PageDown: focused + list.perView,
      PageUp: focused - list.perView,
      Home: 0,
      End: count - 1,
    };
    const target = steps[event.key];
    if (target === undefined) return;
    event.preventDefault();
    moveTo(target);
  };

  if (rows.shown === undefined && rows.error) {
    return (
      <div>
        <ErrorNote error={rows.error} onRetry={rows.retry} />
      </div>
    );
  }
  if (rows.shown === 0) {
    return (
      <div>
        <NoEvents isFiltered={isFiltered} onClearFilters={onClearFilters} />
      </div>
    );
  }
  return (
    <div className={classes.frame} ref={frame}>
      <div className={classes.bar}>
        <span className="numeric" aria-live="polite">
          {rows.shown === undefined ? 'Loading…' : countOf(rows.shown, 'event')}
        </span>
        {isFiltered && (
          <Button size="compact-xs" variant="subtle" onClick={onClearFilters}>
            Clear the filters
          </Button>
        )}
        <span className={classes.live} data-live={rows.live || undefined}>
          {rows.live ? 'live' : 'not live'}
        </span>
      </div>
      {rows.shown !== undefined && rows.error !== undefined && rows.error !== null && (
        <ErrorNote error={rows.error} onRetry={rows.retry} />
      )}
      <div className={classes.viewport}>
        <output className={classes.pill}>
          {rows.waiting > 0 && (
            <Button
              size="compact-sm"
              radius="xl"
              leftSection={<IconArrowUp size={14} aria-hidden />}
              onClick={() => {
                rows.showWaiting();
                list.scrollTo(0);
              }}
            >
              {formatCount(rows.waiting)} new
            </Button>
          )}
        </output>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- what the rows' links do is heard here once for all of them */}
        <div
          ref={setScroller}
          className={classes.scroller}
          role="feed"
          aria-label="Events, newest first"
          aria-busy={rows.shown === undefined}
          onKeyDown={onKeyDown}
          onFocus={({ target }) => setFocused(indexAt(target))}
          onClick={({ target }) => {
            const event = rows.rowAt(indexAt(target) ?? -1);
            if (event && !isControl(target)) void navigate(addressOfEvent(event.id));
          }}
        >
          <div className={classes.canvas} style={{ height: list.height }}>
            {list.rows.map(({ index, top }) => {
              const event = rows.rowAt(index);
              return (
                <article
                  key={count - index}
                  data-index={index}
                  className={classes.item}
                  style={{ height: rowHeight, transform: `translateY(${top}px)` }}
                  aria-posinset={index + 1}
                  aria-setsize={count}
                  aria-label={event ? `Event ${event.id}` : 'On its way'}
                >
                  <EventRow
                    event={event}
                    to={event ? addressOfEvent(event.id) : ''}
                    isOpen={event !== undefined && event.id === openId}
                  />
                </article>
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

/** The index of the row that an element lies in. */
function indexAt(target: EventTarget): number | undefined {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null;
  return row ? Number(row.dataset.index) : undefined;
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button') !== null;
}

function NoEvents({ isFiltered, onClearFilters }: Pick<EventListProps, 'isFiltered' | 'onClearFilters'>) {
  if (isFiltered) {
    return (
      <EmptyState
        title="No event is like that"
        action={
          <Button variant="default" onClick={onClearFilters}>
            Clear the filters
          </Button>
        }
      >
        No event matches all of the filters.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Nothing has happened yet">
      Each first sight, change, outage, disappearance and recovery of a watched source will be here, with the
      bytes from before and after. Watch a source, and its first check writes the first line.
    </EmptyState>
  );
}
