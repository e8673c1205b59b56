import { canonicalText } from '../../../shared/canonicalJson.ts';
import { checkBody } from '../../../shared/checkBody.ts';
import { ID_DIGITS } from '../../../shared/digest.ts';
import { jsonPointer } from '../../../shared/jsonPointer.ts';
import { MAX_PACK_BYTES, MAX_RECORD_BYTES } from '../../../shared/limits.ts';
import { type PackRecord, packRecordSchema } from '../../../shared/pack.ts';
import { Problem } from '../../../shared/problems.ts';
import { sha256Of } from '../../ledger/entry.ts';

/** A record that keeps every rule that can be checked without the archive, and what follows from it. */
export interface CheckedRecord {
  record: PackRecord;
  /** The canonical text (RFC 8785): what is stored, and what the fingerprint is the SHA-256 of. */
  text: string;
  digest: string;
  id: string;
  /** Bytes of all files together. */
  bytes: number;
  /** A JSON Pointer to a field of a file, where it stood in what was sent: the record itself is sorted. */
  pointerTo: (path: string, field: string) => string;
}

/**
 * Checks a record as it was sent, fills in what was left out and makes its fingerprint.
 *
 * @throws Problem 422 with a pointer to each field that breaks its rule; `body_too_large`, `pack_too_large`.
 */
export function checkRecord(sent: unknown): CheckedRecord {
  const record = checkBody(packRecordSchema, sent);
  const text = canonicalText(record);
  // What was left out and filled in counts too: a pack file must hold a record that is taken back.
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES) throw recordTooLarge();
  const digest = sha256Of(text);
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > MAX_PACK_BYTES) throw packTooLarge();
  const positions = new Map(sentPaths(sent).map((path, index) => [path, index] as const));
  return {
    record,
    text,
    digest,
    id: packIdOf(digest),
    bytes,
    pointerTo: (path, field) => jsonPointer(['files', positions.get(path) ?? '-', field]),
  };
}

/** The id of the pack whose record has this fingerprint. */
export function packIdOf(digest: string): string {
  return `pk_${digest.slice(0, ID_DIGITS)}`;
}

export function packTooLarge(): Problem {
  return new Problem(
    'pack_too_large',
    `The files of a pack are at most ${MAX_PACK_BYTES} bytes together. Leave some out, or make two packs of them.`,
  );
}

export function recordTooLarge(): Problem {
  return new Problem('body_too_large', `A record may have at most ${MAX_RECORD_BYTES} bytes.`);
}

/** The paths in the order in which they were sent; the schema has seen to their types. */
function sentPaths(sent: unknown): string[] {
  const { files = [] } = sent as { files?: { path: string }[] };
  return files.map(({ path }) => path);
}
