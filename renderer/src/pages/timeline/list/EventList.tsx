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
  const [range, setRange] = useState({ first: 0, last: 20, atTop: true });
  const rows = useEventRows(query, range.first, range.last, range.atTop);
  const count = rows.shown ?? 0;
  const focus = useRowFocus(count);
  // Without filters the events' ids are their ranks, so an event that is opened by its address is found at once.
  const startAt = openId !== undefined && !isFiltered && count > openId ? count - openId : 0;
  const list = useTallList({ count, rowHeight, keep: focus.focused, startAt });
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

/** How many there are, and whether new ones come in by themselves. */
function ListBar({ rows, onClearFilters }: { rows: Rows; onClearFilters: (() => void) | undefined }) {
  return (
    <div className={classes.bar}>
      <span className="numeric" aria-live="polite">
        {rows.shown === undefined ? 'Loading…' : countOf(rows.shown, 'event')}
      </span>
      {onClearFilters && (
        <Button size="compact-xs" variant="subtle" onClick={onClearFilters}>
          Clear the filters
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
      title="No event is like that"
      action={
        <Button variant="default" onClick={onClearFilters}>
          Clear the filters
        </Button>
      }
    >
      No event matches all of the filters.
      {words && (
        <>
          {' '}
          What the sources say is looked through elsewhere:{' '}
          <Link to={`/search?${new URLSearchParams({ q: words }).toString()}`}>search the texts</Link>.
        </>
      )}
    </EmptyState>
  );
}

function NoEvents() {
  const isOwner = useIsOwner();
  return (
    <EmptyState
      title="Nothing has happened yet"
      action={
        isOwner && (
          <Button component={Link} to="/sources?add">
            Watch a source
          </Button>
        )
      }
    >
      Each first sight, change, outage, disappearance and recovery of a watched source will be here, with the
      bytes from before and after. The first check of a source writes the first line.
    </EmptyState>
  );
}
