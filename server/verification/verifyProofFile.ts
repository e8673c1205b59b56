import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
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
  const proven = provenEvidence({ name: path, bytes }, pages, nodeCrypto, (about, isSigned) =>
    namedKeyClaims({ key: about.key, isSigned }, key),
  );
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

/** Returns the bytes of a file beside another one; undefined if there is none, such as a pipe, or it has more. */
export async function bytesBeside(path: string, most: number): Promise<Buffer | undefined> {
  const isFile = (await orIfMissing(stat(path), undefined))?.isFile() === true;
  return isFile ? bytesOf(createReadStream(path), most) : undefined;
}

/** The ending of a timestamp, and what a copy has behind it (`ledger.tsr.1`, `ledger.tsr (1)`). */
const EXTENSION = /\.tsr(?<mark>(?:(?!\.tsr)[^/\\])*)$/i;
/** Much more than a reply with its certificates has. */
const MAX_REPLY_BYTES = 4_194_304;
/** Any text can be stamped, but it is read into memory. */
const MAX_STAMPED_BYTES = 1_073_741_824;

/**
 * Verifies the reply of a timestamp authority against the stamped text, which is beside it as `<name>.txt`. A copy of the reply may
 * lie beside the text of another download, so a text without the mark of the copy says nothing if it is not the stamped one.
 */
export async function verifyTimestampFile(path: string): Promise<Finding> {
  const reply = await bytesOf(createReadStream(path), MAX_REPLY_BYTES);
  if (!reply) return finding(path, 'unknown', { detail: 'too large for a timestamp' });
  const [own = path, unmarked] = textFilesOf(path);
  const against = async (textFile: string) => {
    const text = await bytesBeside(textFile, MAX_STAMPED_BYTES);
    const proven = provenTimestamp(reply, text, textFile, nodeCrypto);
    return provenFinding(path, proven, { sha256: hash('sha256', reply), against: basename(textFile) });
  };
  const found = await against(own);
  if (found.state !== 'unknown' || unmarked === undefined) return found;
  const other = await against(unmarked);
  return other.state === 'intact' ? other : found;
}

/** The files in which the stamped text may be: with the mark of a copy, and without. */
function textFilesOf(path: string): string[] {
  const mark = EXTENSION.exec(path)?.groups?.mark;
  // An ending that only looks like one.
  if (mark === undefined) return [`${path}.txt`];
  const text = path.replace(EXTENSION, (ending) => (ending.startsWith('.TSR') ? '.TXT' : '.txt'));
  return mark === '' ? [text] : [text + mark, text];
}
