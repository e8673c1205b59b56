import { type PackRecord, packRecordSchema } from '../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_RECORD_BYTES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { checkBody } from '../../../shared/values/checkBody.ts';
import { ID_DIGITS } from '../../../shared/values/digest.ts';
import { jsonPointer } from '../../../shared/values/jsonPointer.ts';
import { sha256Of } from '../../ledger/entry.ts';

/** A record that passed all checks that do not need the archive, with its derived values. */
export interface CheckedRecord {
  record: PackRecord;
  /** The canonical text (RFC 8785), which is stored. The fingerprint is its SHA-256. */
  text: string;
  digest: string;
  id: string;
  /** The total size of all files. */
  bytes: number;
  /** Returns the JSON Pointer to a field of a file in the record as sent. (In `record` the files are sorted.) */
  pointerTo: (path: string, field: string) => string;
}

/**
 * Checks a record, fills in defaults and computes its fingerprint.
 *
 * @throws Problem 422 with a pointer to each invalid field; `body_too_large`, `pack_too_large`.
 */
export function checkRecord(sent: unknown): CheckedRecord {
  const record = checkBody(packRecordSchema, sent);
  const text = canonicalText(record);
  // Defaults count too, so that the record in an exported pack file can be uploaded again.
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

/** Returns the id of the pack with this fingerprint. */
export function packIdOf(digest: string): string {
  return `pk_${digest.slice(0, ID_DIGITS)}`;
}

export function packTooLarge(): Problem {
  return new Problem(
    'pack_too_large',
    `The files of a pack can have at most ${MAX_PACK_BYTES} bytes in total. Remove some, or split them into two packs.`,
  );
}

export function recordTooLarge(): Problem {
  return new Problem('body_too_large', `A record can have at most ${MAX_RECORD_BYTES} bytes.`);
}

/** Returns the paths in the order in which they were sent. The schema has checked their types. */
function sentPaths(sent: unknown): string[] {
  const { files = [] } = sent as { files?: { path: string }[] };
  return files.map(({ path }) => path);
}
