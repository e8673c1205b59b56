import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { Delivery, DeliveryState } from '../../../../shared/alerts/delivery.ts';
import { call } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { Pager } from '../../components/data/Pager.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format/size.ts';
import classes from './AlertsPage.module.css';

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
    <div className={classes.deliveries}>
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
  {
    id: 'at',
    header: 'When',
    width: '9rem',
    hideBelow: 'narrow',
    cell: ({ sent_at, created_at }) => <TimeText at={sent_at ?? created_at} />,
  },
];

function What({ delivery }: { delivery: Delivery }) {
  const { title, alert, count, events, error, test, next_attempt_at } = delivery;
  const [event] = events;
  const words = title ?? countOf(count, 'alert');
  return (
    <div className={classes.what}>
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
      {error && <span className={`${classes.error} small wrap-anywhere`}>{error}</span>}
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
    <div className={classes.what}>
      <span>{words}</span>
      {place && <span className="muted small wrap-anywhere">{place}</span>}
    </div>
  );
}

function Retry({ delivery: { id, state, title, alert, test } }: { delivery: Delivery }) {
  const queries = useQueryClient();
  const retry = useMutation({
    mutationFn: () => call('retryDelivery', { params: { id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: callKey('listDeliveries') }),
  });
  if (state !== 'failed' || test) return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      className={classes.retry}
      aria-label={`Send again: ${title ?? alert.name}`}
      loading={retry.isPending}
      onClick={() => retry.mutate()}
    >
      Send again
    </Button>
  );
}
