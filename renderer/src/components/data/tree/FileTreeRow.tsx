// A table element cannot hold rows that are positioned one by one, so the rows are elements with roles.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */
import { IconChevronRight, IconFile, IconFolder } from '@tabler/icons-react';
import type { VirtualItem } from '@tanstack/react-virtual';
import type { KeyboardEvent, ReactNode } from 'react';
import classes from './FileTree.module.css';
import type { TreeRow } from './treeRows.ts';
import type { TreeFocus } from './useTreeFocus.ts';

/** What the rows of a tree show. */
export interface FileTreeCells<Item> {
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

export interface FileTreeRowProps<Item> extends RowContentProps<Item> {
  /** The place of the row. */
  place: VirtualItem;
  focus: TreeFocus;
  measure: (element: HTMLElement | null) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** A file or a folder of the tree. */
export function FileTreeRow<Item>(props: FileTreeRowProps<Item>) {
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
      className={classes.row}
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
