import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';

interface TreeRowsOptions<Row> {
  rows: readonly Row[];
  /** Unique in the tree. */
  keyOf: (row: Row) => string | number;
  rowHeight: number;
  /** Rows that are rendered above and below the visible ones. */
  overscan: number;
  /** Whether a row is open; undefined if it has nothing to open. */
  isOpen: (row: Row) => boolean | undefined;
  onToggle: (row: Row) => void;
  /** Handles a key that neither moves the focus nor opens or closes a row. */
  onKey?: (event: KeyboardEvent, row: Row) => void;
}

/** The rows of a tree. Only the visible ones are rendered; keys move between them, open and close (ARIA tree pattern). */
export function useTreeRows<Row extends { level: number; position: number }>(options: TreeRowsOptions<Row>) {
  const { rows, keyOf, rowHeight, overscan, isOpen, onToggle, onKey } = options;
  const frame = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState<string | number>();
  /** The row that gets the focus once it is rendered. */
  const awaited = useRef<string | number>(undefined);
  // The React compiler cannot memoize what this hook returns.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => (rows[index] ? keyOf(rows[index]) : index),
    overscan,
  });
  /** Tab stops at the row that had the focus, or at the first one. */
  const stop = useMemo(
    () => Math.max(0, focused === undefined ? 0 : rows.findIndex((row) => keyOf(row) === focused)),
    [rows, focused, keyOf],
  );
  const moveTo = (place: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, place));
    virtual.scrollToIndex(index);
    const element = frame.current?.querySelector<HTMLElement>(`[data-index="${index}"]`);
    if (element) element.focus({ preventScroll: true });
    else awaited.current = rows[index] && keyOf(rows[index]);
  };
  const onKeyDown = (event: KeyboardEvent, row: Row, index: number) => {
    // Keys that are pressed inside a row belong to its buttons and fields.
    if (event.target !== event.currentTarget) return;
    const open = isOpen(row);
    const to = destination(event.key, index, open, rows);
    const toggles = ['Enter', ' ', open ? 'ArrowLeft' : 'ArrowRight'];
    if (open !== undefined && toggles.includes(event.key)) onToggle(row);
    else if (to !== undefined) moveTo(to);
    else return onKey?.(event, row);
    event.preventDefault();
  };
  return {
    frame,
    height: virtual.getTotalSize(),
    /** The rows to render, each with the props of its element. */
    shown: virtual.getVirtualItems().flatMap(({ index, start }) => {
      const row = rows[index];
      if (row === undefined) return [];
      const key = keyOf(row);
      const props = {
        ref: (element: HTMLElement | null) => {
          virtual.measureElement(element);
          if (!element || awaited.current !== key) return;
          awaited.current = undefined;
          element.focus({ preventScroll: true });
        },
        'aria-level': row.level,
        'aria-posinset': row.position,
        'aria-expanded': isOpen(row),
        tabIndex: index === stop ? 0 : -1,
        'data-index': index,
        style: { transform: `translateY(${start}px)` },
        onFocus: () => setFocused(key),
        onKeyDown: (event: KeyboardEvent) => onKeyDown(event, row, index),
      };
      return [{ row, key, index, props }];
    }),
  };
}

/** The rows that Page Up and Page Down move by. */
const PAGE_ROWS = 10;

/** Returns the row to which a key moves the focus, or undefined for any other key. */
function destination(
  key: string,
  index: number,
  isOpen: boolean | undefined,
  rows: readonly { level: number }[],
): number | undefined {
  switch (key) {
    case 'ArrowRight':
      return isOpen ? index + 1 : index;
    case 'ArrowLeft': {
      const level = rows[index]?.level ?? 1;
      const parent = rows.slice(0, index).findLastIndex((row) => row.level < level);
      return parent === -1 ? index : parent;
    }
    case 'ArrowDown':
      return index + 1;
    case 'ArrowUp':
      return index - 1;
    case 'Home':
      return 0;
    case 'End':
      return rows.length - 1;
    case 'PageDown':
      return index + PAGE_ROWS;
    case 'PageUp':
      return index - PAGE_ROWS;
    default:
      return undefined;
  }
}
