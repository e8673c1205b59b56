import pLimit from 'p-limit';
import { hiddenFault, newPathConflicts, shownPath } from '../../../shared/archive/filePath.ts';
import {
  type PackFile,
  type PackRecord,
  packRecordSchema,
  packUploadRecordSchema,
} from '../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_RECORD_BYTES } from '../../../shared/limits.ts';
import { jsonPointer, Problem, type ProblemCode, type ProblemExtra } from '../../../shared/problems.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { checkBody, parseJsonBytes } from '../../../shared/values/checkBody.ts';
import { ID_DIGITS } from '../../../shared/values/digest.ts';
import { sha256Of } from '../../ledger/entry.ts';
import { runInThread } from '../../runtime/threads.ts';

/** A record that passed all checks that do not need the archive, with its derived values, as plain data. */
interface RecordData {
  record: PackRecord;
  /** The canonical text (RFC 8785), which is stored. The fingerprint is its SHA-256. */
  text: string;
  digest: string;
  id: string;
  /** The total size of all files. */
  bytes: number;
  /** The position of each file in the record as sent. (In `record` the files are sorted.) */
  positions: ReadonlyMap<string, number>;
}

export interface CheckedRecord extends RecordData {
  /** Returns the JSON Pointer to a field of a file in the record as sent. */
  pointerTo: (path: string, field: string) => string;
}

/**
 * Checks a record, fills in defaults and computes its fingerprint.
 *
 * @throws Problem 422 with a pointer to each invalid field; `body_too_large`, `pack_too_large`.
 */
export function checkRecord(sent: unknown): CheckedRecord {
  return withPointers(recordData(sent));
}

/** Checks a record like `checkRecord`. A thread can return the result. */
function recordData(sent: unknown): RecordData {
  const record = checkBody(packRecordSchema, sent);
  const text = canonicalText(record);
  // Defaults count too, so that the record in an exported pack file can be uploaded again.
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES) throw recordTooLarge();
  const digest = sha256Of(text);
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > MAX_PACK_BYTES) throw packTooLarge();
  const positions = new Map(sentPaths(sent).map((path, index) => [path, index] as const));
  return { record, text, digest, id: packIdOf(digest), bytes, positions };
}

function withPointers(data: RecordData): CheckedRecord {
  return {
    ...data,
    pointerTo: (path, field) => jsonPointer(['files', data.positions.get(path) ?? '-', field]),
  };
}

/** Returns the id of the pack with this fingerprint. */
export function packIdOf(digest: string): string {
  return `pk_${digest.slice(0, ID_DIGITS)}`;
}

/**
 * Checks the paths of a new pack by the rules for what somebody names now, beyond those for any pack, which were checked
 * with the record. A pack that exists elsewhere is taken as it is.
 *
 * @throws Problem 422 with a pointer to each such path
 */
export function requireNewPaths(
  paths: readonly string[],
  pointerTo: (path: string) => string = (path) => jsonPointer(['files', paths.indexOf(path), 'path']),
): void {
  const errors = paths.flatMap((path) => {
    const message = hiddenFault(path);
    return message === undefined
      ? []
      : [{ path: pointerTo(path), message: `${shownPath(path)}: ${message}` }];
  });
  // Beyond the conflicts of any pack, which the schema finds, only those of these characters are new.
  const conflicts = paths.some((path) => /[ẞ\u200c\u200d]/.test(path)) ? newPathConflicts(paths) : [];
  for (const { index, other } of conflicts) {
    const [path = '', same = ''] = [paths[index], paths[other]];
    const message = `${shownPath(path)} and ${shownPath(same)} are the same file on some systems. Rename one of them.`;
    errors.push({ path: pointerTo(path), message });
  }
  const [first] = errors;
  if (!first) return;
  throw new Problem('invalid_field', first.message, { errors: errors.slice(0, MAX_PATH_ERRORS) });
}

const MAX_PATH_ERRORS = 100;

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

/** Returns whether a value is a record that omits `files`. */
export function omitsFiles(record: unknown): record is object {
  return typeof record === 'object' && record !== null && !Object.hasOwn(record, 'files');
}

export interface RecordInput {
  /** The record as JSON. */
  bytes: Uint8Array;
  /** The files of a record that omits them, if they are known. */
  files: readonly PackFile[] | undefined;
}

type RecordOutcome =
  | { data: RecordData | undefined }
  | { problem: { code: ProblemCode; message: string; extra: Pick<ProblemExtra, 'errors'> } };

/** A smaller record is checked in a few milliseconds. Starting a thread takes longer. */
const SMALL_BYTES = 65_536;
/** A thread needs the more memory the larger its record is. */
const threads = pLimit(2);

/**
 * Parses and checks a record. The largest records take a second, because of the paths of their files, so all but small
 * ones are checked in a thread.
 *
 * @param files the files of a record that omits them. Without them, only the rest of such a record is checked.
 * @returns the record, or undefined if its files are missing
 * @throws Problem like `parseJsonBytes` and `checkRecord`
 */
export function checkInThread(bytes: Uint8Array, files: readonly PackFile[]): Promise<CheckedRecord>;
export function checkInThread(bytes: Uint8Array): Promise<CheckedRecord | undefined>;
export async function checkInThread(
  bytes: Uint8Array,
  files?: readonly PackFile[],
): Promise<CheckedRecord | undefined> {
  const input: RecordInput = { bytes, files };
  const outcome =
    sizeOf(input) > SMALL_BYTES
      ? await threads(() => runInThread<RecordOutcome>('checkRecord', input))
      : checkRecordBytes(input);
  if ('data' in outcome) return outcome.data && withPointers(outcome.data);
  const { code, message, extra } = outcome.problem;
  throw new Problem(code, message, extra);
}

/** Does the work of `checkInThread` in the thread that calls it. */
export function checkRecordBytes({ bytes, files }: RecordInput): RecordOutcome {
  try {
    const sent = parseJsonBytes(bytes);
    if (!omitsFiles(sent)) return { data: recordData(sent) };
    if (files) return { data: recordData({ ...sent, files }) };
    checkBody(packUploadRecordSchema, sent);
    return { data: undefined };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { problem: { code: error.code, message: error.message, extra: { errors: error.extra.errors } } };
  }
}

/** Returns about how many bytes the record has with these files. */
function sizeOf({ bytes, files = [] }: RecordInput): number {
  return files.reduce((size, { path }) => size + 150 + path.length, bytes.length);
}
