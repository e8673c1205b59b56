import { Button } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { IconArrowUp } from '@tabler/icons-react';
import { useCallback, useState } from 'react';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount } from '../../../format/size.ts';
import { useMarkSeen, useSeenEvents } from '../../../state/seenEvents.ts';
import { ShortcutHelp } from '../keys/ShortcutHelp.tsx';
import classes from './EventList.module.css';
import { EventRows } from './EventRows.tsx';
import { NoEvents } from './NoEvents.tsx';
import { type EventRows as Rows, useEventRows } from './useEventRows.ts';
import { useRowFocus } from './useRowFocus.ts';
import { type ListedEvents, type SelectionOptions, useSelection } from './useSelection.ts';
import { useVirtualRows } from './useVirtualRows.ts';

/** The row heights of EventRow.module.css by layout, and the width (28rem) below which rows are taller. */
const ROW_HEIGHT = 62;
const TALL_ROW_HEIGHT = 112;
const NARROW_PX = 448;

/** Rows that are looked at for the newest shown event. */
const TOP_ROWS = 100;

export interface EventListProps extends SelectionOptions {
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
