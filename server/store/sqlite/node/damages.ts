import type { Damage } from '../../../../shared/ledger/fixity.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A damage when it was found. */
export type DamageRow = Pick<Damage, 'sha256' | 'bytes' | 'problem' | 'found' | 'at' | 'ledger_entry'>;

/** The repair of a damage; `damage` is the damage's ledger entry. */
export interface RestorationRow {
  ledger_entry: number;
  damage: number;
  sha256: string;
  at: string;
}

export function insertDamage(database: WriteDatabase, damage: DamageRow): void {
  statement(
    database,
    `INSERT INTO object_damages (ledger_entry, sha256, bytes, problem, found, at)
     VALUES (@ledger_entry, @sha256, @bytes, @problem, @found, @at)`,
  ).run(damage);
}

export function insertRestoration(database: WriteDatabase, restoration: RestorationRow): void {
  statement(
    database,
    `INSERT INTO object_restorations (ledger_entry, damage, sha256, at)
     VALUES (@ledger_entry, @damage, @sha256, @at)`,
  ).run(restoration);
}

/** Returns the ledger entry of a blob's current damage, or undefined. */
export function currentDamageOf(database: ReadDatabase, sha256: string): number | undefined {
  return statement<{ damage: number }>(database, 'SELECT damage FROM damaged_objects WHERE sha256 = ?').get(
    sha256,
  )?.damage;
}

const DAMAGES = `SELECT d.sha256, d.bytes, d.problem, d.found, d.at, d.ledger_entry, r.at AS restored_at,
    r.ledger_entry AS restored_entry`;

/** Returns the first `limit` blobs that are currently damaged, in the order of their digests. */
export function currentDamages(database: ReadDatabase, limit: number): Damage[] {
  return statement<Damage>(
    database,
    `${DAMAGES} FROM damaged_objects o JOIN object_damages d ON d.ledger_entry = o.damage
     LEFT JOIN object_restorations r ON r.damage = d.ledger_entry ORDER BY o.sha256 LIMIT ?`,
  ).all(limit);
}

/** Returns the first `limit` damages after a ledger entry for which a rule has no notice with the subject `damage:<entry>`. */
export function damagesWithoutNotice(
  database: ReadDatabase,
  { rule, after, limit }: { rule: string; after: number; limit: number },
): DamageRow[] {
  return statement<DamageRow>(
    database,
    `SELECT ledger_entry, sha256, bytes, problem, found, at FROM object_damages WHERE ledger_entry > @after
     AND NOT EXISTS (SELECT 1 FROM alert_notices WHERE rule = @rule AND subject = 'damage:' || ledger_entry)
     ORDER BY ledger_entry LIMIT @limit`,
  ).all({ rule, after, limit });
}

/** Returns a page of all damages ever found, newest first. */
export function damagesPage(
  database: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): Damage[] {
  return statement<Damage>(
    database,
    `${DAMAGES} FROM object_damages d LEFT JOIN object_restorations r ON r.damage = d.ledger_entry
     ORDER BY d.ledger_entry DESC LIMIT ? OFFSET ?`,
  ).all(limit, offset);
}

/** Iterates over all damages, in ledger order. */
export function iterateDamages(database: ReadDatabase): IterableIterator<DamageRow> {
  return statement<DamageRow>(
    database,
    'SELECT ledger_entry, sha256, bytes, problem, found, at FROM object_damages ORDER BY ledger_entry',
  ).iterate();
}

/** Iterates over all restorations, in ledger order. */
export function iterateRestorations(database: ReadDatabase): IterableIterator<RestorationRow> {
  return statement<RestorationRow>(
    database,
    'SELECT ledger_entry, damage, sha256, at FROM object_restorations ORDER BY ledger_entry',
  ).iterate();
}
