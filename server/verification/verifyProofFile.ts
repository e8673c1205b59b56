import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { judge } from '../../shared/proof/evidence.ts';
import { sizeOf } from '../../shared/proof/evidenceFiles.ts';
import type { KnownPage } from '../../shared/proof/evidencePage.ts';
import { parseCheckpoint } from '../../shared/proof/signedNote.ts';
import { verifyTimestamp } from '../../shared/proof/timestamp.ts';
import type { Claim, ClaimId } from '../../shared/proof/verdict.ts';
import { MAX_EVIDENCE_BYTES, verifyEvidence } from '../../shared/proof/verifyEvidence.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { countOf } from '../../shared/values/counts.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { orIfMissing } from '../store/files.ts';
import { type Finding, finding, namedKeyClaims, proofFinding } from './report.ts';

/** Verifies an evidence file as the page in it does, with the checks of this program instead of those in the file. */
export async function verifyEvidenceFile(
  path: string,
  read: () => AsyncIterable<Uint8Array>,
  { pages, key }: { pages: readonly KnownPage[]; key: string | undefined },
): Promise<Finding> {
  const bytes = await bytesOf(read(), MAX_EVIDENCE_BYTES);
  if (!bytes) return finding(path, 'unknown', { detail: 'too large for an evidence file' });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const checked = verifyEvidence(bytes, pages, nodeCrypto);
  if (!checked)
    return finding(path, 'unknown', {
      sha256,
      verdict: 'unknown',
      detail: 'the evidence in it cannot be read',
    });
  const { about, set } = checked;
  const claims = [...checked.claims, ...namedKeyClaims(about?.key, key)];
  const holding = claims.filter(({ state }) => state === 'holds').length;
  const detail = `${countOf(holding, 'claim holds', 'claims hold')}${set ? `; they cover the ${sizeOf(set)} of the set` : ''}`;
  return proofFinding(path, 'evidence_file', claims, {
    sha256,
    against: 'itself',
    detail,
    ...(about && { about }),
  });
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
  return timestampFinding(path, reply, text, textFile);
}

/** Says of a timestamp whether it is of the stamped text. */
export function timestampFinding(
  path: string,
  reply: Uint8Array,
  stamped: Uint8Array | undefined,
  textFile: string,
): Finding {
  const sha256 = createHash('sha256').update(reply).digest('hex');
  const against = basename(textFile);
  const name = 'The authority signed that the stamped text existed.';
  if (!stamped) {
    const detail = `the stamped text ${textFile} is missing`;
    return proofFinding(path, 'timestamp', [{ id: 'text', name, state: 'unproven', detail }], { sha256 });
  }
  let found: { at: number; signer: string } | undefined;
  const signature = judge('signature', name, '', () => {
    found = verifyTimestamp(reply, stamped, nodeCrypto);
  });
  const claims: Claim<ClaimId<'timestamp'>>[] = [
    { id: 'text', name: 'The stamped text is there.', state: 'holds', detail: against },
    signature,
  ];
  const head = parseCheckpoint(Buffer.from(stamped).toString());
  const what = head ? countOf(head.size, 'entry', 'entries') : 'no checkpoint';
  const detail =
    found &&
    `${against} existed before ${instantOf(found.at)} (${what}), according to ${found.signer}; check its certificate with openssl ts -verify -CAfile`;
  return proofFinding(path, 'timestamp', claims, { sha256, against, ...(detail && { detail }) });
}
