import { Drawer } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { SELF } from '../../../../../shared/collection/event.ts';
import type { Retrieval } from '../../../../../shared/collection/retrieval.ts';
import { useCall } from '../../../api/useCall.ts';
import { ObjectDigest } from '../../../components/content/object/ObjectDigest.tsx';
import { type Column, DataTable, RowLink } from '../../../components/data/DataTable.tsx';
import { Pager } from '../../../components/data/Pager.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { formatBytes, formatCount } from '../../../format/size.ts';
import { RetrievalDetails } from './RetrievalDetails.tsx';
import { RetrievalOutcome } from './RetrievalOutcome.tsx';

const PAGE_ROWS = 30;
const REFRESH_MS = 15_000;

/** All retrievals of a source. A row opens with all details. */
export function SourceRetrievals({ id }: { id: string }) {
  const [offset, setOffset] = useState(0);
  const [search, setSearch] = useSearchParams();
  const { data, error, refetch } = useCall(
    'listRetrievals',
    { params: { id }, query: { limit: PAGE_ROWS, offset } },
    { keepPrevious: true, refetchInterval: REFRESH_MS },
  );
  const openId = Number(search.get('retrieval') ?? Number.NaN);
  const open = data?.items.find((retrieval) => retrieval.id === openId);
  const show = (retrieval: number | undefined) =>
    setSearch(retrieval === undefined ? {} : { retrieval: String(retrieval) }, {
      replace: true,
      preventScrollReset: true,
    });
  return (
    <Section title="Retrievals">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.total === 0 && <p className="muted">Not checked yet.</p>}
      {data && data.total > 0 && (
        <>
          <DataTable
            caption="Retrievals of this source, newest first"
            columns={columns(show, openId)}
            rows={data.items}
            rowKey={(retrieval) => retrieval.id}
            onOpen={(retrieval) => show(retrieval.id)}
            openKey={openId}
          />
          <Pager
            what="retrievals"
            total={data.total}
            limit={PAGE_ROWS}
            offset={offset}
            onOffset={setOffset}
          />
        </>
      )}
      <Drawer
        opened={open !== undefined}
        onClose={() => show(undefined)}
        position="right"
        size="lg"
        title={open ? `Retrieval ${open.id}` : ''}
      >
        {open && <RetrievalDetails retrieval={open} />}
      </Drawer>
    </Section>
  );
}

function columns(show: (id: number) => void, openId: number): readonly Column<Retrieval>[] {
  return [
    {
      id: 'at',
      header: 'Retrieved',
      width: '14rem',
      cell: ({ id, observed_at }) => (
        <RowLink to={`?retrieval=${id}`} onOpen={() => show(id)} isOpen={id === openId}>
          <TimeText at={observed_at} show="exact" />
        </RowLink>
      ),
    },
    { id: 'outcome', header: 'Outcome', cell: (retrieval) => <RetrievalOutcome retrieval={retrieval} /> },
    { id: 'type', header: 'Type', hideBelow: 'medium', cell: ({ content_type }) => content_type },
    {
      id: 'size',
      header: 'Size',
      align: 'end',
      width: '6rem',
      hideBelow: 'narrow',
      cell: ({ bytes }) =>
        bytes !== null && <span title={`${formatCount(bytes)} bytes`}>{formatBytes(bytes)}</span>,
    },
    {
      id: 'took',
      header: 'Duration',
      align: 'end',
      width: '6rem',
      hideBelow: 'medium',
      // The duration of a third party's capture is unknown.
      cell: ({ observer, duration_ms }) => observer === SELF && `${formatCount(duration_ms)} ms`,
    },
    {
      id: 'digest',
      header: 'Object',
      width: '7rem',
      hideBelow: 'narrow',
      cell: ({ sha256 }) => sha256 && <ObjectDigest sha256={sha256} label="digest of the object" />,
    },
  ];
}
