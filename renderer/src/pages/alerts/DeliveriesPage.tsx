import { SegmentedControl, Select } from '@mantine/core';
import { Link } from 'react-router';
import { DELIVERY_STATES, type DeliveryState } from '../../../../shared/alerts/delivery.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { useCall } from '../../api/useCall.ts';
import { useUrlOffset } from '../../components/data/FilteredList.tsx';
import { clearButtonProps } from '../../components/forms/clearButtonProps.ts';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner, useSession } from '../../state/session.ts';
import { useUrlFilters } from '../../state/urlFilters.ts';
import classes from './AlertsPage.module.css';
import { Deliveries } from './Deliveries.tsx';
import { OwnerOnly } from './OwnerOnly.tsx';

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
          What the <Link to="/alerts">alerts</Link> sent, newest first. A failed delivery can be sent again.
        </>
      }
    >
      <search className={classes.filters}>
        <SegmentedControl
          aria-label="State"
          value={state ?? ''}
          onChange={(next) => filters.set({ state: next })}
          data={STATES}
        />
        <Select
          aria-label="Rule"
          placeholder="Rule"
          className={classes.rule}
          data={rules.data?.items.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={alert ?? null}
          onChange={(id) => filters.set({ alert: id ?? '' })}
          searchable
          clearable
          clearButtonProps={clearButtonProps('Any rule')}
        />
      </search>
      {isOwner && (
        <Deliveries
          query={query}
          onOffset={setOffset}
          none={isFiltered ? 'No delivery matches the filters.' : 'Nothing was sent yet.'}
        />
      )}
    </Page>
  );
}
