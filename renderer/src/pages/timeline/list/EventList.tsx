import { Button } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { IconArrowUp } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { EmptyState } from '../../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import { useIsOwner } from '../../../state/session.ts';
import classes from './EventList.module.css';
import { EventRows } from './EventRows.tsx';
import { type EventRows as Rows, useEventRows } from './useEventRows.ts';
import { useRowFocus } from './useRowFocus.ts';
import { useVirtualRows } from './useVirtualRows.ts';

/** The row heights of EventRow.module.css by layout, and the width (28rem) below which rows are taller. */
const ROW_HEIGHT = 62;
const TALL_ROW_HEIGHT = 112;
const NARROW_PX = 448;

export interface EventListProps {
  query: Record<string, string | undefined>;
  /** Whether any filter is set. */
  isFiltered: boolean;
  onClearFilters: () => void;
  /** The event that is open next to the list. */
  openId: number | undefined;
  /** The URL of an event's page, with the filters preserved. */
  addressOfEvent: (id: number) => string;
}

/** The timeline as one virtual list. Only visible rows are rendered and requested, whatever the total. */
export function EventList({ query, isFiltered, onClearFilters, openId, addressOfEvent }: EventListProps) {
  const { ref: frame, width } = useElementSize();
  const rowHeight = width > 0 && width <= NARROW_PX ? TALL_ROW_HEIGHT : ROW_HEIGHT;
  const [range, setRange] = useState({ first: 0, last: 20, atTop: true });
  const rows = useEventRows(query, range.first, range.last, range.atTop);
  const count = rows.shown ?? 0;
  const focus = useRowFocus(count);
  // Without filters an event's id is its rank, so an event from the URL is found at once.
  const startAt = openId !== undefined && !isFiltered && count > openId ? count - openId : 0;
  const list = useVirtualRows({ count, rowHeight, keep: focus.focused, startAt });
  const { first, last, atTop } = list;
  if (first !== range.first || last !== range.last || atTop !== range.atTop) setRange({ first, last, atTop });

  if (rows.shown === undefined && rows.error) {
    return (
      <div>
        <ErrorNote error={rows.error} onRetry={rows.retry} />
      </div>
    );
  }
  if (rows.shown === 0) {
    return (
      <div>{isFiltered ? <NoMatch words={query.q} onClearFilters={onClearFilters} /> : <NoEvents />}</div>
    );
  }
  const showWaiting = () => {
    rows.showWaiting();
    list.scrollTo(0);
  };
  return (
    <div className={classes.frame} ref={frame}>
      <ListBar rows={rows} onClearFilters={isFiltered ? onClearFilters : undefined} />
      {rows.error ? <ErrorNote error={rows.error} onRetry={rows.retry} /> : null}
      <div className={classes.viewport}>
        <output className={classes.pill}>
          {rows.waiting > 0 && (
            <Button
              size="compact-sm"
              radius="xl"
              leftSection={<IconArrowUp size={14} aria-hidden />}
              onClick={showWaiting}
            >
              {formatCount(rows.waiting)} new
            </Button>
          )}
        </output>
        <EventRows
          rows={rows}
          list={list}
          focus={focus}
          rowHeight={rowHeight}
          openId={openId}
          addressOfEvent={addressOfEvent}
        />
      </div>
    </div>
  );
}

/** The total, and whether new events arrive live. */
function ListBar({ rows, onClearFilters }: { rows: Rows; onClearFilters: (() => void) | undefined }) {
  return (
    <div className={classes.bar}>
      <span className="numeric" aria-live="polite">
        {rows.shown === undefined ? 'Loading…' : countOf(rows.shown, 'event')}
      </span>
      {onClearFilters && (
        <Button size="compact-xs" variant="subtle" onClick={onClearFilters}>
          Clear filters
        </Button>
      )}
      <span className={classes.live} data-live={rows.live || undefined}>
        {rows.live ? 'live' : 'not live'}
      </span>
    </div>
  );
}

function NoMatch({ words, onClearFilters }: Pick<EventListProps, 'onClearFilters'> & { words?: string }) {
  return (
    <EmptyState
      title="No event matches"
      action={
        <Button variant="default" onClick={onClearFilters}>
          Clear filters
        </Button>
      }
    >
      An event must match every filter.
      {words && (
        <>
          {' '}
          To search the content of sources, use{' '}
          <Link to={`/search?${new URLSearchParams({ q: words }).toString()}`}>text search</Link>.
        </>
      )}
    </EmptyState>
  );
}

function NoEvents() {
  const isOwner = useIsOwner();
  return (
    <EmptyState
      title="No events yet"
      action={
        isOwner && (
          <Button component={Link} to="/sources?add">
            Watch a source
          </Button>
        )
      }
    >
      Events appear here when a watched source is first retrieved, changes, becomes unavailable, disappears or
      recovers. Each event keeps the bytes from before and after. The first check of a source creates its
      first event.
    </EmptyState>
  );
}
