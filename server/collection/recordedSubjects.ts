import { fingerprintOf } from '../ledger/entry.ts';
import type { RecordedSubjects } from '../ledger/verifyLedger.ts';
import { iterateHandIns, recordOfHandIn } from '../store/sqlite/collection/handIns.ts';
import { iteratePages, recordOfPage } from '../store/sqlite/collection/pages.ts';
import { iterateSourceRevisions, sourceByKey } from '../store/sqlite/collection/sources.ts';
import { iterateRecordedEvents } from '../store/sqlite/collection/timeline/events.ts';
import { RETRIEVAL_SUBJECTS } from './record/coverRetrievals.ts';
import { eventDigest } from './record/recordRetrieval.ts';
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

const PAGES: RecordedSubjects = {
  types: ['page.captured'],
  *digests(database) {
    for (const { ledger_entry, source, ...page } of iteratePages(database)) {
      yield { seq: ledger_entry, digest: fingerprintOf({ ...recordOfPage(page), source }) };
    }
  },
};

const HANDED_IN: RecordedSubjects = {
  types: ['page.handed_in'],
  *digests(database) {
    for (const { ledger_entry, source, ...handIn } of iterateHandIns(database)) {
      yield { seq: ledger_entry, digest: fingerprintOf({ ...recordOfHandIn(handIn), source }) };
    }
  },
};

/** The records of the collection that ledger entries refer to. */
export const COLLECTION_SUBJECTS: readonly RecordedSubjects[] = [
  SOURCES,
  EVENTS,
  PAGES,
  HANDED_IN,
  RETRIEVAL_SUBJECTS,
];
