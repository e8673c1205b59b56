import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  type FocusEvent,
  type KeyboardEvent,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useRef,
  useState,
} from 'react';
import { useNavigate } from 'react-router';
import type { Event } from '../../../../shared/collection/event.ts';
import { call, followStream } from '../../api/client.ts';
import { useToggleSeen } from './EventDetails.tsx';
import { useShortcuts } from './shortcuts.tsx';
import type { VirtualRows } from './useVirtualRows.ts';

/** Rows per request. */
export const BLOCK = 100;

/**
 * The list is newest first, so an index or an offset shifts with every new event. A rank counts from the
 * oldest event (rank 0) and never changes, because events are only appended. Everything is stored by rank; an
 * index is valid only for the current state of the list.
 */
export function rankOf(index: number, shown: number): number {
  return shown - 1 - index;
}

/** A page of events, newest first. The first one has rank `total - 1 - offset`. */
export interface EventPage {
  items: Event[];
  total: number;
  offset: number;
}

/** The event with a rank, if the page contains it. */
export function eventAt({ items, total, offset }: EventPage, rank: number): Event | undefined {
  return items[total - 1 - offset - rank];
}

/** The blocks of ranks that cover a range of indexes, without those that the newest page contains. */
export function blocksFor(
  first: number,
  last: number,
  shown: number,
  newest: EventPage | undefined,
): number[] {
  const highest = rankOf(Math.max(0, first), shown);
  const lowest = Math.max(0, rankOf(last, shown));
  const blocks: number[] = [];
  for (let block = Math.floor(lowest / BLOCK); block <= Math.floor(highest / BLOCK); block += 1) {
    const top = Math.min(highest, block * BLOCK + BLOCK - 1);
    const bottom = Math.max(lowest, block * BLOCK);
    const isHeld = newest && eventAt(newest, top) && eventAt(newest, bottom);
    if (!isHeld) blocks.push(block);
  }
  return blocks;
}

/** The offset and limit of a block of ranks when there are `total` events. */
export function sliceOf(block: number, total: number): { offset: number; limit: number } {
  const top = Math.min(block * BLOCK + BLOCK - 1, total - 1);
  return { offset: total - 1 - top, limit: top - block * BLOCK + 1 };
}

type Query = Record<string, string | undefined>;

/** The newest page is requested at most this often. */
const REFRESH_MS = 1_000;
/** What follows an event later, such as its summary and whether it is noise, arrives with this delay at most. */
const SLOW_REFRESH_MS = 15_000;
/** A block is requested again until its changes are summarized, this often and this many times. */
const SUMMARY_MS = 3_000;
const SUMMARY_TRIES = 5;

export interface EventRows {
  /** The number of rows; undefined until the node has responded. */
  shown: number | undefined;
  /** The number of new events that are not shown yet. */
  waiting: number;
  showWaiting: () => void;
  /** The row, or undefined while it is loading. */
  rowAt: (index: number) => Event | undefined;
  error: unknown;
  retry: () => void;
  /** Whether new events arrive live. */
  live: boolean;
}

/**
 * The rows of the timeline in a range of indexes. New events are held back until requested, so that nothing
 * moves while someone reads. With `follow` (the list is at its top) they appear at once.
 */
export function useEventRows(query: Query, first: number, last: number, follow: boolean): EventRows {
  const newest = useQuery({
    queryKey: ['listEvents', 'newest', query],
    queryFn: ({ signal }) => readPage(query, 0, BLOCK, signal),
    refetchInterval: SLOW_REFRESH_MS,
  });
  const total = newest.data?.total;
  const [adopted, setAdopted] = useState<number>();
  const shown =
    total === undefined ? adopted : follow || adopted === undefined ? total : Math.min(adopted, total);
  // The shown state is kept, so that later events can be counted as new.
  if (shown !== adopted) setAdopted(shown);

  const range = useReachedRange(first, last);
  const needed = shown ? blocksFor(range.first, range.last, shown, newest.data) : [];
  const blocks = useQueries({
    queries: needed.map((block) => ({
      queryKey: ['listEvents', 'block', query, block],
      queryFn: ({ signal }: { signal: AbortSignal }) => readBlock(query, block, total ?? 0, signal),
      // A block of older events never changes, except by what the filters for noise and seen events follow.
      staleTime: query.noise || query.seen ? SLOW_REFRESH_MS : Number.POSITIVE_INFINITY,
      refetchInterval: ({ state }: { state: { data?: EventPage; dataUpdateCount: number } }) =>
        state.dataUpdateCount < SUMMARY_TRIES && state.data?.items.some(isUnsummarized) && SUMMARY_MS,
      gcTime: 60_000,
    })),
  });
  const live = useEventStream(useRefresh(query));
  const failed = [newest, ...blocks].find((answer) => answer.isError);
  return {
    shown,
    waiting: total === undefined || shown === undefined ? 0 : total - shown,
    showWaiting: () => setAdopted(total),
    rowAt: (index) => {
      if (!shown) return undefined;
      const rank = rankOf(index, shown);
      const pages: (EventPage | undefined)[] = [newest.data, ...blocks.map(({ data }) => data)];
      for (const page of pages) {
        const event = page && eventAt(page, rank);
        if (event) return event;
      }
      return undefined;
    },
    error: failed?.error,
    retry: () => {
      for (const answer of [newest, ...blocks]) if (answer.isError) void answer.refetch();
    },
    live,
  };
}

function isUnsummarized({ event_type, summary, previous_sha256 }: Event): boolean {
  return event_type === 'changed' && !summary && previous_sha256 !== null;
}

/** A range this far away is requested only when scrolling has stopped. */
const LEAP_ROWS = 2 * BLOCK;
const REST_MS = 100;

/**
 * The range to request: the visible rows. While the scroll bar is dragged past many pages, intermediate
 * ranges are skipped.
 */
function useReachedRange(first: number, last: number): { first: number; last: number } {
  const [reached, setReached] = useState({ first, last });
  const isSame = reached.first === first && reached.last === last;
  if (!isSame && Math.abs(first - reached.first) <= LEAP_ROWS) setReached({ first, last });
  useEffect(() => {
    if (isSame) return;
    const timer = setTimeout(() => setReached({ first, last }), REST_MS);
    return () => clearTimeout(timer);
  }, [isSame, first, last]);
  return reached;
}

/** Requests the newest page at once, then at most every `REFRESH_MS`. */
function useRefresh(query: Query): () => void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef(query);
  useEffect(() => {
    latest.current = query;
  }, [query]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    if (timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      void client.invalidateQueries({ queryKey: ['listEvents', 'newest', latest.current] });
    }, REFRESH_MS);
  }, [client]);
}

async function readPage(
  query: Query,
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<EventPage> {
  const route = query.seen === undefined ? 'listEvents' : 'listOwnEvents';
  const { items, total } = await call(route, { query: { ...query, offset, limit, summaries: true }, signal });
  return { items, total, offset };
}

/** New events shift the offsets, so the block is requested at its current offset. */
async function readBlock(
  query: Query,
  block: number,
  total: number,
  signal: AbortSignal,
): Promise<EventPage> {
  const { offset, limit } = sliceOf(block, total);
  const page = await readPage(query, offset, limit, signal);
  if (page.total <= total) return page;
  const now = sliceOf(block, page.total);
  return readPage(query, now.offset, now.limit, signal);
}

/**
 * Receives new events while the page is visible. A hidden page closes its connection, because a browser
 * allows only a few per host, and reconnects when it is visible again. Returns whether the stream is
 * connected.
 */
function useEventStream(onEvent: () => void): boolean {
  const [live, setLive] = useState(false);
  useEffect(() => {
    let end: (() => void) | undefined;
    const open = () =>
      followStream('streamEvents', {
        onOpen: () => {
          setLive(true);
          // Events before the stream opened were not sent.
          onEvent();
        },
        onLost: () => setLive(false),
        on: { message: onEvent, event: onEvent },
      });
    const follow = () => {
      if (document.visibilityState !== 'hidden') {
        end ??= open();
        return;
      }
      end?.();
      end = undefined;
      setLive(false);
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      end?.();
    };
  }, [onEvent]);
  return live;
}

/** While `j` or `k` is held down, rows are passed without being opened. */
const OPEN_AFTER_MS = 80;

/** Moves the selection: 1 to the next older event, -1 to the next newer one. */
export interface EventListHandle {
  step: (by: 1 | -1) => void;
}

export interface SelectionOptions {
  ref: Ref<EventListHandle>;
  /** The event that is open next to the list. */
  openId: number | undefined;
  /** The URL of an event's page, with the filters preserved. */
  addressOfEvent: (id: number) => string;
  /** Whether a selected row opens next to the list. */
  opensSelected: boolean;
}

export interface ListedEvents {
  rows: EventRows;
  list: VirtualRows;
  focus: RowFocus;
}

/** The keys of the list: `j` and `k` select a row, which opens next to the list if there is room; `m` marks it. */
export function useSelection(
  { ref, openId, addressOfEvent, opensSelected }: SelectionOptions,
  { rows, list, focus }: ListedEvents,
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

export interface RowFocus {
  /** The focused row. It stays rendered wherever the list is scrolled. */
  focused: number | undefined;
  onFocus: (event: FocusEvent) => void;
  onKeyDown: (event: KeyboardEvent, list: VirtualRows) => void;
  /** Focuses a row, wherever the focus is. */
  focusRow: (index: number, list: VirtualRows) => void;
}

/**
 * Moves the focus between rows with the arrow keys, Page Up, Page Down, Home and End. The focus is stored as
 * a distance from the end, because new rows arrive at the beginning.
 */
export function useRowFocus(count: number): RowFocus {
  const [fromEnd, setFromEnd] = useState<number>();
  const focused = fromEnd === undefined ? undefined : count - fromEnd;
  const wanted = useRef<{ index: number; scroller: HTMLElement }>(undefined);
  useEffect(() => {
    if (!wanted.current) return;
    const { index, scroller } = wanted.current;
    const link = scroller.querySelector<HTMLElement>(`[data-index="${index}"] [data-row-link]`);
    if (!link) return;
    wanted.current = undefined;
    link.focus({ preventScroll: true });
  });
  const focusRow = (to: number, list: VirtualRows) => {
    if (!list.scroller) return;
    const index = Math.min(Math.max(to, 0), count - 1);
    wanted.current = { index, scroller: list.scroller };
    setFromEnd(count - index);
    list.reveal(index);
  };
  return {
    focused,
    focusRow,
    onFocus: ({ target }) => {
      const index = indexAt(target);
      setFromEnd(index === undefined ? undefined : count - index);
    },
    onKeyDown: (event, list) => {
      if (focused === undefined || !list.scroller || event.altKey || event.ctrlKey || event.metaKey) return;
      const steps: Partial<Record<string, number>> = {
        ArrowDown: focused + 1,
        ArrowUp: focused - 1,
        PageDown: focused + list.perView,
        PageUp: focused - list.perView,
        Home: 0,
        End: count - 1,
      };
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      focusRow(step, list);
    },
  };
}

/** The index of the row that contains an element. */
export function indexAt(target: EventTarget): number | undefined {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null;
  return row ? Number(row.dataset.index) : undefined;
}
