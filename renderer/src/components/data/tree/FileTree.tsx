// A table element cannot hold rows that are positioned one by one, so the rows are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import classes from './FileTree.module.css';
import { type FileTreeCells, FileTreeRow } from './FileTreeRow.tsx';
import { type TreeRow, treeRows } from './treeRows.ts';
import { useTreeFocus } from './useTreeFocus.ts';

/** Trees up to this length are rendered in full, so that the browser can search and print them. */
const DRAWN_WHOLE = 60;
const ROW_HEIGHT = 38;

export interface FileTreeProps<Item extends { key: string; path: string }> extends FileTreeCells<Item> {
  label: string;
  items: readonly Item[];
  /** Handles a key that is pressed on a file's row, other than those that move the focus. */
  onKey?: (event: KeyboardEvent, item: Item) => void;
}

/** Files as a tree of folders. Only the visible rows are rendered; the arrow keys move between them. */
export function FileTree<Item extends { key: string; path: string }>(props: FileTreeProps<Item>) {
  const { label, items, onKey, ...cells } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => treeRows(items, closed), [items, closed]);
  // The React compiler cannot memoize what this hook returns.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: rows.length <= DRAWN_WHOLE ? DRAWN_WHOLE : 12,
  });
  const toggle = (key: string, isOpen: boolean) => {
    const next = new Set(closed);
    if (isOpen) next.delete(key);
    else next.add(key);
    setClosed(next);
  };
  const focus = useTreeFocus(rows, (index) => virtual.scrollToIndex(index));
  const onKeyDown = (event: KeyboardEvent, row: TreeRow<Item>) => {
    // Keys that are pressed inside a row belong to its buttons and fields.
    if (event.target !== event.currentTarget) return;
    if (row.kind === 'folder' && ['Enter', ' '].includes(event.key)) toggle(row.key, !row.isOpen);
    else if (row.kind === 'folder' && event.key === 'ArrowRight' && !row.isOpen) toggle(row.key, true);
    else if (row.kind === 'folder' && event.key === 'ArrowLeft' && row.isOpen) toggle(row.key, false);
    else if (!focus.move(event.key, row)) {
      if (row.kind === 'file') onKey?.(event, row.item);
      return;
    }
    event.preventDefault();
  };
  return (
    <div ref={frame} className={classes.frame}>
      <div role="treegrid" aria-label={label} aria-rowcount={rows.length}>
        <div role="rowgroup" className={classes.rows} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((place) => {
            const row = rows[place.index];
            if (row === undefined) return null;
            return (
              <FileTreeRow
                key={row.key}
                {...cells}
                row={row}
                place={place}
                focus={focus}
                measure={virtual.measureElement}
                onToggle={toggle}
                onKeyDown={(event) => onKeyDown(event, row)}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}
