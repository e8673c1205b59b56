import { fingerprintOf } from '../ledger/entry.ts';
import type { RecordedSubjects } from '../ledger/verifyLedger.ts';
import { iterateSourceRevisions } from '../store/sqlite/collection/sourceRevisions.ts';
import { sourceByKey } from '../store/sqlite/collection/sources.ts';
import { iterateRecordedEvents } from '../store/sqlite/collection/timeline/events.ts';
import { eventDigest } from './record/recordEvent.ts';
import { RETRIEVAL_SUBJECTS } from './record/recordedRetrievals.ts';
import { recordedSource } from './sources/sourceRevisions.ts';

/** Every revision of every source as it was stored. The newest revision is derived from the source's row instead. */
const SOURCES: RecordedSubjects = {
  types: ['source.added', 'source.changed'],
  *digests(database) {
    for (const { ledger_entry, source_key, record, newest } of iterateSourceRevisions(database)) {
      const source = newest ? sourceByKey(database, source_key) : undefined;
      yield { seq: ledger_entry, digest: fingerprintOf(source ? recordedSource(source) : record) };
    }
  },
};

const EVENTS: RecordedSubjects = {
  types: ['event.recorded'],
  *digests(database) {
    for (const event of iterateRecordedEvents(database)) {
      yield { seq: event.ledger_entry, digest: eventDigest(event) };
    }
  },
};

/** The records of the collection that ledger entries refer to. */
export const COLLECTION_SUBJECTS: readonly RecordedSubjects[] = [SOURCES, EVENTS, RETRIEVAL_SUBJECTS];
