import type { AlertPace, AlertSubject, AlertTarget, AlertWhen } from '../../../../../shared/alerts/alert.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';

/** From when on something is reported: later events, later ledger entries, and states that began later. */
export interface Beginning {
  active_since: string;
  after_event: number;
  after_entry: number;
}

/** A rule that sends alerts. It is about what happened since it began. */
export interface AlertRule extends Beginning {
  id: string;
  name: string;
  when: AlertWhen;
  to: AlertTarget[];
  every: AlertPace;
  paused: boolean;
  created_at: string;
  /** What the rule was about only from a later change on. */
  began_later: Partial<Record<AlertSubject, Beginning>>;
}

/** Returns from when on a rule is about something. */
export function beginningOf(rule: AlertRule, subject: AlertSubject): Beginning {
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
  statement(
    database,
    `INSERT INTO alert_rules (id, name, rule, paused, created_at, active_since, after_event, after_entry)
     VALUES (@id, @name, @rule, @paused, @created_at, @active_since, @after_event, @after_entry)
     ON CONFLICT (id) DO UPDATE SET name = @name, rule = @rule, paused = @paused, active_since = @active_since,
     after_event = @after_event, after_entry = @after_entry`,
  ).run({ ...row, paused: Number(paused), rule: JSON.stringify({ when, to, every, began_later }) });
}

/** Deletes a rule with what waits to be sent for it. What was sent or failed stays. */
export function deleteRule(database: WriteDatabase, id: string): void {
  statement(database, "DELETE FROM alert_deliveries WHERE rule = ? AND state = 'waiting'").run(id);
  statement(database, 'DELETE FROM alert_rules WHERE id = ?').run(id);
}

/** Returns all rules, oldest first. */
export function allRules(database: ReadDatabase): AlertRule[] {
  return statement<Stored>(database, 'SELECT * FROM alert_rules ORDER BY created_at, id')
    .all()
    .map(fromStored);
}

export function ruleById(database: ReadDatabase, id: string): AlertRule | undefined {
  const row = statement<Stored>(database, 'SELECT * FROM alert_rules WHERE id = ?').get(id);
  return row && fromStored(row);
}

export function hasRules(database: ReadDatabase): boolean {
  return statement(database, 'SELECT 1 FROM alert_rules LIMIT 1').get() !== undefined;
}
