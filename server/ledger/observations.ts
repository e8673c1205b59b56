import { type SeenBy, seenBySchema } from '../../shared/collection/seenBy.ts';
import type { RecordedObservation } from '../../shared/node/observation.ts';
import { readObservation, STATEMENT_HEADER } from '../../shared/proof/observation.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  insertObservation,
  iterateObservations,
  observationsOfEvent,
} from '../store/sqlite/node/observations.ts';
import { appendEntry } from './appendEntry.ts';
import { fingerprintOf } from './entry.ts';
import type { RecordedSubjects } from './verifyLedger.ts';

/** Records what one of two nodes signed of an address that both fetched, inside the caller's transaction. */
export function recordObservation(database: WriteDatabase, record: RecordedObservation): void {
  const { seq } = appendEntry(database, {
    type: 'observation.signed',
    subject: record.nonce,
    digest: fingerprintOf(record),
    at: record.at,
  });
  insertObservation(database, { ledger_entry: seq, record });
}

/** Returns which peers fetched the address of an event at the same time, and what they signed. */
export function seenByOf(database: ReadDatabase, event: number): SeenBy[] {
  return observationsOfEvent(database, event).map(({ ledger_entry, record }) => {
    const { peer, agreement, blocks, statement } = record;
    const { requested_at, fetched_at, status, error, sha256 } = readObservation(statement, STATEMENT_HEADER);
    return seenBySchema.parse({
      peer: peer.id,
      name: peer.name,
      key: peer.key,
      requested_at,
      fetched_at,
      agreement,
      status,
      error,
      sha256,
      blocks,
      statement,
      ledger_entry,
    });
  });
}

/** Recomputes the recorded digests of signed observations for the verification of the ledger. */
export const OBSERVATION_SUBJECTS: readonly RecordedSubjects[] = [
  {
    types: ['observation.signed'],
    *digests(database) {
      for (const { ledger_entry, record } of iterateObservations(database))
        yield { seq: ledger_entry, digest: fingerprintOf(JSON.parse(record)) };
    },
  },
];
