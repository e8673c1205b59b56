import { Button } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { IconArrowUp } from '@tabler/icons-react';
import { memo, useCallback, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { type Event } from '../../../../shared/collection/event.ts';
import { SELF } from '../../../../shared/collection/observers.ts';
import { PageThumbnail } from '../../components/content/PagePictures.tsx';
import { ObserverText, PageLabelNote } from '../../components/content/Retrieval.tsx';
import { StateBadge } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../format.ts';
import { useMarkSeen, useSeenEvents } from '../../state/seenEvents.ts';
import { useIsOwner } from '../../state/session.ts';
import { ChangeSummary, EventTimes, NoiseMark, UnseenMark } from './EventMarks.tsx';
import { ShortcutHelp } from './shortcuts.tsx';
import classes from './Timeline.module.css';
import {
  indexAt,
  type ListedEvents,
  type RowFocus,
  type EventRows as Rows,
  type SelectionOptions,
  useEventRows,
  useRowFocus,
  useSelection,
} from './useEventRows.ts';
import { useVirtualRows, type VirtualRows } from './useVirtualRows.ts';

/** The row heights of EventRow.module.css by layout, and the width (28rem) below which rows are taller. */
const ROW_HEIGHT = 62;
const TALL_ROW_HEIGHT = 112;
const NARROW_PX = 448;

/** Rows that are looked at for the newest shown event. */
const TOP_ROWS = 100;

interface EventListProps extends SelectionOptions {
  query: Record<string, string | undefined>;
  /** Whether any filter is set. */
  isFiltered: boolean;
  onClearFilters: () => void;
}

/** The timeline as one virtual list. Only visible rows are rendered and requested, whatever the total. */
export function EventList(props: EventListProps) {
  const { query, isFiltered, onClearFilters, openId, addressOfEvent } = props;
  const { ref: frame, width } = useElementSize();
  const rowHeight = width > 0 && width <= NARROW_PX ? TALL_ROW_HEIGHT : ROW_HEIGHT;
  const { rows, list, focus } = useListedEvents(props, rowHeight);
  const seen = useSeenEvents();
  const mark = useMarkSeen();
  const markSeen = useCallback((id: number) => void mark({ seen: [id] }), [mark]);
  useSelection(props, { rows, list, focus });

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
        <NoEvents query={query} isFiltered={isFiltered} onClearFilters={onClearFilters} />
      </div>
    );
  }
  const showWaiting = () => {
    rows.showWaiting();
    list.scrollTo(0);
  };
  return (
    <div className={`${classes.frame} sheet`} ref={frame}>
      <ListBar
        rows={rows}
        onClearFilters={isFiltered ? onClearFilters : undefined}
        onMarkAll={
          seen && rows.shown && seen.marks.unseen + seen.marks.unseen_noise > 0 && !leavesOutOthers(query)
            ? () => void mark({ until: newestShown(rows) })
            : undefined
        }
      />
      {rows.error ? <ErrorNote error={rows.error} onRetry={rows.retry} /> : null}
      <div className={`${classes.viewport} relative fill`}>
        <WaitingPill waiting={rows.waiting} onShow={showWaiting} />
        <EventRows
          rows={rows}
          list={list}
          focus={focus}
          rowHeight={rowHeight}
          openId={openId}
          addressOfEvent={addressOfEvent}
          isUnseen={seen?.isUnseen}
          onSeen={markSeen}
        />
      </div>
    </div>
  );
}

/** The rows with their positions and the focus between them. Only the visible rows are requested. */
function useListedEvents({ query, isFiltered, openId }: EventListProps, rowHeight: number): ListedEvents {
  const [range, setRange] = useState({ first: 0, last: 20, atTop: true });
  const rows = useEventRows(query, range.first, range.last, range.atTop);
  const count = rows.shown ?? 0;
  const focus = useRowFocus(count);
  // Without filters an event's id is its rank, so an event from the URL is found at once.
  const startAt = openId !== undefined && !isFiltered && count > openId ? count - openId : 0;
  const list = useVirtualRows({ count, rowHeight, keep: focus.focused, startAt });
  const { first, last, atTop } = list;
  if (first !== range.first || last !== range.last || atTop !== range.atTop) setRange({ first, last, atTop });
  return { rows, list, focus };
}

/** Offers the events that arrived after the list was loaded. */
function WaitingPill({ waiting, onShow }: { waiting: number; onShow: () => void }) {
  return (
    <output className={classes.pill}>
      {waiting > 0 && (
        <Button
          size="compact-sm"
          radius="xl"
          leftSection={<IconArrowUp size={14} aria-hidden />}
          onClick={onShow}
        >
          {formatCount(waiting)} new
        </Button>
      )}
    </output>
  );
}

/** Whether filters hide events that are news: then marking all would also mark what nobody looked at. */
function leavesOutOthers({ noise: _noise, seen: _seen, ...others }: EventListProps['query']): boolean {
  return Object.values(others).some(Boolean);
}

function newestShown(rows: Rows): number {
  const ids = Array.from(
    { length: Math.min(rows.shown ?? 0, TOP_ROWS) },
    (_, index) => rows.rowAt(index)?.id,
  );
  return Math.max(1, ...ids.map((id) => id ?? 0));
}

interface ListBarProps {
  rows: Rows;
  onClearFilters: (() => void) | undefined;
  /** Marks every event up to the newest shown one as seen. */
  onMarkAll: (() => void) | undefined;
}

/** The total, what can be done with all events, and whether new events arrive live. */
function ListBar({ rows, onClearFilters, onMarkAll }: ListBarProps) {
  return (
    <div className={`${classes.listBar} line gap-3 small muted`}>
      <span className="numeric" aria-live="polite">
        {rows.shown === undefined ? 'Loading…' : countOf(rows.shown, 'event')}
      </span>
      {onClearFilters && (
        <Button size="compact-xs" variant="subtle" onClick={onClearFilters}>
          Clear filters
        </Button>
      )}
      {onMarkAll && (
        <Button size="compact-xs" variant="subtle" onClick={onMarkAll}>
          Mark all as seen
        </Button>
      )}
      <span className="push">
        <ShortcutHelp />
      </span>
      <span className={`${classes.live} line inline gap-2`} data-live={rows.live || undefined}>
        {rows.live ? 'live' : 'not live'}
      </span>
    </div>
  );
}

interface EventRowsProps {
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
function EventRows({
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
      <div className="relative" style={{ height: drawn.height }}>
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

interface EventRowProps {
  /** Undefined while it is loading. */
  event: Event | undefined;
  /** The URL of the event, with the list's filters preserved. */
  to: string;
  isOpen: boolean;
  /** Marks the event as seen. Set if the owner has not seen it. */
  onSeen: ((id: number) => void) | undefined;
}

/** An event in two lines: type, source and time, then what changed. */
const EventRow = memo(function EventRow({ event, to, isOpen, onSeen }: EventRowProps) {
  if (!event) return <div className={classes.awaited} aria-hidden />;
  const { source } = event;
  return (
    <div
      className={`${classes.row} cluster small muted`}
      data-open={isOpen || undefined}
      data-picture={event.page === null ? undefined : true}
    >
      {event.page !== null && (
        <span className={classes.thumbnail}>
          <PageThumbnail page={event.page} alt="The page as it was drawn" size="row" />
        </span>
      )}
      <span className={classes.badge}>
        <StateBadge kind="event" value={event.event_type} />
      </span>
      <span className={`${classes.source} line baseline gap-3`}>
        <Link
          to={to}
          className={`${classes.name} truncate quiet-link medium`}
          data-row-link
          aria-current={isOpen ? 'true' : undefined}
        >
          {source.name || source.url}
        </Link>
        {source.agency && <span className={`${classes.agency} truncate`}>{source.agency}</span>}
      </span>
      <span className={`${classes.times} line gap-4 stretch`}>
        <EventTimes event={event} />
      </span>
      <span className={`${classes.more} line gap-4 nowrap`}>
        <span className={`${classes.what} line gap-4`}>
          {onSeen && <UnseenMark onSeen={() => onSeen(event.id)} />}
          <ChangeSummary event={event} />
        </span>
        <span className={`${classes.marks} line gap-4`}>
          {event.observer !== SELF && <ObserverText observer={event.observer} />}
          {event.page_label && <PageLabelNote label={event.page_label} />}
          <NoiseMark event={event} />
          {event.reverts_to !== null && <span className="cut">returned to an older version</span>}
        </span>
      </span>
    </div>
  );
});

interface NoEventsProps {
  query: Record<string, string | undefined>;
  isFiltered: boolean;
  onClearFilters: () => void;
}

/** What the list shows without events: why there are none, and what to do. */
function NoEvents({ query, isFiltered, onClearFilters }: NoEventsProps) {
  if (!isFiltered) return <NoneYet />;
  return <NoMatch words={query.q} isAllSeen={query.seen === 'false'} onClearFilters={onClearFilters} />;
}

interface NoMatchProps {
  words: string | undefined;
  isAllSeen: boolean;
  onClearFilters: () => void;
}

function NoMatch({ words, isAllSeen, onClearFilters }: NoMatchProps) {
  return (
    <EmptyState
      title={isAllSeen ? 'Nothing unseen' : 'No event matches'}
      action={
        <Button variant="default" onClick={onClearFilters}>
          Clear filters
        </Button>
      }
    >
      {isAllSeen ? 'You have seen all events that match.' : 'An event must match every filter.'}
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

function NoneYet() {
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
