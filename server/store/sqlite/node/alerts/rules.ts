import type { AlertPace, AlertTarget, AlertWhen } from '../../../../../shared/alerts/alert.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';

/** A rule that sends alerts. */
export interface AlertRule {
  id: string;
  name: string;
  when: AlertWhen;
  to: AlertTarget[];
  every: AlertPace;
  paused: boolean;
  created_at: string;
  /** It is about what happened since: later events, later ledger entries, and states that began later. */
  active_since: string;
  after_event: number;
  after_entry: number;
}

type Stored = Omit<AlertRule, 'when' | 'to' | 'every' | 'paused'> & { rule: string; paused: number };

function fromStored({ rule, paused, ...row }: Stored): AlertRule {
  const parts = JSON.parse(rule) as Pick<AlertRule, 'when' | 'to' | 'every'>;
  return { ...row, ...parts, paused: paused === 1 };
}

export function putRule(database: WriteDatabase, { when, to, every, paused, ...row }: AlertRule): void {
  statement(
    database,
    `INSERT INTO alert_rules (id, name, rule, paused, created_at, active_since, after_event, after_entry)
     VALUES (@id, @name, @rule, @paused, @created_at, @active_since, @after_event, @after_entry)
     ON CONFLICT (id) DO UPDATE SET name = @name, rule = @rule, paused = @paused, active_since = @active_since,
     after_event = @after_event, after_entry = @after_entry`,
  ).run({ ...row, paused: Number(paused), rule: JSON.stringify({ when, to, every }) });
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
