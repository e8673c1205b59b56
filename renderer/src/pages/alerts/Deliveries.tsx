import { Button, SegmentedControl } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
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

const LIMIT = 25;
/** What waits is sent in the background. */
const REFRESH_MS = 5_000;

const FILTERS: { value: DeliveryState | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'sent', label: 'Sent' },
  { value: 'failed', label: 'Failed' },
];

/** What was sent, waits or failed, newest first. A failed delivery can be sent again. */
export function Deliveries() {
  const [filter, setFilter] = useState<DeliveryState | 'all'>('all');
  const [offset, setOffset] = useState(0);
  const query = { limit: LIMIT, offset, ...(filter !== 'all' && { state: filter }) };
  const { data, error, refetch } = useCall('listDeliveries', { query }, { refetchInterval: REFRESH_MS });
  const choose = (next: string) => {
    setFilter(next as DeliveryState | 'all');
    setOffset(0);
  };
  return (
    <div className={classes.deliveries}>
      <SegmentedControl
        aria-label="Show deliveries"
        size="xs"
        value={filter}
        onChange={choose}
        data={FILTERS}
      />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data && data.total === 0 && (
        <p className="muted">{filter === 'all' ? 'Nothing was sent yet.' : 'There is none in this state.'}</p>
      )}
      {data && data.total > 0 && (
        <>
          <DataTable caption="Deliveries" columns={COLUMNS} rows={data.items} rowKey={({ id }) => id} />
          <Pager
            what="deliveries"
            one="delivery"
            total={data.total}
            limit={LIMIT}
            offset={offset}
            onOffset={setOffset}
          />
        </>
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
  { id: 'to', header: 'To', hideBelow: 'medium', cell: ({ to }) => <To to={to} /> },
  {
    id: 'at',
    header: 'When',
    width: '9rem',
    hideBelow: 'narrow',
    cell: ({ sent_at, created_at }) => <TimeText at={sent_at ?? created_at} />,
  },
  { id: 'retry', header: 'Actions', width: '7rem', cell: (delivery) => <Retry delivery={delivery} /> },
];

function What({
  delivery: { title, alert, count, events, error, test, next_attempt_at },
}: {
  delivery: Delivery;
}) {
  const [event] = events;
  const words = title ?? (count === 1 ? alert.name : countOf(count, 'alert'));
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
    </div>
  );
}

function To({ to }: { to: Delivery['to'] }) {
  const words = { desktop: 'Desktop', email: 'E-mail', webhook: 'Webhook' }[to.kind];
  const place = to.kind === 'email' ? to.address : to.kind === 'webhook' ? to.url : '';
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
      aria-label={`Send again: ${title ?? alert.name}`}
      loading={retry.isPending}
      onClick={() => retry.mutate()}
    >
      Send again
    </Button>
  );
}
