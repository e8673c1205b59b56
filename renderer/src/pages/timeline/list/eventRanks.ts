import type { Event } from '../../../../../shared/collection/event.ts';

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
