import { type ReadDatabase, statement } from '../../engine/open.ts';

/** What the ledger records of a source. It has the names of the owner's headers, and never their values. */
export interface RecordedSourceRow {
  key: number;
  ledger_entry: number;
  id: string;
  url: string;
  name: string;
  agency: string;
  tags: string[];
  every_minutes: number | null;
  added_at: string;
  removed: boolean;
  paused: boolean;
}

interface Revision {
  source_key: number;
  ledger_entry: number;
  record: string;
}

/** Returns a source as a ledger of this size records it; undefined if it does not. */
export function sourceOfLedger(
  database: ReadDatabase,
  key: number,
  size: number,
): RecordedSourceRow | undefined {
  const revision = statement<Revision>(
    database,
    `SELECT source_key, ledger_entry, record FROM source_revisions
     WHERE source_key = ? AND ledger_entry <= ? ORDER BY ledger_entry DESC LIMIT 1`,
  ).get(key, size);
  return revision && asSource(revision);
}

/** Returns the number of sources that a ledger of this size records. Their keys are 1 to this number. */
export function countSourcesOfLedger(database: ReadDatabase, size: number): number {
  return (
    statement<{ count: number | null }>(
      database,
      'SELECT max(source_key) AS count FROM source_revisions WHERE ledger_entry <= ?',
    ).get(size)?.count ?? 0
  );
}

/** Returns sources in the order in which they were added. */
export function sourcesOfLedger(
  database: ReadDatabase,
  size: number,
  { offset, limit }: { offset: number; limit: number },
  order: 'ASC' | 'DESC' = 'ASC',
): RecordedSourceRow[] {
  const total = order === 'DESC' ? countSourcesOfLedger(database, size) : 0;
  const [first, last] =
    order === 'ASC' ? [offset + 1, offset + limit] : [total - offset - limit + 1, total - offset];
  return statement<Revision>(
    database,
    `SELECT r.source_key, max(r.ledger_entry) AS ledger_entry, r.record FROM source_revisions r
     WHERE r.source_key BETWEEN ? AND ? AND r.ledger_entry <= ? GROUP BY r.source_key
     ORDER BY r.source_key ${order}`,
  )
    .all(first, last, size)
    .map(asSource);
}

function asSource({ source_key, ledger_entry, record }: Revision): RecordedSourceRow {
  const source = JSON.parse(record) as Omit<RecordedSourceRow, 'key' | 'ledger_entry'>;
  const { id, url, name, agency, tags, every_minutes, added_at, removed, paused } = source;
  return {
    key: source_key,
    ledger_entry,
    id,
    url,
    name,
    agency,
    tags,
    every_minutes,
    added_at,
    removed,
    paused,
  };
}
