import { IconChevronRight, IconFile, IconFolder } from '@tabler/icons-react';
import { type KeyboardEvent, type ReactNode, useMemo, useState } from 'react';
import classes from './data.module.css';
import { useTreeRows } from './useTreeRows.ts';

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
  const { frame, height, shown } = useTreeRows<TreeRow<Item>>({
    rows,
    keyOf,
    rowHeight: ROW_HEIGHT,
    overscan: rows.length <= DRAWN_WHOLE ? DRAWN_WHOLE : 12,
    isOpen: (row) => (row.kind === 'folder' ? row.isOpen : undefined),
    onToggle: (row) => row.kind === 'folder' && toggle(row.key, !row.isOpen),
    onKey: (event, row) => {
      if (row.kind === 'file') onKey?.(event, row.item);
      if (row.kind !== 'more' || !['Enter', ' '].includes(event.key)) return;
      row.onMore?.();
      event.preventDefault();
    },
  });
  return (
    <div ref={frame} className={`${classes.tree} sheet`}>
      <div role="treegrid" aria-label={label} aria-rowcount={rows.length}>
        <div role="rowgroup" className="relative" style={{ height }}>
          {shown.map(({ row, key, index, props }) => (
            <div
              key={key}
              id={row.kind === 'file' ? cells.idOf?.(row.item) : undefined}
              role="row"
              aria-setsize={row.siblings}
              aria-rowindex={index + 1}
              className={`${classes.row} virtual-row cluster gap-3`}
              {...props}
            >
              <RowContent {...cells} row={row} onToggle={toggle} />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function keyOf({ key }: { key: string }): string {
  return key;
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
