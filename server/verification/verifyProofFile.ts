import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { UnknownAlgorithmError } from '../../shared/proof/algorithms.ts';
import { checkEvidence } from '../../shared/proof/checkEvidence.ts';
import { type Claim, EVIDENCE_FORMATS, type Evidence } from '../../shared/proof/evidence.ts';
import { checkSet, type SetFiles, sizeOf } from '../../shared/proof/evidenceFiles.ts';
import { TimestampError, verifyTimestamp } from '../../shared/proof/timestamp.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { countOf } from '../../shared/values/counts.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { orIfMissing } from '../store/files.ts';
import { type Finding, finding } from './report.ts';

const DATA = /<script type="application\/json" id="evidence">([^<]*)<\/script>/;

/** Verifies an evidence file as the page in it does, with the checks of this program instead of those in the file. */
export async function verifyEvidenceFile(path: string): Promise<Finding> {
  const bytes = await readFile(path);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const evidence = parseEvidence(DATA.exec(bytes.toString('utf8'))?.[1]);
  if (!evidence) return finding(path, 'unknown', { sha256, detail: 'the evidence in it cannot be read' });
  const checked = check(evidence);
  if (!checked) return finding(path, 'changed', { sha256, detail: 'a part of the evidence is missing' });
  const { claims, set } = checked;
  const failed = claims.filter(({ verdict }) => verdict === 'fails');
  const holding = claims.filter(({ verdict }) => verdict === 'holds').length;
  const detail =
    failed.length > 0
      ? failed.map((claim) => `${claim.claim} ${claim.detail}`).join(' ')
      : `${holding} claims hold${set ? `; they cover the ${sizeOf(set)} of the set` : ''}; the key is ${evidence.key}`;
  return finding(path, failed.length > 0 ? 'changed' : 'intact', { sha256, against: 'itself', detail });
}

function parseEvidence(text: string | undefined): Evidence | undefined {
  try {
    const parsed = JSON.parse(text ?? '') as Evidence;
    return EVIDENCE_FORMATS.includes(parsed.format) ? parsed : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns undefined if a part has another form than evidence has. */
function check(evidence: Evidence): { claims: Claim[]; set: SetFiles | undefined } | undefined {
  try {
    const set = checkSet(evidence, nodeCrypto);
    return { claims: checkEvidence(evidence, nodeCrypto, set), set: set.set };
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const EXTENSION = /\.tsr$/i;

/** Verifies the reply of a timestamp authority against the stamped text, which is beside it as `<name>.txt`. */
export async function verifyTimestampFile(path: string): Promise<Finding> {
  const textFile = path.replace(EXTENSION, '.txt');
  const reply = await readFile(path);
  const text = await orIfMissing(readFile(textFile), undefined);
  const sha256 = createHash('sha256').update(reply).digest('hex');
  if (!text) return finding(path, 'unknown', { sha256, detail: `the stamped text ${textFile} is missing` });
  const against = basename(textFile);
  try {
    const { at, signer } = verifyTimestamp(reply, text, nodeCrypto);
    const [, size] = text.toString().split('\n');
    const detail = `${against} existed before ${instantOf(at)} (${countOf(Number(size), 'entry', 'entries')}), according to ${signer}; check its certificate with openssl ts -verify -CAfile`;
    return finding(path, 'intact', { sha256, against, detail });
  } catch (error) {
    if (error instanceof UnknownAlgorithmError)
      return finding(path, 'unknown', { sha256, detail: error.message });
    if (error instanceof TimestampError)
      return finding(path, 'changed', { sha256, against, detail: error.message });
    throw error;
  }
}
