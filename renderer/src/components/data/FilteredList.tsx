import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useUrlFilters } from '../../state/urlFilters.ts';
import { EmptyState } from '../feedback/EmptyState.tsx';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { Pager, type PagerProps } from './Pager.tsx';

const VIEW = ['offset'] as const;

/** Returns the offset in the page's URL, and a function that changes it. */
export function useUrlOffset(): [offset: number, turn: (offset: number) => void] {
  const { values, set } = useUrlFilters(VIEW);
  return [Number(values.offset) || 0, (next) => set({ offset: next ? String(next) : '' })];
}

export interface FilteredListProps<Item> extends Pick<PagerProps, 'what' | 'one' | 'limit'> {
  list: { data?: { items: Item[]; total: number } | undefined; error: Error | null; refetch: () => unknown };
  filters: { isAny: boolean; clear: () => void };
  /** What is said if the filters exclude all items: a title, and what an item must have. */
  noMatch: readonly [title: string, rule: string];
  /** What is shown if there are no items at all. */
  empty: ReactNode;
  children: (items: Item[]) => ReactNode;
}

/** A page of a list whose filters and offset are in the URL: its items and pager, or why there are none. */
export function FilteredList<Item>({
  list,
  filters,
  noMatch: [title, rule],
  empty,
  children,
  ...pager
}: FilteredListProps<Item>) {
  const [offset, turn] = useUrlOffset();
  const { data: page, error, refetch } = list;
  return (
    <>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {page?.total === 0 && !filters.isAny && empty}
      {page?.total === 0 && filters.isAny && (
        <EmptyState
          title={title}
          action={
            <Button variant="default" onClick={filters.clear}>
              Clear filters
            </Button>
          }
        >
          {rule}
        </EmptyState>
      )}
      {page && page.total > 0 && (
        <>
          {children(page.items)}
          <Pager {...pager} total={page.total} offset={offset} onOffset={turn} />
        </>
      )}
    </>
  );
}
