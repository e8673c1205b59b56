import { Button, SegmentedControl } from '@mantine/core';
import { Link } from 'react-router';
import { DELIVERY_STATES, type Delivery, type DeliveryState } from '../../../../shared/alerts/alert.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { type Column, DataTable, Pager, timeColumn, useUrlOffset } from '../../components/data/DataTable.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { FilterSelect, useUrlFilters } from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { countOf } from '../../format.ts';
import { useIsOwner, useSession } from '../../state/session.ts';
import classes from './AlertsPage.module.css';

const LIMIT = 50;
const FILTERS = ['state', 'alert'] as const;
const RESET = ['offset'];
const STATES: { value: DeliveryState | ''; label: string }[] = [
  { value: '', label: 'All' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'sent', label: 'Sent' },
  { value: 'failed', label: 'Failed' },
];

/** What the alerts sent, wait to send or could not send, by state and rule. */
export default function DeliveriesPage() {
  const isOwner = useIsOwner();
  const isKnown = useSession((state) => state.session !== undefined);
  const filters = useUrlFilters(FILTERS, RESET);
  const [offset, setOffset] = useUrlOffset();
  const rules = useCall('listAlerts', { query: { limit: MAX_LIST_LIMIT } }, { enabled: isOwner });
  if (isKnown && !isOwner) {
    return (
      <Page title="Deliveries">
        <OwnerOnly />
      </Page>
    );
  }
  const { alert, state } = filters.values;
  const query = { limit: LIMIT, offset, alert, state: DELIVERY_STATES.find((each) => each === state) };
  const isFiltered = alert !== undefined || state !== undefined;
  return (
    <Page
      title="Deliveries"
      lead={
        <>
          Everything that <Link to="/alerts">alerts</Link> have sent, newest first. A failed delivery can be
          sent again.
        </>
      }
    >
      <search className="mb-3 cluster stretch gap-2">
        <SegmentedControl
          aria-label="State"
          value={state ?? ''}
          onChange={(next) => filters.set({ state: next })}
          data={STATES}
        />
        <FilterSelect
          label="Rule"
          className={classes.rule}
          data={rules.data?.items.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={alert}
          onChange={(id) => filters.set({ alert: id })}
          searchable
        />
      </search>
      {isOwner && (
        <Deliveries
          query={query}
          onOffset={setOffset}
          none={isFiltered ? 'No delivery matches the filters.' : 'Nothing has been sent yet.'}
        />
      )}
    </Page>
  );
}

/** What waits is sent in the background. */
const REFRESH_MS = 5_000;

export interface DeliveriesProps {
  query: { limit: number; offset?: number; state?: DeliveryState | undefined; alert?: string | undefined };
  /** What is said if there is none. */
  none: string;
  /** Turns the pages. Without it, there is one page. */
  onOffset?: (offset: number) => void;
}

/** What was sent, waits or failed, newest first. A failed delivery can be sent again. */
export function Deliveries({ query, none, onOffset }: DeliveriesProps) {
  const { data, error, refetch } = useCall(
    'listDeliveries',
    { query },
    { refetchInterval: REFRESH_MS, keepPrevious: true },
  );
  return (
    <div className="stack gap-3">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.total === 0 && <p className="muted">{none}</p>}
      {data && data.total > 0 && (
        <DataTable caption="Deliveries" columns={COLUMNS} rows={data.items} rowKey={({ id }) => id} />
      )}
      {data && data.total > 0 && onOffset && (
        <Pager
          what="deliveries"
          one="delivery"
          total={data.total}
          limit={query.limit}
          offset={query.offset ?? 0}
          onOffset={onOffset}
        />
      )}
    </div>
  );
}

const COLUMNS: Column<Delivery>[] = [
  {
    id: 'state',
    header: 'State',
    width: '6.2rem',
    cell: ({ state }) => <StateBadge kind="delivery" value={state} />,
  },
  { id: 'what', header: 'What', cell: (delivery) => <What delivery={delivery} /> },
  { id: 'to', header: 'To', width: '20rem', hideBelow: 'narrow', cell: ({ to }) => <To to={to} /> },
  timeColumn('When', ({ sent_at, created_at }) => sent_at ?? created_at, { hideBelow: 'narrow' }),
];

function What({ delivery }: { delivery: Delivery }) {
  const { title, alert, count, events, error, test, next_attempt_at } = delivery;
  const [event] = events;
  const words = title ?? countOf(count, 'alert');
  return (
    <div className="stack gap-1">
      {event !== undefined && count === 1 ? (
        <Link to={`/timeline/${event}`}>{words}</Link>
      ) : (
        <span>{words}</span>
      )}
      <span className="muted small">
        {test ? `Test of ${alert.name}` : alert.name}
        {next_attempt_at && error && (
          <>
            {' '}
            · next attempt <TimeText at={next_attempt_at} />
          </>
        )}
      </span>
      {error && <span className="bad small wrap-anywhere">{error}</span>}
      <div data-show="narrow" className="small">
        <TimeText at={delivery.sent_at ?? delivery.created_at} />, <To to={delivery.to} inLine />
      </div>
      <Retry delivery={delivery} />
    </div>
  );
}

function To({ to, inLine = false }: { to: Delivery['to']; inLine?: boolean }) {
  const words = { desktop: 'Desktop', email: 'E-mail', webhook: 'Webhook' }[to.kind];
  const place = to.kind === 'email' ? to.address : to.kind === 'webhook' ? to.url : '';
  if (inLine) return <span className="wrap-anywhere">{place || words}</span>;
  return (
    <div className="stack gap-1">
      <span>{words}</span>
      {place && <span className="muted small wrap-anywhere">{place}</span>}
    </div>
  );
}

function Retry({ delivery: { id, state, title, alert, test } }: { delivery: Delivery }) {
  const retry = useSave('retryDelivery', () => ({ params: { id } }));
  if (state !== 'failed' || test) return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      className="mt-1 self-start"
      aria-label={`Send again: ${title ?? alert.name}`}
      loading={retry.isPending}
      onClick={() => retry.mutate()}
    >
      Send again
    </Button>
  );
}

/** What a visitor sees instead of the alerts. */
export function OwnerOnly() {
  return (
    <EmptyState title="Only the owner can see the alerts">
      You are a visitor. The owner signs in with the one-time link that the node printed at start-up.
    </EmptyState>
  );
}
