import type {
  AlertKind,
  AlertMessage,
  AlertPace,
  AlertSubject,
  AlertTarget,
  AlertWhen,
  DeliveriesQuery,
  DeliveryState,
} from '../../../../shared/alerts/alert.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  hasRow,
  inserts,
  page,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
  updates,
  where,
} from '../engine/queries.ts';

/** From when on something is reported: later events, later ledger entries, and states that began later. */
export interface StartPosition {
  active_since: string;
  after_event: number;
  after_entry: number;
}

/** A rule that sends alerts. It is about what happened since it began. */
export interface AlertRule extends StartPosition {
  id: string;
  name: string;
  when: AlertWhen;
  to: AlertTarget[];
  every: AlertPace;
  paused: boolean;
  created_at: string;
  /** What the rule was about only from a later change on. */
  began_later: Partial<Record<AlertSubject, StartPosition>>;
}

/** Returns from when on a rule is about something. */
export function startPositionOf(rule: AlertRule, subject: AlertSubject): StartPosition {
  return rule.began_later[subject] ?? rule;
}

type Stored = Omit<AlertRule, 'when' | 'to' | 'every' | 'paused' | 'began_later'> & {
  rule: string;
  paused: number;
};

function fromStored({ rule, paused, ...row }: Stored): AlertRule {
  const parts = JSON.parse(rule) as Pick<AlertRule, 'when' | 'to' | 'every' | 'began_later'>;
  return { ...row, ...parts, paused: paused === 1 };
}

export function putRule(
  database: WriteDatabase,
  { when, to, every, began_later, paused, ...row }: AlertRule,
): void {
  upsertRule(database, {
    ...row,
    paused: Number(paused),
    rule: JSON.stringify({ when, to, every, began_later }),
  });
}

const upsertRule = change<[Stored]>(`
  INSERT INTO alert_rules (id, name, rule, paused, created_at, active_since, after_event, after_entry)
  VALUES ($id, $name, $rule, $paused, $created_at, $active_since, $after_event, $after_entry)
  ON CONFLICT (id) DO UPDATE SET name = $name, rule = $rule, paused = $paused, active_since = $active_since,
  after_event = $after_event, after_entry = $after_entry`);

/** Deletes a rule with what waits to be sent for it. What was sent or failed stays. */
export function deleteRule(database: WriteDatabase, id: string): void {
  deleteWaiting(database, id);
  deleteConfirmations(database, id);
  deleteRow(database, id);
}

const deleteWaiting = change<[rule: string]>(
  "DELETE FROM alert_deliveries WHERE rule = ? AND state = 'waiting'",
);
const deleteConfirmations = change<[rule: string]>('DELETE FROM alert_confirmations WHERE rule = ?');
const deleteRow = change<[id: string]>('DELETE FROM alert_rules WHERE id = ?');

/** Returns all rules, oldest first. */
export const allRules = selectAll<Stored, [], AlertRule>(
  'SELECT * FROM alert_rules ORDER BY created_at, id',
  fromStored,
);

export const ruleById = selectOne<Stored, [id: string], AlertRule>(
  'SELECT * FROM alert_rules WHERE id = ?',
  fromStored,
);

export const hasRules = hasRow('SELECT 1 FROM alert_rules LIMIT 1');

/** What a rule was found to match. The text of an event is written when it is sent. */
export interface Notice {
  kind: AlertKind;
  at: string;
  event: number | null;
  title: string | null;
  text: string | null;
  /** The path of the page that shows it. */
  path: string;
  /** The finding whose passage changed. */
  finding?: string;
  source: { id: string; url: string; name: string } | null;
}

/** Keeps a notice, once for each subject of a rule. Returns whether it was new. */
export function insertNotice(
  database: WriteDatabase,
  { rule, subject, notice, due_at }: { rule: string; subject: string; notice: Notice; due_at: string | null },
): boolean {
  return insertNew(database, rule, subject, JSON.stringify(notice), due_at) === 1;
}

const insertNew = change<[rule: string, subject: string, notice: string, dueAt: string | null]>(
  'INSERT INTO alert_notices (rule, subject, notice, due_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
);

export const hasNotice = hasRow<[rule: string, subject: string]>(
  'SELECT 1 FROM alert_notices WHERE rule = ? AND subject = ?',
);

/** A change that a rule matched, and when its source is fetched again to see whether it still does. */
export interface Confirmation {
  rule: string;
  event: number;
  due_at: string;
}

export const putConfirmation = change<[confirmation: Confirmation]>(
  'INSERT INTO alert_confirmations (rule, event, due_at) VALUES ($rule, $event, $due_at) ON CONFLICT DO NOTHING',
);

/** Returns the confirmations that are due, in the order of their events. */
export const dueConfirmations = selectAll<Confirmation, [now: string]>(
  'SELECT rule, event, due_at FROM alert_confirmations WHERE due_at <= ? ORDER BY event, rule LIMIT 500',
);

export const nextConfirmationAt = selectValue<string>(
  'SELECT due_at FROM alert_confirmations ORDER BY due_at LIMIT 1',
);

/** Deletes a confirmation. Returns whether there was one. */
export function deleteConfirmation(database: WriteDatabase, { rule, event }: Confirmation): boolean {
  return removeConfirmation(database, rule, event) > 0;
}

const removeConfirmation = change<[rule: string, event: number]>(
  'DELETE FROM alert_confirmations WHERE rule = ? AND event = ?',
);

/** Returns the rules with a digest that is due. */
export const rulesWithDueDigest = selectValues<string, [now: string]>(
  'SELECT DISTINCT rule FROM alert_notices WHERE due_at <= ? ORDER BY rule',
);

/** Takes the oldest notices out of a rule's digest. */
export function dequeueDigest(database: WriteDatabase, rule: string, now: string): Notice[] {
  const rows = dueInDigest(database, now, rule);
  for (const { id } of rows) setNotDue(database, id);
  return rows.map(({ notice }) => JSON.parse(notice) as Notice);
}

const dueInDigest = selectAll<{ id: number; notice: string }, [now: string, rule: string]>(
  'SELECT id, notice FROM alert_notices WHERE due_at <= ? AND rule = ? ORDER BY id',
);
const setNotDue = change<[id: number]>('UPDATE alert_notices SET due_at = NULL WHERE id = ?');

/** Returns when the next digest is due. */
export const nextDigestAt = selectValue<string>(
  'SELECT min(due_at) FROM alert_notices WHERE due_at IS NOT NULL',
);

/** A state of the node that holds, and since when it was found to. */
export interface Condition {
  name: string;
  since: string;
}

export const allConditions = selectAll<Condition>('SELECT name, since FROM alert_conditions ORDER BY name');

export const putCondition = change<[values: Condition]>(
  'INSERT INTO alert_conditions (name, since) VALUES ($name, $since) ON CONFLICT DO NOTHING',
);

export const deleteCondition = change<[name: string]>('DELETE FROM alert_conditions WHERE name = ?');

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

type StoredDelivery = Omit<DeliveryRow, 'target' | 'notices' | 'test' | 'message'> & {
  number: number;
  kind: AlertTarget['kind'];
  target: string;
  notices: string;
  test: number;
  message: string | null;
};

function deliveryFromStored({ number: _number, kind: _kind, ...row }: StoredDelivery): DeliveryRow {
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
  insertRow(database, {
    ...row,
    kind: target.kind,
    target: JSON.stringify(target),
    notices: JSON.stringify(notices),
    test: Number(test),
  });
}

const insertRow = inserts<Omit<StoredDelivery, 'number' | 'attempts' | 'sent_at' | 'error' | 'message'>>(
  'alert_deliveries',
  'id, rule, rule_name, kind, target, notices, count, state, test, created_at, due_at, gives_up_at',
);

export const deliveryById = selectOne<StoredDelivery, [id: string], DeliveryRow>(
  'SELECT * FROM alert_deliveries WHERE id = ?',
  deliveryFromStored,
);

/** The time at which a delivery is to be looked at. While the desktop app is closed, its notifications only expire. */
const LOOK_AT = "CASE WHEN kind = 'desktop' AND $hasDesktop = 0 THEN gives_up_at ELSE due_at END";

/** Returns the deliveries that are due, the longest due first, without those to the given targets (as JSON). */
export function dueDeliveries(
  database: ReadDatabase,
  { now, hasDesktop, busy, limit }: { now: string; hasDesktop: boolean; busy: string[]; limit: number },
): DeliveryRow[] {
  return dueAt(database, { now, hasDesktop: Number(hasDesktop), busy: JSON.stringify(busy), limit });
}

const dueAt = selectAll<
  StoredDelivery,
  [values: { now: string; hasDesktop: number; busy: string; limit: number }],
  DeliveryRow
>(
  `SELECT * FROM alert_deliveries INDEXED BY alert_deliveries_due WHERE state = 'waiting' AND due_at <= $now
   AND ${LOOK_AT} <= $now AND target NOT IN (SELECT value FROM json_each($busy))
   ORDER BY due_at, number LIMIT $limit`,
  deliveryFromStored,
);

/** Returns when the next delivery is to be looked at, without those to the given targets. */
export function nextDeliveryAt(
  database: ReadDatabase,
  { hasDesktop, busy }: { hasDesktop: boolean; busy: string[] },
): string | undefined {
  return nextAt(database, { hasDesktop: Number(hasDesktop), busy: JSON.stringify(busy) });
}

const nextAt = selectValue<string, [values: { hasDesktop: number; busy: string }]>(`
  SELECT min(${LOOK_AT}) FROM alert_deliveries INDEXED BY alert_deliveries_due WHERE state = 'waiting'
  AND target NOT IN (SELECT value FROM json_each($busy))`);

/** Keeps what a delivery says, so that each attempt says the same. */
export function setMessage(database: WriteDatabase, id: string, message: AlertMessage): void {
  updateMessage(database, { id, message: JSON.stringify(message) });
}

const updateMessage = updates<{ id: string; message: string }>('alert_deliveries', {
  key: 'id',
  columns: 'message',
});

/** Records that the text of a message is being handed over, so that it is not handed over twice after a crash. */
export const setSending = change<[id: string]>("UPDATE alert_deliveries SET state = 'sending' WHERE id = ?");

/** Records that nothing of a message was handed over after all. */
export const setUnsent = change<[id: string]>("UPDATE alert_deliveries SET state = 'waiting' WHERE id = ?");

/** Records what became of an attempt. */
export const setOutcome = change<
  [outcome: Pick<DeliveryRow, 'id' | 'state' | 'due_at' | 'sent_at' | 'error'>]
>(`
  UPDATE alert_deliveries SET state = $state, due_at = $due_at, sent_at = $sent_at, error = $error,
  attempts = attempts + 1 WHERE id = $id`);

/** Sends a failed delivery again until another time. */
export const setWaiting = change<[values: Pick<DeliveryRow, 'id' | 'due_at' | 'gives_up_at'>]>(`
  UPDATE alert_deliveries SET state = 'waiting', due_at = $due_at, gives_up_at = $gives_up_at, attempts = 0
  WHERE id = $id`);

/** Makes the waiting messages of a kind due now, because what kept them from being sent may have changed. */
export const setDueNow = change<[values: { kind: AlertTarget['kind']; now: string }]>(
  "UPDATE alert_deliveries SET due_at = $now WHERE state = 'waiting' AND kind = $kind AND due_at > $now",
);

/** Marks what was being handed over when the node ended as failed. */
export const failInterrupted = change<[error: string]>(
  "UPDATE alert_deliveries SET state = 'failed', error = ?, attempts = attempts + 1 WHERE state = 'sending'",
);

/** Whether anything waits to be sent, or was being handed over when the node ended. */
export const hasUnsent = hasRow(
  "SELECT 1 FROM alert_deliveries WHERE state IN ('waiting', 'sending') LIMIT 1",
);

/** Returns a page of deliveries, newest first. */
export function deliveriesPage(
  database: ReadDatabase,
  { state, alert, ...place }: DeliveriesQuery,
): Slice<DeliveryRow> {
  const selected = where(
    state !== undefined && ['state = ?', state],
    alert !== undefined && ['rule = ?', alert],
  );
  const from = `alert_deliveries ${selected.where}`;
  const listing = { columns: '*', from, order: 'number DESC', values: selected.values };
  const { items, total } = page<StoredDelivery>(database, listing, place);
  return { items: items.map(deliveryFromStored), total };
}

/** Deletes what ended before an instant, so that the list does not grow for ever. */
export const deleteEndedBefore = change<[instant: string]>(
  "DELETE FROM alert_deliveries WHERE state IN ('sent', 'failed') AND created_at < ?",
);
