import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { UnknownAlgorithmError } from '../../shared/proof/algorithms.ts';
import { TimestampError, verifyTimestamp } from '../../shared/proof/timestamp.ts';
import { verifyEvidence } from '../../shared/proof/verifyEvidence.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { countOf } from '../../shared/values/counts.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { orIfMissing } from '../store/files.ts';
import { type Finding, finding } from './report.ts';

/** Verifies an evidence file as the page in it does, with the checks of this program instead of those in the file. */
export async function verifyEvidenceFile(path: string): Promise<Finding> {
  const bytes = await readFile(path);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const verdict = verifyEvidence(bytes.toString('utf8'), nodeCrypto);
  if (!verdict) return finding(path, 'unknown', { sha256, detail: 'the evidence in it cannot be read' });
  const { holds, detail } = verdict;
  return finding(path, holds ? 'intact' : 'changed', { sha256, against: 'itself', detail });
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
