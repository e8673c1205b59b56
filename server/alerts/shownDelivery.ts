import type { Delivery } from '../../shared/alerts/delivery.ts';
import type { DeliveryRow } from '../store/sqlite/node/alerts/deliveries.ts';

/** Returns a delivery as it is listed. */
export function shownDelivery(row: DeliveryRow): Delivery {
  const { id, rule, rule_name, target, state, test, count, notices, created_at, attempts, sent_at, error } =
    row;
  return {
    id,
    alert: { id: rule, name: rule_name },
    to: target,
    state,
    test,
    title: row.message?.title ?? null,
    count,
    events: [...new Set(notices.flatMap(({ event }) => event ?? []))],
    created_at,
    attempts,
    next_attempt_at: state === 'waiting' ? row.due_at : null,
    sent_at,
    error,
  };
}
