import { IconChevronRight, IconFile, IconFolder } from '@tabler/icons-react';
import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import classes from './data.module.css';

// A table element cannot hold rows that are positioned one by one, so the rows are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */

/** Trees up to this length are rendered in full, so that the browser can search and print them. */
const DRAWN_WHOLE = 60;
const ROW_HEIGHT = 38;

interface FileTreeProps<Item extends { key: string; path: string }> extends FileTreeCells<Item> {
  label: string;
  items: readonly Item[];
  /** Handles a key that is pressed on a file's row, other than those that move the focus. */
  onKey?: (event: KeyboardEvent, item: Item) => void;
}

/** Files as a tree of folders. Only the visible rows are rendered; the arrow keys move between them. */
export function FileTree<Item extends { key: string; path: string }>(props: FileTreeProps<Item>) {
  const { items, ...rest } = props;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => treeRows(items, closed), [items, closed]);
  const toggle = (key: string, isOpen: boolean) => {
    const next = new Set(closed);
    if (isOpen) next.delete(key);
    else next.add(key);
    setClosed(next);
  };
  return <TreeGrid {...rest} rows={rows} onToggle={toggle} />;
}

interface TreeGridProps<Item> extends FileTreeCells<Item> {
  label: string;
  rows: readonly TreeRow<Item>[];
  onToggle: (key: string, isOpen: boolean) => void;
  onKey?: (event: KeyboardEvent, item: Item) => void;
}

/** The rows of a tree. Only the visible ones are rendered; the arrow keys move between them. */
export function TreeGrid<Item>({ label, rows, onToggle: toggle, onKey, ...cells }: TreeGridProps<Item>) {
  const frame = useRef<HTMLDivElement>(null);
  // The React compiler cannot memoize what this hook returns.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: rows.length <= DRAWN_WHOLE ? DRAWN_WHOLE : 12,
  });
  const focus = useTreeFocus(rows, (index) => virtual.scrollToIndex(index));
  const onKeyDown = (event: KeyboardEvent, row: TreeRow<Item>) => {
    // Keys that are pressed inside a row belong to its buttons and fields.
    if (event.target !== event.currentTarget) return;
    if (row.kind === 'folder' && ['Enter', ' '].includes(event.key)) toggle(row.key, !row.isOpen);
    else if (row.kind === 'folder' && event.key === 'ArrowRight' && !row.isOpen) toggle(row.key, true);
    else if (row.kind === 'folder' && event.key === 'ArrowLeft' && row.isOpen) toggle(row.key, false);
    else if (row.kind === 'more' && ['Enter', ' '].includes(event.key)) row.onMore?.();
    else if (!focus.move(event.key, row)) {
      if (row.kind === 'file') onKey?.(event, row.item);
      return;
    }
    event.preventDefault();
  };
  return (
    <div ref={frame} className={`${classes.tree} sheet`}>
      <div role="treegrid" aria-label={label} aria-rowcount={rows.length}>
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
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

/** What the rows of a tree show. */
interface FileTreeCells<Item> {
  /** The cells next to the name of a file, from left to right. */
  cells: (item: Item) => ReactNode;
  /** What is shown at the end of a folder's row. */
  folderCells?: (items: readonly Item[], path: string) => ReactNode;
  /** The name of a file; by default the last segment of its path. */
  name?: (item: Item, name: string) => ReactNode;
  /** What is shown below the row of a file, such as an error. */
  below?: (item: Item) => ReactNode;
  /** The id of a file's row. */
  idOf?: (item: Item) => string;
}

interface RowContentProps<Item> extends FileTreeCells<Item> {
  row: TreeRow<Item>;
  onToggle: (key: string, isOpen: boolean) => void;
}

interface FileTreeRowProps<Item> extends RowContentProps<Item> {
  /** The place of the row. */
  place: VirtualItem;
  focus: TreeFocus;
  measure: (element: HTMLElement | null) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** A file or a folder of the tree. */
function FileTreeRow<Item>(props: FileTreeRowProps<Item>) {
  const { row, place, focus, measure, idOf, onKeyDown } = props;
  return (
    <div
      ref={(element) => {
        measure(element);
        focus.attach(row.key, element);
      }}
      id={row.kind === 'file' ? idOf?.(row.item) : undefined}
      role="row"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-rowindex={place.index + 1}
      aria-expanded={row.kind === 'folder' ? row.isOpen : undefined}
      tabIndex={focus.isCurrent(row.key) ? 0 : -1}
      data-index={place.index}
      className={`${classes.row} cluster gap-3`}
      style={{ transform: `translateY(${place.start}px)` }}
      onFocus={() => focus.setCurrent(row.key)}
      onKeyDown={onKeyDown}
    >
      <RowContent {...props} />
    </div>
  );
}

function RowContent<Item>({ row, cells, folderCells, name, below, onToggle }: RowContentProps<Item>) {
  const indent = { paddingInlineStart: `${(row.level - 1) * 1.15}rem` };
  if (row.kind === 'folder') {
    return (
      <>
        <span role="gridcell" className="grow" style={indent}>
          {/* The row itself opens and closes with the keyboard. */}
          <button
            type="button"
            tabIndex={-1}
            className={`${classes.folder} line gap-2 wrap-anywhere`}
            aria-label={`${row.isOpen ? 'Close' : 'Open'} ${row.key}`}
            onClick={() => onToggle(row.key, !row.isOpen)}
          >
            <IconChevronRight size={15} className={classes.chevron} data-open={row.isOpen || undefined} />
            <IconFolder size={17} />
            <span className="mono">{row.name}/</span>
          </button>
        </span>
        {folderCells && (
          <span role="gridcell" className="rigid push line gap-3">
            {folderCells(row.items, row.key)}
          </span>
        )}
      </>
    );
  }
  if (row.kind === 'more') {
    return (
      <span role="gridcell" className="grow" style={indent}>
        {row.onMore ? (
          <button type="button" tabIndex={-1} className={`${classes.more} bare accent`} onClick={row.onMore}>
            {row.name}
          </button>
        ) : (
          <span className={`${classes.more} muted small`}>{row.name}</span>
        )}
      </span>
    );
  }
  return (
    <>
      <span role="gridcell" className="grow" style={indent}>
        <span className={`${classes.file} line gap-2`}>
          <IconFile size={16} aria-hidden />
          {name ? name(row.item, row.name) : <span className="mono wrap-anywhere">{row.name}</span>}
        </span>
      </span>
      <span role="gridcell" className="rigid push line gap-3">
        {cells(row.item)}
      </span>
      {below?.(row.item)}
    </>
  );
}

/** A row of a file tree. */
export type TreeRow<Item> = {
  /** Unique in the tree; a folder's key ends with a slash. */
  key: string;
  /** The last segment of the path; for folders that contain only one folder, all of them joined. */
  name: string;
  /** Counted from 1. */
  level: number;
  /** The position among its siblings, counted from 1, and their number. */
  position: number;
  siblings: number;
} & (
  | { kind: 'folder'; isOpen: boolean; items: Item[] }
  | { kind: 'file'; item: Item }
  /** In place of rows that are not there yet. Without `onMore` they are on their way. */
  | { kind: 'more'; onMore: (() => void) | undefined }
);

interface Folder<Item> {
  folders: Map<string, Folder<Item>>;
  files: { name: string; item: Item }[];
}

/**
 * Returns the visible rows of the tree that paths form, folders before files, each in the order of their names.
 *
 * @param closed the keys of the folders whose content is hidden
 */
export function treeRows<Item extends { key: string; path: string }>(
  items: readonly Item[],
  closed: ReadonlySet<string>,
): TreeRow<Item>[] {
  const root: Folder<Item> = { folders: new Map(), files: [] };
  for (const item of items) {
    const segments = item.path.split('/');
    let folder = root;
    for (const segment of segments.slice(0, -1)) {
      let next = folder.folders.get(segment);
      if (!next) folder.folders.set(segment, (next = { folders: new Map(), files: [] }));
      folder = next;
    }
    folder.files.push({ name: segments.at(-1) ?? item.path, item });
  }
  const rows: TreeRow<Item>[] = [];
  addRows(rows, root, { path: '', level: 1, closed });
  return rows;
}

interface Place {
  path: string;
  level: number;
  closed: ReadonlySet<string>;
}

const ORDER = new Intl.Collator('en', { numeric: true });

function addRows<Item extends { key: string; path: string }>(
  rows: TreeRow<Item>[],
  { folders, files }: Folder<Item>,
  { path, level, closed }: Place,
): void {
  const siblings = folders.size + files.length;
  let position = 0;
  for (const [first, child] of [...folders].sort(([left], [right]) => ORDER.compare(left, right))) {
    const { name, folder } = joined(first, child);
    position += 1;
    const key = `${path}${name}/`;
    const isOpen = !closed.has(key);
    rows.push({ kind: 'folder', key, name, level, position, siblings, isOpen, items: itemsIn(folder) });
    if (isOpen) addRows(rows, folder, { path: key, level: level + 1, closed });
  }
  for (const { name, item } of files.toSorted((left, right) => ORDER.compare(left.name, right.name))) {
    position += 1;
    rows.push({ kind: 'file', key: item.key, name, level, position, siblings, item });
  }
}

/** Joins a folder with the only folder in it, as `2026/11`, so that an empty level takes no row. */
function joined<Item>(name: string, folder: Folder<Item>): { name: string; folder: Folder<Item> } {
  const [only] = folder.folders;
  if (!only || folder.folders.size > 1 || folder.files.length > 0) return { name, folder };
  return joined(`${name}/${only[0]}`, only[1]);
}

function itemsIn<Item>({ folders, files }: Folder<Item>): Item[] {
  return [...files.map(({ item }) => item), ...[...folders.values()].flatMap(itemsIn)];
}

interface TreeFocus {
  /** Whether Tab stops at this row. */
  isCurrent: (key: string) => boolean;
  setCurrent: (key: string) => void;
  /** Registers the element of a rendered row; null when it is removed. */
  attach: (key: string, element: HTMLElement | null) => void;
  /** Moves the focus from a row by a key of the treegrid pattern. Returns whether the key is one. */
  move: (key: string, from: { key: string }) => boolean;
}

/** Moves the focus between rows of which only the visible ones exist. */
function useTreeFocus(rows: readonly TreeRow<unknown>[], scrollTo: (index: number) => void): TreeFocus {
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

/** The rows that Page Up and Page Down move by. */
const PAGE_ROWS = 10;

/** Returns the row to which a key of a list moves the focus (ARIA tree pattern), or undefined for any other key. */
export function rowOfKey(key: string, index: number, rows: number): number | undefined {
  switch (key) {
    case 'ArrowDown':
      return index + 1;
    case 'ArrowUp':
      return index - 1;
    case 'Home':
      return 0;
    case 'End':
      return rows - 1;
    case 'PageDown':
      return index + PAGE_ROWS;
    case 'PageUp':
      return index - PAGE_ROWS;
    default:
      return undefined;
  }
}
