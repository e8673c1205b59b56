import type { Damage } from '../../../../shared/fixity.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A damage as it was found. */
export type DamageRow = Pick<Damage, 'sha256' | 'bytes' | 'problem' | 'found' | 'at' | 'ledger_entry'>;

/** That the bytes of a damage, named by its ledger entry, were right again. */
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

/** The ledger entry of the damage that an object has now, or undefined. */
export function currentDamageOf(database: ReadDatabase, sha256: string): number | undefined {
  return statement<{ damage: number }>(database, 'SELECT damage FROM damaged_objects WHERE sha256 = ?').get(
    sha256,
  )?.damage;
}

const DAMAGES = `SELECT d.sha256, d.bytes, d.problem, d.found, d.at, d.ledger_entry, r.at AS restored_at,
    r.ledger_entry AS restored_entry`;

/** The first of the objects that are damaged now, by their digests. */
export function currentDamages(database: ReadDatabase, limit: number): Damage[] {
  return statement<Damage>(
    database,
    `${DAMAGES} FROM damaged_objects o JOIN object_damages d ON d.ledger_entry = o.damage
     LEFT JOIN object_restorations r ON r.damage = d.ledger_entry ORDER BY o.sha256 LIMIT ?`,
  ).all(limit);
}

/** A page of all damages there ever were, newest first. */
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

/** Every damage, in the order of the ledger. */
export function iterateDamages(database: ReadDatabase): IterableIterator<DamageRow> {
  return statement<DamageRow>(
    database,
    'SELECT ledger_entry, sha256, bytes, problem, found, at FROM object_damages ORDER BY ledger_entry',
  ).iterate();
}

/** Every restoration, in the order of the ledger. */
export function iterateRestorations(database: ReadDatabase): IterableIterator<RestorationRow> {
  return statement<RestorationRow>(
    database,
    'SELECT ledger_entry, damage, sha256, at FROM object_restorations ORDER BY ledger_entry',
  ).iterate();
}
