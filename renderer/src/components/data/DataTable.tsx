import { Button } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { type KeyboardEvent, type ReactNode, startTransition, useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { formatCount } from '../../format.ts';
import { EmptyState, ErrorNote } from '../feedback/ErrorNote.tsx';
import classes from './data.module.css';
import { TimeText } from './Values.tsx';

/** What a tall window shows. The other rows follow after the first paint. */
const FIRST_ROWS = 30;

export interface Column<Row> {
  id: string;
  header: string;
  /** Whether the header is for screen readers only, because the cells are buttons that say what they do. */
  isHeaderHidden?: boolean;
  /** Replaces the header text, for example with a checkbox that selects every row. */
  headerControl?: ReactNode;
  cell: (row: Row) => ReactNode;
  /** A CSS width. Columns without one share the remaining space. */
  width?: string;
  align?: 'start' | 'end';
  /** The sort key. If set, the header is a button. */
  sortKey?: string;
  /** Hides the column if the table is narrower than this. */
  hideBelow?: 'narrow' | 'medium' | 'wide';
}

/** A column of relative times. Null is shown as "never". */
export function timeColumn<Row>(
  header: string,
  timeOf: (row: Row) => string | null,
  layout?: Pick<Column<Row>, 'width' | 'align' | 'sortKey' | 'hideBelow'>,
): Column<Row> {
  return {
    id: header,
    header,
    width: '9rem',
    cell: (row) => {
      const at = timeOf(row);
      return at === null ? <span className="muted">never</span> : <TimeText at={at} />;
    },
    ...layout,
  };
}

interface DataTableProps<Row> {
  /** The table's accessible name. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string | number;
  /** Called when a row is clicked outside its links and buttons. */
  onOpen?: (row: Row) => void;
  /** The key of the open row. */
  openKey?: string | number;
  /** `name` ascending, `-name` descending. */
  sort?: string;
  onSort?: (sort: string) => void;
}

/**
 * A dense table. One cell of each row contains the row's `RowLink`. The arrow keys move between these links,
 * Enter follows one, and a click anywhere in a row opens it.
 */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  onOpen,
  openKey,
  sort,
  onSort,
}: DataTableProps<Row>) {
  const [isComplete, setIsComplete] = useState(rows.length <= FIRST_ROWS);
  useEffect(() => {
    // Not in the frame that shows the first rows.
    const frame = requestAnimationFrame(() => startTransition(() => setIsComplete(true)));
    return () => cancelAnimationFrame(frame);
  }, []);
  const shown = isComplete ? rows : rows.slice(0, FIRST_ROWS);
  return (
    <div className={`${classes.frame} sheet`}>
      <table className={`${classes.table} full compact`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => {
            const key = rowKey(row);
            return (
              <tr
                key={key}
                data-open={key === openKey || undefined}
                data-clickable={onOpen ? true : undefined}
                onClick={(event) => {
                  if (!isControl(event.target)) onOpen?.(row);
                }}
              >
                {columns.map((column) => (
                  <td key={column.id} data-align={column.align} data-hide={column.hideBelow}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function HeaderCell<Row>({
  column,
  sort = '',
  onSort,
}: { column: Column<Row> } & Pick<DataTableProps<Row>, 'sort' | 'onSort'>) {
  const { id, header, isHeaderHidden, headerControl, sortKey, width, align, hideBelow } = column;
  const descending = sort.startsWith('-');
  const isSorted = sortKey !== undefined && sort.replace(/^-/, '') === sortKey;
  const Arrow = descending ? IconArrowDown : IconArrowUp;
  return (
    <th
      key={id}
      scope="col"
      style={width ? { width } : undefined}
      data-align={align}
      data-hide={hideBelow}
      aria-sort={isSorted ? (descending ? 'descending' : 'ascending') : undefined}
    >
      {sortKey && onSort ? (
        <button
          type="button"
          className={`${classes.sort} bare line inline gap-1`}
          onClick={() => onSort(isSorted && descending ? sortKey : `-${sortKey}`)}
        >
          {header}
          {isSorted && <Arrow size={13} aria-hidden />}
        </button>
      ) : (
        (headerControl ?? <span className={isHeaderHidden ? 'visually-hidden' : undefined}>{header}</span>)
      )}
    </th>
  );
}

interface RowLinkProps {
  /** The row's own URL. */
  to: string;
  /** Replaces navigation on a plain click. A click with a modifier key keeps the browser's behaviour. */
  onOpen?: () => void;
  isOpen?: boolean;
  children: ReactNode;
}

/** The link of a table row. */
export function RowLink({ to, onOpen, isOpen, children }: RowLinkProps) {
  return (
    <Link
      to={to}
      data-row-link
      aria-current={isOpen ? 'true' : undefined}
      onKeyDown={moveBetweenRows}
      onClick={(event) => {
        if (!onOpen || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        onOpen();
      }}
    >
      {children}
    </Link>
  );
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, select, label') !== null;
}

const STEPS: Partial<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const table = event.currentTarget.closest('table');
  const links = [...(table?.querySelectorAll<HTMLElement>('[data-row-link]') ?? [])];
  const at = links.indexOf(event.currentTarget);
  if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  const step = STEPS[event.key];
  const next =
    event.key === 'Home'
      ? links[0]
      : event.key === 'End'
        ? links.at(-1)
        : step && links[Math.min(Math.max(at + step, 0), links.length - 1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

interface PagerProps {
  /** The plural of what is listed: `packs`. */
  what: string;
  /** The singular, if it is not `what` without its last letter: `entry`. */
  one?: string;
  total: number;
  limit: number;
  offset: number;
  onOffset: (offset: number) => void;
}

/** Shows the current range and the total, with links to the previous and next page. */
export function Pager({ what, one = what.slice(0, -1), total, limit, offset, onOffset }: PagerProps) {
  const last = Math.min(offset + limit, total);
  const range =
    total <= limit && offset === 0 ? '' : `${formatCount(offset + 1)} to ${formatCount(last)} of `;
  return (
    <nav className={`${classes.pager} line between gap-4 small`} aria-label={`Pagination of ${what}`}>
      <span className="muted numeric" aria-live="polite">
        {range}
        {formatCount(total)} {total === 1 ? one : what}
      </span>
      {total > limit && (
        <span className="line stretch gap-2">
          <Button
            variant="default"
            size="xs"
            disabled={offset === 0}
            onClick={() => onOffset(Math.max(0, offset - limit))}
          >
            Previous
          </Button>
          <Button
            variant="default"
            size="xs"
            disabled={last >= total}
            onClick={() => onOffset(offset + limit)}
          >
            Next
          </Button>
        </span>
      )}
    </nav>
  );
}

/** Returns the offset in the page's URL, and a function that changes it. `replace`: without an entry in the history. */
export function useUrlOffset(replace = true): [offset: number, turn: (offset: number) => void] {
  const [search, setSearch] = useSearchParams();
  const text = search.get('offset') ?? '';
  const turn = (next: number) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (next > 0) after.set('offset', String(next));
        else after.delete('offset');
        return after;
      },
      { replace },
    );
  return [/^\d{1,9}$/.test(text) ? Number(text) : 0, turn];
}

interface FilteredListProps<Item> extends Pick<PagerProps, 'what' | 'one' | 'limit'> {
  list: {
    data?: { items: readonly Item[]; total: number } | undefined;
    error: Error | null;
    refetch: () => unknown;
  };
  filters: { isAny: boolean; clear: () => void };
  /** What is said if the filters exclude all items: a title, and what an item must have. */
  noMatch: readonly [title: string, rule: string];
  /** What is shown if there are no items at all. */
  empty: ReactNode;
  children: (items: readonly Item[]) => ReactNode;
  /** What the items and the pager are in. */
  frame?: (shown: ReactNode) => ReactNode;
  /** Turns the pages, if a turn is not to replace the entry of the history. */
  onOffset?: (offset: number) => void;
}

/** A page of a list whose filters and offset are in the URL: its items and pager, or why there are none. */
export function FilteredList<Item>(props: FilteredListProps<Item>) {
  const { list, filters, noMatch, empty, children, frame = (shown) => shown, ...pager } = props;
  const [offset, turn] = useUrlOffset();
  const { data: page, error, refetch } = list;
  const [title, rule] = noMatch;
  const clear = (
    <Button variant="default" onClick={filters.clear}>
      Clear filters
    </Button>
  );
  const shown = page && page.total > 0 && (
    <>
      {children(page.items)}
      <Pager onOffset={turn} {...pager} total={page.total} offset={offset} />
    </>
  );
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {page?.total === 0 && !filters.isAny && empty}
      {page?.total === 0 && filters.isAny && (
        <EmptyState title={title} action={clear}>
          {rule}
        </EmptyState>
      )}
      {shown && frame(shown)}
    </>
  );
}
