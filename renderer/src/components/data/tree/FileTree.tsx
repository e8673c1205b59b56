// A table element cannot hold rows that are positioned one by one, so the rows are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { IconChevronRight, IconFile, IconFolder } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import classes from './FileTree.module.css';
import { type TreeRow, treeRows } from './treeRows.ts';
import { useTreeFocus } from './useTreeFocus.ts';

/** Trees up to this length are rendered in full, so that the browser can search and print them. */
const DRAWN_WHOLE = 60;
const ROW_HEIGHT = 38;

export interface FileTreeProps<Item extends { key: string; path: string }> {
  label: string;
  items: readonly Item[];
  /** The cells next to the name of a file, from left to right. */
  cells: (item: Item) => ReactNode;
  /** What is shown at the end of a folder's row. */
  folderCells?: (items: readonly Item[], path: string) => ReactNode;
  /** The name of a file; by default the last segment of its path. */
  name?: (item: Item, name: string) => ReactNode;
  /** What is shown below the row of a file, such as an error. */
  below?: (item: Item) => ReactNode;
  /** Handles a key that is pressed on a file's row, other than those that move the focus. */
  onKey?: (event: KeyboardEvent, item: Item) => void;
  /** The id of a file's row. */
  idOf?: (item: Item) => string;
}

/** Files as a tree of folders. Only the visible rows are rendered; the arrow keys move between them. */
export function FileTree<Item extends { key: string; path: string }>(props: FileTreeProps<Item>) {
  const { label, items } = props;
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
      if (row.kind === 'file') props.onKey?.(event, row.item);
      return;
    }
    event.preventDefault();
  };
  return (
    <div ref={frame} className={classes.frame}>
      <div role="treegrid" aria-label={label} aria-rowcount={rows.length}>
        <div role="rowgroup" className={classes.rows} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <div
                key={row.key}
                ref={(element) => {
                  virtual.measureElement(element);
                  focus.attach(row.key, element);
                }}
                id={row.kind === 'file' ? props.idOf?.(row.item) : undefined}
                role="row"
                aria-level={row.level}
                aria-posinset={row.position}
                aria-setsize={row.siblings}
                aria-rowindex={index + 1}
                aria-expanded={row.kind === 'folder' ? row.isOpen : undefined}
                tabIndex={focus.isCurrent(row.key) ? 0 : -1}
                data-index={index}
                className={classes.row}
                style={{ transform: `translateY(${start}px)` }}
                onFocus={() => focus.setCurrent(row.key)}
                onKeyDown={(event) => onKeyDown(event, row)}
              >
                <RowContent row={row} {...props} onToggle={toggle} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface RowContentProps<Item extends { key: string; path: string }> extends FileTreeProps<Item> {
  row: TreeRow<Item>;
  onToggle: (key: string, isOpen: boolean) => void;
}

function RowContent<Item extends { key: string; path: string }>({
  row,
  cells,
  folderCells,
  name,
  below,
  onToggle,
}: RowContentProps<Item>) {
  const indent = { paddingInlineStart: `${(row.level - 1) * 1.15}rem` };
  if (row.kind === 'folder') {
    return (
      <>
        <span role="gridcell" className={classes.name} style={indent}>
          {/* The row itself opens and closes with the keyboard. */}
          <button
            type="button"
            tabIndex={-1}
            className={classes.folder}
            aria-label={`${row.isOpen ? 'Close' : 'Open'} ${row.key}`}
            onClick={() => onToggle(row.key, !row.isOpen)}
          >
            <IconChevronRight size={15} className={classes.chevron} data-open={row.isOpen || undefined} />
            <IconFolder size={17} />
            <span className="mono">{row.name}/</span>
          </button>
        </span>
        {folderCells && (
          <span role="gridcell" className={classes.cells}>
            {folderCells(row.items, row.key)}
          </span>
        )}
      </>
    );
  }
  return (
    <>
      <span role="gridcell" className={classes.name} style={indent}>
        <span className={classes.file}>
          <IconFile size={16} aria-hidden />
          {name ? name(row.item, row.name) : <span className="mono wrap-anywhere">{row.name}</span>}
        </span>
      </span>
      <span role="gridcell" className={classes.cells}>
        {cells(row.item)}
      </span>
      {below?.(row.item)}
    </>
  );
}
