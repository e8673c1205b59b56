import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiProblem } from '../../api/client.ts';
import { EmptyState } from '../feedback/EmptyState.tsx';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { Page } from './Page.tsx';

interface ItemPageProps<Item> {
  query: UseQueryResult<Item>;
  /** What the page is about: `Pack`. */
  name: string;
  /** What does not match if there is no such item: `id`. */
  by?: string;
  /** The page with all items of this kind. */
  list: { to: string; label: string };
  /** Says more if there is no such item. */
  missing: ReactNode;
  children: (item: Item) => ReactNode;
}

/** The page of one item. While there is none to show, it says why. */
export function ItemPage<Item>({ query, name, by = 'id', list, missing, children }: ItemPageProps<Item>) {
  const { data, error, refetch } = query;
  if (!error) return data ? children(data) : <p className="muted">Loading…</p>;
  const isMissing = error instanceof ApiProblem && error.document.status === 404;
  return (
    <Page title={isMissing ? `${name} not found` : name}>
      {isMissing ? (
        <EmptyState
          title={`No ${name.toLowerCase()} has this ${by}`}
          action={
            <Button component={Link} to={list.to}>
              {list.label}
            </Button>
          }
        >
          {missing}
        </EmptyState>
      ) : (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}
