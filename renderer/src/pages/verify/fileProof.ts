import { aboutWords, visible } from '../../../../shared/proof/about.ts';
import { type ClaimId, decide, type Verdict } from '../../../../shared/proof/verdict.ts';
import type { CheckedEvidence } from '../../../../shared/proof/verifyEvidence.ts';

/** What was found out about a file that proves itself. */
export interface FileProof {
  verdict: Verdict;
  /** What it is of, and why it is not intact. */
  words: string;
}

/** Says what an evidence file proves. */
export function proofOf({ claims, about }: CheckedEvidence<ClaimId<'evidence_file'>>): FileProof {
  const { verdict, because } = decide('evidence_file', claims);
  const reasons = new Set(because.map(({ name, detail }) => visible(`${name} ${detail}`.trim())));
  const words = [...(about ? [`${aboutWords(about)}.`] : []), ...reasons].join(' ');
  return { verdict, words };
}
