import { ARCHIVE_SUBJECTS } from '../../archive/recordedSubjects.ts';
import { COLLECTION_SUBJECTS } from '../../collection/recordedSubjects.ts';
import { FINDING_SUBJECTS } from '../../findings/findings.ts';
import { SEALED_SUBJECTS } from '../../findings/sealed.ts';
import { FIXITY_SUBJECTS } from '../../fixity/damages.ts';
import { CERTIFIED_KEY_SUBJECTS, KEY_SUBJECTS } from '../../ledger/nodeKey.ts';
import { OBSERVATION_SUBJECTS, PEER_SUBJECTS } from '../../ledger/peerEvidence.ts';
import type { RecordedSubjects } from '../../ledger/verifyLedger.ts';
import { WITHHOLDING_SUBJECTS } from '../../withholding/withholding.ts';

/** How the verification of the ledger recomputes the digest of every record. */
export const RECORDED_SUBJECTS: readonly RecordedSubjects[] = [
  ...ARCHIVE_SUBJECTS,
  ...COLLECTION_SUBJECTS,
  ...FIXITY_SUBJECTS,
  ...WITHHOLDING_SUBJECTS,
  ...KEY_SUBJECTS,
  CERTIFIED_KEY_SUBJECTS,
  ...PEER_SUBJECTS,
  ...OBSERVATION_SUBJECTS,
  ...FINDING_SUBJECTS,
  ...SEALED_SUBJECTS,
];
