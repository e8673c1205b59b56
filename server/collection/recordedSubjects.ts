import { fingerprintOf } from '../ledger/entry.ts';
import { type RecordedSubjects, subjectsOf } from '../ledger/verifyLedger.ts';
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

/** The records of the collection that ledger entries refer to. */
export const COLLECTION_SUBJECTS: readonly RecordedSubjects[] = [
  SOURCES,
  subjectsOf('event.recorded', iterateRecordedEvents, eventDigest),
  subjectsOf('page.captured', iteratePages, ({ ledger_entry: _, source, ...page }) =>
    fingerprintOf({ ...recordOfPage(page), source }),
  ),
  subjectsOf('page.handed_in', iterateHandIns, ({ ledger_entry: _, source, ...handIn }) =>
    fingerprintOf({ ...recordOfHandIn(handIn), source }),
  ),
  RETRIEVAL_SUBJECTS,
];
