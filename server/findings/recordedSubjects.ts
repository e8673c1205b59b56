import type { RecordedFinding } from '../../shared/findings/finding.ts';
import { fingerprintOver } from '../ledger/entry.ts';
import type { RecordedSubjects } from '../ledger/verifyLedger.ts';
import { iterateFindings } from '../store/sqlite/findings/findings.ts';

/*
 * | Type              | Subject        | Recorded fields                                                      |
 * |-------------------|----------------|----------------------------------------------------------------------|
 * | finding.added     | the finding id | {at, id, passage, supersedes, tags, target, text, withdrawal}        |
 * | finding.withdrawn | the id of the  | the same; `withdrawal` is the reason, `supersedes` the finding       |
 * |                   | withdrawal     |                                                                      |
 */
export const findingDigest: (finding: RecordedFinding) => string = fingerprintOver([
  'id',
  'at',
  'target',
  'text',
  'tags',
  'passage',
  'supersedes',
  'withdrawal',
]);

/** Returns the members of a finding that the ledger covers. */
export function recordOfFinding(finding: RecordedFinding): RecordedFinding {
  const { id, at, target, text, tags, passage, supersedes, withdrawal } = finding;
  return { id, at, target, text, tags, passage, supersedes, withdrawal };
}

/** Recomputes the digests of all findings from their rows, for the verification of the ledger. */
export const FINDING_SUBJECTS: readonly RecordedSubjects[] = [
  {
    types: ['finding.added', 'finding.withdrawn'],
    *digests(database) {
      for (const finding of iterateFindings(database))
        yield { seq: finding.ledger_entry, digest: findingDigest(finding) };
    },
  },
];
