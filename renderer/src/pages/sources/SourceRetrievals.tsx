import { Drawer } from '@mantine/core';
import { IconCircleCheck, IconCircleX, IconEqual } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import { SELF } from '../../../../shared/collection/event.ts';
import { isHandedIn } from '../../../../shared/collection/handedInWords.ts';
import type { Retrieval } from '../../../../shared/collection/retrieval.ts';
import { failureHint, failureWords } from '../../../../shared/collection/retrievalWords.ts';
import { useCall } from '../../api/useCall.ts';
import { ObjectCard } from '../../components/content/ObjectCard.tsx';
import {
  connectionFacts,
  ObjectDigest,
  ObserverText,
  PageLabelNote,
} from '../../components/content/Retrieval.tsx';
import { type Column, DataTable, Pager, RowLink } from '../../components/data/DataTable.tsx';
import { Facts, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { captureTime, exactBytes, formatBytes, formatCount } from '../../format.ts';
import classes from './sources.module.css';

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

/** All recorded details of one retrieval. */
function RetrievalDetails({ retrieval }: { retrieval: Retrieval }) {
  const { url, final_url, redirects, headers, bytes, sha256, error, page_label } = retrieval;
  const facts: [string, ReactNode][] = [
    ['Outcome', <RetrievalOutcome key="outcome" retrieval={retrieval} />],
    ['What to do', error && failureHint(error)],
    ['Warning', page_label && <PageLabelNote key="label" label={page_label} withReason />],
    ['Observer', <ObserverText key="observer" observer={retrieval.observer} />],
    [
      isHandedIn(retrieval.observer) ? 'Handed in' : 'Retrieved by this node',
      <TimeText key="at" at={retrieval.observed_at} show="exact" />,
    ],
    [
      isHandedIn(retrieval.observer) ? 'Seen' : 'Captured by the observer',
      retrieval.original_observed_at && (
        <TimeText key="captured" at={retrieval.original_observed_at} show="exact" />
      ),
    ],
    ['Requested URL', url],
    ['Redirects', redirects.length > 0 && <Redirects key="redirects" redirects={redirects} />],
    [error === null ? 'Final URL' : 'Failed URL', final_url !== url && final_url],
    ['Content type', retrieval.content_type],
    ['Size', bytes !== null && exactBytes(bytes)],
    ...connectionFacts(retrieval.connection),
    ['Duration', retrieval.observer === SELF && `${formatCount(retrieval.duration_ms)} ms`],
  ];
  return (
    <div className="stack gap-4">
      <Facts layout="columns" facts={facts} />
      {sha256 && (
        <ObjectCard
          title="Object"
          sha256={sha256}
          // The body of an error is no version of the source.
          source={error === null ? retrieval.source : undefined}
          at={error === null ? captureTime(retrieval) : undefined}
          withheld={{ target: { retrieval: retrieval.id }, what: `retrieval ${retrieval.id}` }}
        />
      )}
      {headers.length > 0 && <Headers headers={headers} />}
    </div>
  );
}

function Redirects({ redirects }: Pick<Retrieval, 'redirects'>) {
  return (
    <ol>
      {redirects.map(({ url, status }) => (
        <li key={url}>
          {status} {url}
        </li>
      ))}
    </ol>
  );
}

function Headers({ headers }: Pick<Retrieval, 'headers'>) {
  const lines = headers.map(([name, value], index) => ({ key: `${index} ${name}`, name, value }));
  return (
    <section aria-label="Response headers">
      <h3 className="mb-2">Response headers</h3>
      <dl className={`${classes.headers} mono stack gap-1 small`}>
        {lines.map(({ key, name, value }) => (
          <div key={key}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The outcome of one retrieval as an icon and a text. */
function RetrievalOutcome({ retrieval }: { retrieval: Retrieval }) {
  const { status, error, page_label, observer } = retrieval;
  const Icon = error !== null ? IconCircleX : status === 304 ? IconEqual : IconCircleCheck;
  return (
    <span className="cluster inline baseline gap-4 small">
      <span
        className={`${classes.words} line inline gap-1 baseline`}
        data-failed={error !== null || undefined}
      >
        <Icon size={15} stroke={1.9} aria-hidden />
        {error !== null ? failureWords(error, status) : successText(status)}
      </span>
      {page_label && <PageLabelNote label={page_label} />}
      {observer !== SELF && <ObserverText observer={observer} />}
    </span>
  );
}

function successText(status: number | null): string {
  if (status === 304) return '304 Not Modified';
  return status === null ? 'OK' : `${status} OK`;
}
