import type { Migration } from './migration.ts';
import { migration as ledgerAndBlobs } from './migrations/0001-ledger-and-blobs.ts';
import { migration as archive } from './migrations/0002-archive.ts';
import { migration as collection } from './migrations/0003-collection.ts';
import { migration as visitors } from './migrations/0004-visitors.ts';
import { migration as derived } from './migrations/0005-derived.ts';
import { migration as noise } from './migrations/0006-noise.ts';
import { migration as captures } from './migrations/0007-captures.ts';
import { migration as requests } from './migrations/0008-requests.ts';
import { migration as fixity } from './migrations/0009-fixity.ts';
import { migration as noReplace } from './migrations/0010-no-replace.ts';
import { migration as retrievalsInTheLedger } from './migrations/0011-retrievals-in-the-ledger.ts';
import { migration as keyChanges } from './migrations/0012-key-changes.ts';
import { migration as privateSources } from './migrations/0014-private-sources.ts';
import { migration as ownerSessions } from './migrations/0015-owner-sessions.ts';
import { migration as noEventMarks } from './migrations/0016-no-event-marks.ts';
import { migration as noiseAndSeenMarks } from './migrations/0017-noise-and-seen-marks.ts';
import { migration as eventSummaries } from './migrations/0018-event-summaries.ts';
import { migration as namesFromPages } from './migrations/0021-names-from-pages.ts';
import { migration as textOfAllVersions } from './migrations/0022-text-of-all-versions.ts';
import { migration as copies } from './migrations/0024-copies.ts';
import { migration as offloadedObjects } from './migrations/0026-offloaded-objects.ts';
import { migration as timestamps } from './migrations/0027-timestamps.ts';
import { migration as witnesses } from './migrations/0028-witnesses.ts';
import { migration as peers } from './migrations/0029-peers.ts';
import { migration as pagesOfCopies } from './migrations/0030-pages-of-copies.ts';
import { migration as peerCertificates } from './migrations/0031-peer-certificates.ts';
import { migration as drafts } from './migrations/0032-drafts.ts';
import { migration as findings } from './migrations/0033-findings.ts';
import { migration as connections } from './migrations/0034-connections.ts';
import { migration as proofsInDumps } from './migrations/0035-proofs-in-dumps.ts';
import { migration as followAndSchedule } from './migrations/0036-follow-and-schedule.ts';
import { migration as alerts } from './migrations/0037-alerts.ts';
import { migration as copiedState } from './migrations/0038-copied-state.ts';
import type { ReadDatabase, WriteDatabase } from './open.ts';

const MIGRATIONS: readonly Migration[] = [
  ledgerAndBlobs,
  archive,
  collection,
  visitors,
  derived,
  noise,
  captures,
  requests,
  fixity,
  noReplace,
  retrievalsInTheLedger,
  keyChanges,
  privateSources,
  ownerSessions,
  noEventMarks,
  noiseAndSeenMarks,
  eventSummaries,
  namesFromPages,
  textOfAllVersions,
  copies,
  offloadedObjects,
  timestamps,
  witnesses,
  peers,
  pagesOfCopies,
  peerCertificates,
  drafts,
  findings,
  connections,
  proofsInDumps,
  followAndSchedule,
  alerts,
  copiedState,
];

/** The database was written by a newer Strongroom than this one. */
export class NewerDatabaseError extends Error {
  constructor(found: number, known: number) {
    super(
      `This data folder was written by a newer Strongroom (schema ${found}; this version supports ${known}). Install the newer version to open it.`,
    );
    this.name = 'NewerDatabaseError';
  }
}

/** The database has another schema than this program, which only reads it and cannot migrate it. */
export class SchemaMismatchError extends Error {
  constructor() {
    super(
      'The database in this data folder belongs to another version of Strongroom. Close any node that has it open, then open it once with this version.',
    );
    this.name = 'SchemaMismatchError';
  }
}

/** Returns the number of the last migration applied to a database; 0 if it has no tables yet. */
export function databaseSchemaVersion(database: ReadDatabase): number {
  return database.pragma('user_version', { simple: true }) as number;
}

/** @throws NewerDatabaseError if the database has a newer schema than this program */
export function requireKnownSchema(
  database: ReadDatabase,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const known = migrations.at(-1)?.number ?? 0;
  if (databaseSchemaVersion(database) > known)
    throw new NewerDatabaseError(databaseSchemaVersion(database), known);
}

/** @throws SchemaMismatchError if the database has another schema than this program */
export function requireCurrentSchema(database: ReadDatabase): void {
  if (databaseSchemaVersion(database) !== MIGRATIONS.at(-1)?.number) throw new SchemaMismatchError();
}

/**
 * Applies the missing migrations: all in one transaction for a new database, otherwise each in its own. After a crash
 * between two migrations, the next start continues.
 *
 * @throws NewerDatabaseError if the database has a newer schema; nothing is changed then.
 */
export function migrate(database: WriteDatabase, migrations: readonly Migration[] = MIGRATIONS): void {
  requireKnownSchema(database, migrations);
  const found = databaseSchemaVersion(database);
  const missing = migrations.filter(({ number }) => number > found);
  for (const steps of found === 0 ? [missing] : missing.map((step) => [step])) {
    database
      .transaction(() => {
        for (const { number, sql } of steps) {
          database.exec(sql);
          database.pragma(`user_version = ${number}`);
        }
      })
      .immediate();
  }
}
