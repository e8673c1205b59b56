import { countOf } from '../values/counts.ts';
import type { ProofCrypto } from './algorithms.ts';
import { checkEvidence } from './checkEvidence.ts';
import { type Claim, EVIDENCE_FORMATS, type Evidence } from './evidence.ts';
import { checkSet, type SetFiles, sizeOf } from './evidenceFiles.ts';

const DATA = /<script type="application\/json" id="evidence">([^<]*)<\/script>/;

/** What an evidence file proves of itself, in words. */
export interface EvidenceVerdict {
  holds: boolean;
  detail: string;
}

/**
 * Verifies an evidence file as the page in it does, with the checks of this program instead of those in the file. Returns
 * undefined if there is no evidence in it that can be read.
 */
export function verifyEvidence(html: string, crypto: ProofCrypto): EvidenceVerdict | undefined {
  const evidence = parseEvidence(DATA.exec(html)?.[1]);
  if (!evidence) return undefined;
  const checked = check(evidence, crypto);
  if (!checked) return { holds: false, detail: 'a part of the evidence is missing' };
  const { claims, set } = checked;
  const failed = claims.filter(({ verdict }) => verdict === 'fails');
  if (failed.length > 0)
    return { holds: false, detail: failed.map(({ claim, detail }) => `${claim} ${detail}`).join(' ') };
  const holding = claims.filter(({ verdict }) => verdict === 'holds').length;
  const ofSet = set ? `; they cover the ${sizeOf(set)} of the set` : '';
  return {
    holds: true,
    detail: `${countOf(holding, 'claim holds', 'claims hold')}${ofSet}; the key is ${evidence.key}`,
  };
}

function parseEvidence(text: string | undefined): Evidence | undefined {
  try {
    const parsed = JSON.parse(text ?? '') as Evidence | null;
    return parsed && EVIDENCE_FORMATS.includes(parsed.format) ? parsed : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns undefined if a part has another form than evidence has. */
function check(
  evidence: Evidence,
  crypto: ProofCrypto,
): { claims: Claim[]; set: SetFiles | undefined } | undefined {
  try {
    const set = checkSet(evidence, crypto);
    return { claims: checkEvidence(evidence, crypto, set), set: set.set };
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
