import { hash } from 'node:crypto';
import { compareByUtf8 } from '../../../../shared/archive/filePath.ts';
import type { PackRecord } from '../../../../shared/archive/pack.ts';
import { canonicalText } from '../../../../shared/values/canonicalJson.ts';
import { packIdOf } from '../record.ts';
import {
  CRATE_FILE,
  DECLARATION_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  PAYLOAD_FOLDER,
  RECORD_FILE,
  TAG_MANIFEST_FILE,
} from './bagNames.ts';
import { roCrateText } from './roCrate.ts';
import { DECLARATION, infoText, manifestLine, onOneLine } from './tagText.ts';

/** A tag file of a bag, which is a file that is not payload. */
export interface TagFile {
  name: string;
  bytes: Buffer;
}

/** The bag of a record: the name of its folder, and all tag files in the order in which they are written. */
export interface Bag {
  id: string;
  /** The record's fingerprint, which is also the SHA-256 of `pack.json`. */
  digest: string;
  tagFiles: TagFile[];
}

export { CRATE_FILE, DECLARATION_FILE, INFO_FILE, PAYLOAD_FOLDER, RECORD_FILE };

/** The names of all tag files that are written. */
export const BAG_FILES: ReadonlySet<string> = new Set([
  DECLARATION_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  RECORD_FILE,
  CRATE_FILE,
  TAG_MANIFEST_FILE,
]);

/**
 * Returns the BagIt 1.0 bag (RFC 8493) of a record. It depends only on the record and contains no time, machine name or
 * program version, so every archive with this record writes the same bytes.
 */
export function bagOf(record: PackRecord): Bag {
  const recordText = canonicalText(record);
  const digest = sha256(recordText);
  const id = packIdOf(digest);
  const manifest = record.files
    .map(({ path, sha256 }) => manifestLine(sha256, PAYLOAD_FOLDER + path))
    .join('');
  const listed = Object.entries({
    [DECLARATION_FILE]: DECLARATION,
    [INFO_FILE]: packInfo(record, id, digest),
    [MANIFEST_FILE]: manifest,
    [RECORD_FILE]: recordText,
    [CRATE_FILE]: roCrateText(record, recordText, id),
  });
  const tagManifest = listed
    .toSorted(([left], [right]) => compareByUtf8(left, right))
    .map(([name, text]) => manifestLine(sha256(text), name))
    .join('');
  const texts = [...listed, [TAG_MANIFEST_FILE, tagManifest] as const];
  return { id, digest, tagFiles: texts.map(([name, text]) => ({ name, bytes: Buffer.from(text) })) };
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

function packInfo(record: PackRecord, id: string, digest: string): string {
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  return infoText([
    ['External-Identifier', id],
    ['External-Description', onOneLine(record.title)],
    ['Record-Fingerprint', digest],
    ['Payload-Oxum', `${bytes}.${record.files.length}`],
  ]);
}
