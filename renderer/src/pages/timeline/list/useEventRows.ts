import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Event } from '../../../../../shared/collection/event.ts';
import { call } from '../../../api/client.ts';
import { BLOCK, blocksFor, type EventPage, eventAt, rankOf, sliceOf } from './eventRanks.ts';
import { useEventStream } from './useEventStream.ts';

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
