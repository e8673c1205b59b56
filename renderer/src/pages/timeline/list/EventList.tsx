import { Button } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { IconArrowUp } from '@tabler/icons-react';
import { type Ref, useCallback, useEffect, useImperativeHandle, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { EmptyState } from '../../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import { useMarkSeen, useSeenEvents } from '../../../state/seenEvents.ts';
import { useIsOwner } from '../../../state/session.ts';
import { useToggleSeen } from '../event/SeenButton.tsx';
import { ShortcutHelp } from '../keys/ShortcutHelp.tsx';
import { useShortcuts } from '../keys/useShortcuts.ts';
import classes from './EventList.module.css';
import { EventRows } from './EventRows.tsx';
import { type EventRows as Rows, useEventRows } from './useEventRows.ts';
import { type RowFocus, useRowFocus } from './useRowFocus.ts';
import { useVirtualRows, type VirtualRows } from './useVirtualRows.ts';

/** The row heights of EventRow.module.css by layout, and the width (28rem) below which rows are taller. */
const ROW_HEIGHT = 62;
const TALL_ROW_HEIGHT = 112;
const NARROW_PX = 448;

/** Rows that are looked at for the newest shown event. */
const TOP_ROWS = 100;
/** While `j` or `k` is held down, rows are passed without being opened. */
const OPEN_AFTER_MS = 80;

/** Moves the selection: 1 to the next older event, -1 to the next newer one. */
export interface EventListHandle {
  step: (by: 1 | -1) => void;
}

export interface EventListProps {
  ref: Ref<EventListHandle>;
  query: Record<string, string | undefined>;
  /** Whether any filter is set. */
  isFiltered: boolean;
  onClearFilters: () => void;
  /** The event that is open next to the list. */
  openId: number | undefined;
  /** The URL of an event's page, with the filters preserved. */
  addressOfEvent: (id: number) => string;
  /** Whether a selected row opens next to the list. */
  opensSelected: boolean;
}

/** The timeline as one virtual list. Only visible rows are rendered and requested, whatever the total. */
export function EventList(props: EventListProps) {
  const { query, isFiltered, onClearFilters, openId, addressOfEvent } = props;
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
        {isFiltered ? (
          <NoMatch words={query.q} isAllSeen={query.seen === 'false'} onClearFilters={onClearFilters} />
        ) : (
          <NoEvents />
        )}
      </div>
    );
  }
  const showWaiting = () => {
    rows.showWaiting();
    list.scrollTo(0);
  };
  return (
    <div className={classes.frame} ref={frame}>
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
          isUnseen={seen?.isUnseen}
          onSeen={markSeen}
        />
      </div>
    </div>
  );
}

interface Selectable {
  rows: Rows;
  list: VirtualRows;
  focus: RowFocus;
}

/** The keys of the list: `j` and `k` select a row, which opens next to the list if there is room; `m` marks it. */
function useSelection(
  { ref, openId, addressOfEvent, opensSelected }: EventListProps,
  { rows, list, focus }: Selectable,
): void {
  const navigate = useNavigate();
  const toggleSeen = useToggleSeen();
  const [toOpen, setToOpen] = useState<number>();
  const openIndex = list.rows.find(({ index }) => rows.rowAt(index)?.id === openId)?.index;
  const selected = (openId === undefined ? undefined : openIndex) ?? focus.focused;
  const step = (by: 1 | -1) => {
    if (!rows.shown) return;
    const index = Math.min(Math.max((selected ?? -1) + by, 0), rows.shown - 1);
    focus.focusRow(index, list);
    if (opensSelected) setToOpen(index);
  };
  useImperativeHandle(ref, () => ({ step }));
  const address = toOpen === undefined ? undefined : rows.rowAt(toOpen)?.id;
  useEffect(() => {
    if (address === undefined) return;
    const timer = setTimeout(() => {
      setToOpen(undefined);
      // Rendered with the change of the address, so that the next key acts on the new event.
      void navigate(addressOfEvent(address), { replace: openId !== undefined, flushSync: true });
    }, OPEN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [address, openId, navigate, addressOfEvent]);
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    m: () => {
      const id = openId ?? (selected === undefined ? undefined : rows.rowAt(selected)?.id);
      if (id !== undefined) toggleSeen?.(id);
    },
  });
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
    <div className={classes.bar}>
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
      <span className={classes.end}>
        <ShortcutHelp />
      </span>
      <span className={classes.live} data-live={rows.live || undefined}>
        {rows.live ? 'live' : 'not live'}
      </span>
    </div>
  );
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
