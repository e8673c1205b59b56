import { type About, aboutOf } from '../about.ts';
import type { ProofCrypto } from '../crypto/algorithms.ts';
import type { Claim, ClaimId } from '../verdict.ts';
import { checkEvidence } from './checkEvidence.ts';
import { type Evidence, type EvidenceClaim, judge } from './evidence.ts';
import { checkSet, type SetFiles } from './evidenceFiles.ts';
import { readEvidence } from './evidenceForm.ts';
import { checkEvidencePage, dataIn, type KnownPage } from './evidencePage.ts';

/** An evidence file has up to 10 MB of bytes, in base64, and the list of differences. */
export const MAX_EVIDENCE_BYTES = 67_108_864;

/** What is claimed by data that says it is evidence. */
export interface CheckedEvidence<Id extends string = EvidenceClaim['id']> {
  claims: Claim<Id>[];
  /** Absent if the data has not the form of evidence. */
  evidence?: Evidence;
  about?: About;
  /** The files of the set that the evidence is of. */
  set?: SetFiles | undefined;
}

/** Checks the data of an evidence file. */
export function checkEvidenceData(json: string, crypto: ProofCrypto): CheckedEvidence {
  let evidence: Evidence | undefined;
  const form = judge('form', 'The data has the form of evidence.', '', () => {
    evidence = readEvidence(json);
  });
  if (!evidence) return { claims: [form] };
  const about = aboutOf(evidence);
  try {
    const set = checkSet(evidence, crypto);
    return { claims: checkEvidence(evidence, crypto, set), evidence, about, set: set.set };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // A record has members of other kinds than a node writes.
    return { claims: [{ ...form, state: 'fails', detail: 'A record has another form.' }], evidence, about };
  }
}

/**
 * Verifies an evidence file as the page in it does, with the checks of this program instead of those in the file, and
 * that the page is one that this program knows. Returns undefined if no evidence is in it.
 */
export function verifyEvidence(
  bytes: Uint8Array,
  pages: readonly KnownPage[],
  crypto: ProofCrypto,
): CheckedEvidence<ClaimId<'evidence_file'>> | undefined {
  const { text, isUtf8 } = decoded(bytes);
  const json = dataIn(text);
  if (json === undefined) return undefined;
  const checked = checkEvidenceData(json, crypto);
  const { evidence } = checked;
  if (!evidence) return checked;
  const page = checkEvidencePage(isUtf8 ? text : '', evidence, pages, crypto);
  return { ...checked, claims: [...checked.claims, page] };
}

function decoded(bytes: Uint8Array): { text: string; isUtf8: boolean } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), isUtf8: true };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), isUtf8: false };
  }
}
