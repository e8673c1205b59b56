import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { UnknownAlgorithmError } from '../../shared/proof/algorithms.ts';
import { TimestampError, verifyTimestamp } from '../../shared/proof/verifyTimestamp.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { nodeCrypto } from '../ledger/nodeCrypto.ts';
import { isMissing } from '../store/blobs/fileErrors.ts';
import { type Finding, finding } from './report.ts';

const EXTENSION = /\.tsr$/i;

/** Verifies the reply of a timestamp authority against the stamped text, which is beside it as `<name>.txt`. */
export async function verifyTimestampFile(path: string): Promise<Finding> {
  const textFile = path.replace(EXTENSION, '.txt');
  const reply = await readFile(path);
  const text = await readFile(textFile).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  const sha256 = createHash('sha256').update(reply).digest('hex');
  if (!text) return finding(path, 'unknown', { sha256, detail: `the stamped text ${textFile} is missing` });
  const against = basename(textFile);
  try {
    const { at, signer } = verifyTimestamp(reply, text, nodeCrypto);
    const [, size] = text.toString().split('\n');
    const detail = `${against} existed before ${instantOf(at)} (${size} entries), says ${signer}; check that certificate with openssl ts -verify -CAfile`;
    return finding(path, 'intact', { sha256, against, detail });
  } catch (error) {
    if (error instanceof UnknownAlgorithmError)
      return finding(path, 'unknown', { sha256, detail: error.message });
    if (error instanceof TimestampError)
      return finding(path, 'changed', { sha256, against, detail: error.message });
    throw error;
  }
}
