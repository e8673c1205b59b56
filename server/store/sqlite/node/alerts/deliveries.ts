import type { AlertTarget } from '../../../../../shared/alerts/alert.ts';
import type { AlertMessage, DeliveriesQuery, DeliveryState } from '../../../../../shared/alerts/delivery.ts';
import type { Slice } from '../../../../../shared/values/list.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';
import type { Notice } from './notices.ts';

/** A message to one target. */
export interface DeliveryRow {
  id: string;
  rule: string;
  rule_name: string;
  target: AlertTarget;
  /** What it is about; at most `MAX_NOTICES`, and how many there are in all. */
  notices: Notice[];
  count: number;
  state: DeliveryState;
  test: boolean;
  created_at: string;
  due_at: string;
  /** It has failed if it was not sent by then. */
  gives_up_at: string;
  attempts: number;
  sent_at: string | null;
  error: string | null;
  /** What it says; null before the first attempt. */
  message: AlertMessage | null;
}

type Stored = Omit<DeliveryRow, 'target' | 'notices' | 'test' | 'message'> & {
  number: number;
  kind: AlertTarget['kind'];
  target: string;
  notices: string;
  test: number;
  message: string | null;
};

function fromStored({ number: _number, kind: _kind, ...row }: Stored): DeliveryRow {
  return {
    ...row,
    target: JSON.parse(row.target) as AlertTarget,
    notices: JSON.parse(row.notices) as Notice[],
    test: row.test === 1,
    message: row.message === null ? null : (JSON.parse(row.message) as AlertMessage),
  };
}

export type NewDelivery = Omit<DeliveryRow, 'attempts' | 'sent_at' | 'error' | 'message'>;

export function insertDelivery(
  database: WriteDatabase,
  { target, notices, test, ...row }: NewDelivery,
): void {
  statement(
    database,
    `INSERT INTO alert_deliveries (id, rule, rule_name, kind, target, notices, count, state, test, created_at, due_at, gives_up_at)
     VALUES (@id, @rule, @rule_name, @kind, @target, @notices, @count, @state, @test, @created_at, @due_at, @gives_up_at)`,
  ).run({
    ...row,
    kind: target.kind,
    target: JSON.stringify(target),
    notices: JSON.stringify(notices),
    test: Number(test),
  });
}

export function deliveryById(database: ReadDatabase, id: string): DeliveryRow | undefined {
  const row = statement<Stored>(database, 'SELECT * FROM alert_deliveries WHERE id = ?').get(id);
  return row && fromStored(row);
}

/** The time at which a delivery is to be looked at. While the desktop app is closed, its notifications only expire. */
const LOOK_AT = "CASE WHEN kind = 'desktop' AND @hasDesktop = 0 THEN gives_up_at ELSE due_at END";

/** Returns the deliveries that are due, the longest due first, without those to the given targets (as JSON). */
export function dueDeliveries(
  database: ReadDatabase,
  { now, hasDesktop, busy, limit }: { now: string; hasDesktop: boolean; busy: string[]; limit: number },
): DeliveryRow[] {
  return statement<Stored>(
    database,
    `SELECT * FROM alert_deliveries INDEXED BY alert_deliveries_due WHERE state = 'waiting' AND due_at <= @now
     AND ${LOOK_AT} <= @now AND target NOT IN (SELECT value FROM json_each(@busy))
     ORDER BY due_at, number LIMIT @limit`,
  )
    .all({ now, hasDesktop: Number(hasDesktop), busy: JSON.stringify(busy), limit })
    .map(fromStored);
}

/** Returns when the next delivery is to be looked at, without those to the given targets. */
export function nextDeliveryAt(
  database: ReadDatabase,
  { hasDesktop, busy }: { hasDesktop: boolean; busy: string[] },
): string | undefined {
  return (
    statement<string | null>(
      database,
      `SELECT min(${LOOK_AT}) FROM alert_deliveries INDEXED BY alert_deliveries_due WHERE state = 'waiting'
       AND target NOT IN (SELECT value FROM json_each(@busy))`,
    )
      .pluck()
      .get({ hasDesktop: Number(hasDesktop), busy: JSON.stringify(busy) }) ?? undefined
  );
}

/** Keeps what a delivery says, so that each attempt says the same. */
export function setMessage(database: WriteDatabase, id: string, message: AlertMessage): void {
  statement(database, 'UPDATE alert_deliveries SET message = ? WHERE id = ?').run(
    JSON.stringify(message),
    id,
  );
}

/** Records that the text of a message is being handed over, so that it is not handed over twice after a crash. */
export function setSending(database: WriteDatabase, id: string): void {
  statement(database, "UPDATE alert_deliveries SET state = 'sending' WHERE id = ?").run(id);
}

/** Records what became of an attempt. */
export function setOutcome(
  database: WriteDatabase,
  outcome: Pick<DeliveryRow, 'id' | 'state' | 'due_at' | 'sent_at' | 'error'>,
): void {
  statement(
    database,
    `UPDATE alert_deliveries SET state = @state, due_at = @due_at, sent_at = @sent_at, error = @error,
     attempts = attempts + 1 WHERE id = @id`,
  ).run(outcome);
}

/** Sends a failed delivery again until another time. */
export function setWaiting(
  database: WriteDatabase,
  { id, due_at, gives_up_at }: Pick<DeliveryRow, 'id' | 'due_at' | 'gives_up_at'>,
): void {
  statement(
    database,
    `UPDATE alert_deliveries SET state = 'waiting', due_at = @due_at, gives_up_at = @gives_up_at, attempts = 0
     WHERE id = @id`,
  ).run({ id, due_at, gives_up_at });
}

/** Makes the waiting messages of a kind due now, because what kept them from being sent may have changed. */
export function setDueNow(database: WriteDatabase, kind: AlertTarget['kind'], now: string): void {
  statement(
    database,
    "UPDATE alert_deliveries SET due_at = @now WHERE state = 'waiting' AND kind = @kind AND due_at > @now",
  ).run({ kind, now });
}

/** Marks what was being handed over when the node ended as failed. */
export function failInterrupted(database: WriteDatabase, error: string): void {
  statement(
    database,
    "UPDATE alert_deliveries SET state = 'failed', error = ?, attempts = attempts + 1 WHERE state = 'sending'",
  ).run(error);
}

/** Whether anything waits to be sent, or was being handed over when the node ended. */
export function hasUnsent(database: ReadDatabase): boolean {
  return (
    statement(
      database,
      "SELECT 1 FROM alert_deliveries WHERE state IN ('waiting', 'sending') LIMIT 1",
    ).get() !== undefined
  );
}

/** Returns a page of deliveries, newest first. */
export function deliveriesPage(
  database: ReadDatabase,
  { state, alert, limit, offset }: DeliveriesQuery,
): Slice<DeliveryRow> {
  const filters = [...(state ? ['state = @state'] : []), ...(alert ? ['rule = @alert'] : [])];
  const where = filters.length > 0 ? `WHERE ${filters.join(' AND ')}` : '';
  const values = { ...(state && { state }), ...(alert && { alert }) };
  return {
    items: statement<Stored>(
      database,
      `SELECT * FROM alert_deliveries ${where} ORDER BY number DESC LIMIT @limit OFFSET @offset`,
    )
      .all({ ...values, limit, offset })
      .map(fromStored),
    total:
      statement<number>(database, `SELECT count(*) FROM alert_deliveries ${where}`).pluck().get(values) ?? 0,
  };
}

/** Deletes what ended before an instant, so that the list does not grow for ever. */
export function deleteEndedBefore(database: WriteDatabase, instant: string): void {
  statement(
    database,
    "DELETE FROM alert_deliveries WHERE state IN ('sent', 'failed') AND created_at < ?",
  ).run(instant);
}
