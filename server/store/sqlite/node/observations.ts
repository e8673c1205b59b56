import type { RecordedObservation } from '../../../../shared/node/observation.ts';
import type { WriteDatabase } from '../engine/open.ts';
import { change, hasRow, insert, run, selectAll, selectEach, selectValue } from '../engine/queries.ts';

/** A signed observation; `record` is what the ledger recorded. */
export interface ObservationRow {
  ledger_entry: number;
  record: RecordedObservation;
}

interface StoredObservation {
  ledger_entry: number;
  record: string;
}

function parseRow({ ledger_entry, record }: StoredObservation): ObservationRow {
  return { ledger_entry, record: JSON.parse(record) as RecordedObservation };
}

export function insertObservation(database: WriteDatabase, { ledger_entry, record }: ObservationRow): void {
  const row = { ledger_entry, record: JSON.stringify(record) };
  insert(database, 'signed_observations', 'ledger_entry, record', row);
}

/** Iterates over all signed observations, in ledger order. */
export const iterateObservations = selectEach<StoredObservation>(
  'SELECT ledger_entry, record FROM signed_observations ORDER BY ledger_entry',
);

/** Returns what peers signed of an event, in the order in which it was recorded. */
export const observationsOfEvent = selectAll<StoredObservation, [event: number], ObservationRow>(
  `SELECT ledger_entry, record FROM signed_observations WHERE json_extract(record, '$.event') = ?
   ORDER BY ledger_entry`,
  parseRow,
);

/** Whether this node answered a request with this nonce. */
export const wasAnswered = hasRow<[nonce: string]>(
  `SELECT 1 FROM signed_observations
   WHERE json_extract(record, '$.nonce') = ? AND json_extract(record, '$.role') = 'answered'`,
);

/** Counts what this node signed for a key from an instant on. */
export const countAnswered = selectValue<number, [key: string, since: string]>(
  `SELECT count(*) FROM signed_observations WHERE json_extract(record, '$.role') = 'answered'
   AND json_extract(record, '$.peer.key') = ? AND json_extract(record, '$.at') >= ?`,
  0,
);

/** A peer that is asked when a source changes, and how the last request ended. */
export interface SourceObserverRow {
  peer: string;
  asked_at: string | null;
  error: string | null;
}

export const observersOfSource = selectAll<SourceObserverRow, [source_key: number]>(
  'SELECT peer, asked_at, error FROM source_observers WHERE source_key = ? ORDER BY peer',
);

/** Sets the peers that are asked when a source changes. Those that stay keep how their last request ended. */
export function setObservers(database: WriteDatabase, source_key: number, peers: readonly string[]): void {
  run(
    database,
    'DELETE FROM source_observers WHERE source_key = ? AND peer NOT IN (SELECT value FROM json_each(?))',
    source_key,
    JSON.stringify(peers),
  );
  for (const peer of peers)
    run(
      database,
      'INSERT INTO source_observers (source_key, peer) VALUES (?, ?) ON CONFLICT DO NOTHING',
      source_key,
      peer,
    );
}

/** Keeps how a request to a peer ended. One that is no longer asked has no row. */
export const setObserverOutcome = change<
  [outcome: { source_key: number; peer: string; asked_at: string; error: string | null }]
>(
  'UPDATE source_observers SET asked_at = @asked_at, error = @error WHERE source_key = @source_key AND peer = @peer',
);

/** Sets how many addresses this node fetches for a peer in a day. */
export const setObservePerDay = change<[values: { id: string; observe_per_day: number }]>(
  'UPDATE peers SET observe_per_day = @observe_per_day WHERE id = @id',
);
