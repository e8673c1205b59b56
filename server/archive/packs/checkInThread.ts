import pLimit from 'p-limit';
import { type PackFile, packUploadRecordSchema } from '../../../shared/archive/pack.ts';
import { Problem, type ProblemCode, type ProblemExtra } from '../../../shared/problems.ts';
import { checkBody, parseJsonBytes } from '../../../shared/values/checkBody.ts';
import { runInThread } from '../../runtime/runInThread.ts';
import { omitsFiles } from './file/writePackFile.ts';
import { type CheckedRecord, type RecordData, recordData, withPointers } from './packRows.ts';

export interface RecordInput {
  /** The record as JSON. */
  bytes: Uint8Array;
  /** The files of a record that omits them, if they are known. */
  files: readonly PackFile[] | undefined;
}

export type RecordOutcome =
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
