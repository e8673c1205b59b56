import type { Event } from '../../../../../shared/event.ts';

/** Rows that one request brings. */
export const BLOCK = 100;

/**
 * The list is newest first, so an index or an offset means another event as soon as one happens. Counted from the
 * oldest (rank 0) an event's place never moves, because events are only ever added at the new end. Everything here is
 * kept by rank; an index is only what the list shows at this moment.
 */
export function rankOf(index: number, shown: number): number {
  return shown - 1 - index;
}

/** One answer of the node: rows newest first, the first of which has rank `total - 1 - offset`. */
export interface EventPage {
  items: Event[];
  total: number;
  offset: number;
}

/** The event of a rank, where this page holds it. */
export function eventAt({ items, total, offset }: EventPage, rank: number): Event | undefined {
  return items[total - 1 - offset - rank];
}

/** The blocks of ranks that the rows from one index to another lie in, but for what the newest page holds already. */
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

/** Where a block of ranks lies in the list as it stands when there are `total` events. */
export function sliceOf(block: number, total: number): { offset: number; limit: number } {
  const top = Math.min(block * BLOCK + BLOCK - 1, total - 1);
  return { offset: total - 1 - top, limit: top - block * BLOCK + 1 };
}
