import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Slice } from '../../../../../../shared/values/list.ts';
import { type Column, DataTable } from '../../../../components/data/DataTable.tsx';
import { Pager } from '../../../../components/data/Pager.tsx';
import { ErrorNote } from '../../../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../../../components/forms/SearchField.tsx';
import { Section } from '../../../../components/layout/Section.tsx';
import classes from '../Peers.module.css';

/** The search and the position in a list of a peer. */
export function usePeerSearch() {
  const [q, setQ] = useState('');
  const [offset, setOffset] = useState(0);
  const search = (text: string) => {
    setQ(text);
    setOffset(0);
  };
  return { q, offset, search, setOffset };
}

interface PeerListProps<Item> {
  title: string;
  /** What the list contains: `packs`. */
  what: 'packs' | 'events';
  search: ReturnType<typeof usePeerSearch>;
  searchLabel: string;
  answer: UseQueryResult<Slice<Item> & { limit: number }>;
  columns: readonly Column<Item>[];
  /** The button next to the search. */
  action: ReactNode;
}

/** A list that a peer shows, with a search. */
export function PeerList<Item extends { id: string | number }>(props: PeerListProps<Item>) {
  const { title, what, search, searchLabel, answer, columns, action } = props;
  const { items = [], total = 0, limit = 25 } = answer.data ?? {};
  return (
    <Section title={title}>
      <div className={classes.tools}>
        <SearchField label={searchLabel} value={search.q} onChange={search.search} />
        {action}
      </div>
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isLoading && <p className="muted">Loading…</p>}
      {answer.isSuccess && total === 0 && (
        <p className="muted">
          {search.q ? `No ${what.slice(0, -1)} of the peer matches.` : `The peer has no ${what}.`}
        </p>
      )}
      {items.length > 0 && (
        <>
          <DataTable
            caption={`${what === 'packs' ? 'Packs' : 'Events'} of the peer`}
            columns={columns}
            rows={items}
            rowKey={({ id }) => id}
          />
          <Pager what={what} total={total} limit={limit} offset={search.offset} onOffset={search.setOffset} />
        </>
      )}
    </Section>
  );
}
