import { useRef, useState } from 'react';
import { rowOfKey } from './rowKeys.ts';
import type { TreeRow } from './treeRows.ts';

export interface TreeFocus {
  /** Whether Tab stops at this row. */
  isCurrent: (key: string) => boolean;
  setCurrent: (key: string) => void;
  /** Registers the element of a rendered row; null when it is removed. */
  attach: (key: string, element: HTMLElement | null) => void;
  /** Moves the focus from a row by a key of the treegrid pattern. Returns whether the key is one. */
  move: (key: string, from: { key: string }) => boolean;
}

/** Moves the focus between rows of which only the visible ones exist. */
export function useTreeFocus(
  rows: readonly TreeRow<unknown>[],
  scrollTo: (index: number) => void,
): TreeFocus {
  const [current, setCurrent] = useState<string>();
  const elements = useRef(new Map<string, HTMLElement>());
  /** The row that gets the focus once it is rendered. */
  const awaited = useRef<string>(undefined);
  const hasCurrent = rows.some(({ key }) => key === current);
  return {
    isCurrent: (key) => (hasCurrent ? key === current : key === rows[0]?.key),
    setCurrent,
    attach: (key, element) => {
      if (element) elements.current.set(key, element);
      else elements.current.delete(key);
      if (!element || awaited.current !== key) return;
      awaited.current = undefined;
      element.focus({ preventScroll: true });
    },
    move: (key, from) => {
      const index = rows.findIndex((row) => row.key === from.key);
      const to = destination(rows, index, key);
      if (to === undefined) return false;
      const row = rows[Math.max(0, Math.min(rows.length - 1, to))];
      if (!row || row.key === from.key) return true;
      scrollTo(rows.indexOf(row));
      const element = elements.current.get(row.key);
      if (element) element.focus({ preventScroll: true });
      else awaited.current = row.key;
      return true;
    },
  };
}

function destination(rows: readonly TreeRow<unknown>[], index: number, key: string): number | undefined {
  switch (key) {
    case 'ArrowRight':
      return rows[index]?.kind === 'folder' ? index + 1 : index;
    case 'ArrowLeft': {
      const level = rows[index]?.level ?? 1;
      const parent = rows.slice(0, index).findLastIndex((row) => row.level < level);
      return parent === -1 ? index : parent;
    }
    default:
      return rowOfKey(key, index, rows.length);
  }
}
