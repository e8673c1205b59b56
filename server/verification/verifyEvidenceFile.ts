import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { checkEvidence } from '../../shared/proof/checkEvidence.ts';
import type { Claim, Evidence } from '../../shared/proof/evidence.ts';
import { nodeCrypto } from '../ledger/nodeCrypto.ts';
import { type Finding, finding } from './report.ts';

const DATA = /<script type="application\/json" id="evidence">([^<]*)<\/script>/;

/** Verifies an evidence file as the page in it does, with the checks of this program instead of those in the file. */
export async function verifyEvidenceFile(path: string): Promise<Finding> {
  const bytes = await readFile(path);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const evidence = parseEvidence(DATA.exec(bytes.toString('utf8'))?.[1]);
  if (!evidence) return finding(path, 'unknown', { sha256, detail: 'the evidence in it cannot be read' });
  const claims = check(evidence);
  if (!claims) return finding(path, 'changed', { sha256, detail: 'a part of the evidence is missing' });
  const failed = claims.filter(({ verdict }) => verdict === 'fails');
  const holding = claims.filter(({ verdict }) => verdict === 'holds').length;
  const detail =
    failed.length > 0
      ? failed.map((claim) => `${claim.claim} ${claim.detail}`).join(' ')
      : `${holding} claims hold; the key is ${evidence.key}`;
  return finding(path, failed.length > 0 ? 'changed' : 'intact', { sha256, against: 'itself', detail });
}

function parseEvidence(text: string | undefined): Evidence | undefined {
  try {
    const parsed = JSON.parse(text ?? '') as Evidence;
    return parsed.format === 'strongroom-evidence@1' ? parsed : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns undefined if a part has another form than evidence has. */
function check(evidence: Evidence): Claim[] | undefined {
  try {
    return checkEvidence(evidence, nodeCrypto);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
