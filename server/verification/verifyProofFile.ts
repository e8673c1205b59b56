import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import { MAX_EVIDENCE_BYTES } from '../../shared/proof/evidence/verifyEvidence.ts';
import { provenEvidence, provenTimestamp } from '../../shared/proof/fileVerdicts.ts';
import { namedKeyClaims } from '../../shared/proof/provenFile.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { orIfMissing } from '../store/files.ts';
import { type Finding, finding, provenFinding } from './report.ts';

/** Verifies an evidence file as the page in it does, with the checks of this program instead of those in the file. */
export async function verifyEvidenceFile(
  path: string,
  read: () => AsyncIterable<Uint8Array>,
  { pages, key }: { pages: readonly KnownPage[]; key: string | undefined },
): Promise<Finding> {
  const bytes = await bytesOf(read(), MAX_EVIDENCE_BYTES);
  if (!bytes) return finding(path, 'unknown', { detail: 'too large for an evidence file' });
  const rest = { sha256: hash('sha256', bytes), against: 'itself' };
  const proven = provenEvidence(bytes, pages, nodeCrypto, (about) => namedKeyClaims(about.key, key));
  return provenFinding(path, proven ?? 'the evidence in it cannot be read', rest);
}

/** Returns bytes that are read in pieces; undefined if there are more than so many. */
export async function bytesOf(chunks: AsyncIterable<Uint8Array>, most: number): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of chunks) {
    length += piece.length;
    if (length > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const EXTENSION = /\.tsr$/i;

/** Verifies the reply of a timestamp authority against the stamped text, which is beside it as `<name>.txt`. */
export async function verifyTimestampFile(path: string): Promise<Finding> {
  const textFile = path.replace(EXTENSION, '.txt');
  const reply = await readFile(path);
  const text = await orIfMissing(readFile(textFile), undefined);
  const proven = provenTimestamp(reply, text, textFile, nodeCrypto);
  return provenFinding(path, proven, { sha256: hash('sha256', reply), against: basename(textFile) });
}
