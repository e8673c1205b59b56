import { Drawer } from '@mantine/core';
import { IconCircleCheck, IconCircleX, IconEqual } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import { type Event } from '../../../../shared/collection/event.ts';
import { isHandedIn, SELF } from '../../../../shared/collection/observers.ts';
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
import { type Column, DataTable, Pager, RowLink, timeColumn } from '../../components/data/DataTable.tsx';
import { Facts, StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { captureTime, exactBytes, formatBytes, formatCount, viewPath } from '../../format.ts';
import { ChangeSummary, NoiseMark } from '../timeline/EventMarks.tsx';
import { ExportMenu } from '../timeline/TimelinePage.tsx';
import classes from './sources.module.css';

const EVENT_ROWS = 25;

/** The events of a source, newest first, each with links to its object. */
export function SourceEvents({ id, url }: { id: string; url: string }) {
  const [offset, setOffset] = useState(0);
  const navigate = useNavigate();
  const { data, error, refetch } = useCall(
    'listEvents',
    { query: { source: id, limit: EVENT_ROWS, offset, summaries: true } },
    { keepPrevious: true, refetchInterval: REFRESH_MS },
  );
  return (
    <Section
      title="Versions and events"
      actions={
        <span className="cluster gap-4">
          <Link to={`/timeline?source=${id}`}>View on timeline</Link>
          <ExportMenu query={{ source: id }} sourceUrl={url} />
        </span>
      }
    >
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.total === 0 && (
        <p className="muted">No events yet. The first successful check records the first version.</p>
      )}
      {data && data.total > 0 && (
        <>
          <DataTable
            caption="Events of this source, newest first"
            columns={columnsFor(data.items)}
            rows={data.items}
            rowKey={(event) => event.id}
            onOpen={(event) => void navigate(`/timeline/${event.id}`)}
          />
          <Pager what="events" total={data.total} limit={EVENT_ROWS} offset={offset} onOffset={setOffset} />
        </>
      )}
    </Section>
  );
}

/** The capture time is shown only if there are captures; otherwise the column would be empty. */
function columnsFor(events: readonly Event[]): readonly Column<Event>[] {
  const hasCaptures = events.some(({ original_observed_at }) => original_observed_at !== null);
  return hasCaptures ? COLUMNS : COLUMNS.filter(({ id }) => id !== 'captured');
}

const COLUMNS: readonly Column<Event>[] = [
  {
    id: 'event',
    header: 'Event',
    width: '10rem',
    cell: (event) => (
      <span className={`${classes.state} small`}>
        <RowLink to={`/timeline/${event.id}`}>
          <StateBadge kind="event" value={event.event_type} />
        </RowLink>
        {event.page_label && <PageLabelNote label={event.page_label} />}
        <NoiseMark event={event} />
        {event.reverts_to !== null && <span className="small muted">returned to an older version</span>}
        <span className="small wrap-anywhere" data-show="narrow">
          <ChangeSummary event={event} />
        </span>
        <span className="small muted" data-show="narrow">
          <TimeText at={event.observed_at} />
        </span>
      </span>
    ),
  },
  timeColumn('Retrieved', ({ observed_at: at }) => at, { hideBelow: 'narrow' }),
  {
    id: 'captured',
    header: 'Captured by observer',
    width: '9rem',
    hideBelow: 'medium',
    cell: ({ original_observed_at: at }) => at && <TimeText at={at} />,
  },
  {
    id: 'observer',
    header: 'Observer',
    width: '12rem',
    hideBelow: 'medium',
    cell: ({ observer }) => (
      <span className="small">
        <ObserverText observer={observer} />
      </span>
    ),
  },
  {
    id: 'summary',
    header: 'What changed',
    hideBelow: 'narrow',
    cell: (event) => (
      <span className="small wrap-anywhere">
        <ChangeSummary event={event} />
      </span>
    ),
  },
  {
    id: 'object',
    header: 'Object',
    width: '6rem',
    cell: (event) => event.sha256 && <ViewLink event={event} sha256={event.sha256} />,
  },
];

/** A link to the view of a version. */
function ViewLink({ event, sha256 }: { event: Event; sha256: string }) {
  const at = captureTime(event);
  return (
    <Link
      to={viewPath({ sha256, source: event.source.id, at })}
      aria-label={`View object ${sha256.slice(0, 8)}`}
    >
      View
    </Link>
  );
}

const RETRIEVAL_ROWS = 30;
const REFRESH_MS = 15_000;

/** All retrievals of a source. A row opens with all details. */
export function SourceRetrievals({ id }: { id: string }) {
  const [offset, setOffset] = useState(0);
  const [search, setSearch] = useSearchParams();
  const { data, error, refetch } = useCall(
    'listRetrievals',
    { params: { id }, query: { limit: RETRIEVAL_ROWS, offset } },
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
            limit={RETRIEVAL_ROWS}
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
  const captured = retrieval.original_observed_at;
  const wasHandedIn = isHandedIn(retrieval.observer);
  const facts = {
    Outcome: <RetrievalOutcome retrieval={retrieval} />,
    'What to do': error && failureHint(error),
    Warning: page_label && <PageLabelNote label={page_label} withReason />,
    Observer: <ObserverText observer={retrieval.observer} />,
    [wasHandedIn ? 'Handed in' : 'Retrieved by this node']: (
      <TimeText at={retrieval.observed_at} show="exact" />
    ),
    [wasHandedIn ? 'Seen' : 'Captured by the observer']: captured && <TimeText at={captured} show="exact" />,
    'Requested URL': url,
    Redirects: redirects.length > 0 && <Redirects redirects={redirects} />,
    [error === null ? 'Final URL' : 'Failed URL']: final_url !== url && final_url,
    'Content type': retrieval.content_type,
    Size: bytes !== null && exactBytes(bytes),
    ...connectionFacts(retrieval.connection),
    Duration: retrieval.observer === SELF && `${formatCount(retrieval.duration_ms)} ms`,
  };
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
