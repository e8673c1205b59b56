import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import type { Event } from '../../../../shared/collection/event.ts';
import { useCall } from '../../api/useCall.ts';
import { ObserverText, PageLabelNote } from '../../components/content/Retrieval.tsx';
import { type Column, DataTable, Pager, RowLink } from '../../components/data/DataTable.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { captureTime, viewPath } from '../../format.ts';
import { ChangeSummary, NoiseMark } from '../timeline/EventMarks.tsx';
import { ExportMenu } from '../timeline/TimelinePage.tsx';
import classes from './sources.module.css';

const PAGE_ROWS = 25;
const REFRESH_MS = 15_000;

/** The events of a source, newest first, each with links to its object. */
export function SourceEvents({ id, url }: { id: string; url: string }) {
  const [offset, setOffset] = useState(0);
  const navigate = useNavigate();
  const { data, error, refetch } = useCall(
    'listEvents',
    { query: { source: id, limit: PAGE_ROWS, offset, summaries: true } },
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
          <Pager what="events" total={data.total} limit={PAGE_ROWS} offset={offset} onOffset={setOffset} />
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
      <span className={classes.event}>
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
  {
    id: 'retrieved',
    header: 'Retrieved',
    width: '9rem',
    hideBelow: 'narrow',
    cell: ({ observed_at: at }) => <TimeText at={at} />,
  },
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
