import type { AlertKind } from '../../../../../shared/alerts/delivery.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';

/** What a rule was found to match. The text of an event is written when it is sent. */
export interface Notice {
  kind: AlertKind;
  at: string;
  event: number | null;
  title: string | null;
  text: string | null;
  /** The path of the page that shows it. */
  path: string;
  source: { id: string; url: string; name: string } | null;
}

/** Keeps a notice, once for each subject of a rule. Returns whether it was new. */
export function insertNotice(
  database: WriteDatabase,
  { rule, subject, notice, due_at }: { rule: string; subject: string; notice: Notice; due_at: string | null },
): boolean {
  return (
    statement(
      database,
      'INSERT INTO alert_notices (rule, subject, notice, due_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ).run(rule, subject, JSON.stringify(notice), due_at).changes === 1
  );
}

export function hasNotice(database: ReadDatabase, rule: string, subject: string): boolean {
  return (
    statement(database, 'SELECT 1 FROM alert_notices WHERE rule = ? AND subject = ?').get(rule, subject) !==
    undefined
  );
}

/** Returns the rules with a digest that is due. */
export function rulesWithDueDigest(database: ReadDatabase, now: string): string[] {
  return statement<string>(
    database,
    'SELECT DISTINCT rule FROM alert_notices WHERE due_at <= ? ORDER BY rule',
  )
    .pluck()
    .all(now);
}

/** Takes the oldest notices out of a rule's digest. */
export function dequeueDigest(database: WriteDatabase, rule: string, now: string): Notice[] {
  const rows = statement<{ id: number; notice: string }>(
    database,
    'SELECT id, notice FROM alert_notices WHERE due_at <= ? AND rule = ? ORDER BY id',
  ).all(now, rule);
  for (const { id } of rows)
    statement(database, 'UPDATE alert_notices SET due_at = NULL WHERE id = ?').run(id);
  return rows.map(({ notice }) => JSON.parse(notice) as Notice);
}

/** Returns when the next digest is due. */
export function nextDigestAt(database: ReadDatabase): string | undefined {
  return (
    statement<string | null>(database, 'SELECT min(due_at) FROM alert_notices WHERE due_at IS NOT NULL')
      .pluck()
      .get() ?? undefined
  );
}

/** A state of the node that holds, and since when it was found to. */
export interface Condition {
  name: string;
  since: string;
}

export function allConditions(database: ReadDatabase): Condition[] {
  return statement<Condition>(database, 'SELECT name, since FROM alert_conditions ORDER BY name').all();
}

export function putCondition(database: WriteDatabase, { name, since }: Condition): void {
  statement(database, 'INSERT INTO alert_conditions (name, since) VALUES (?, ?) ON CONFLICT DO NOTHING').run(
    name,
    since,
  );
}

export function deleteCondition(database: WriteDatabase, name: string): void {
  statement(database, 'DELETE FROM alert_conditions WHERE name = ?').run(name);
}
