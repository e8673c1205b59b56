import { type FieldError, jsonPointer } from '../problems.ts';
import { EMPTY_DIGEST } from '../values/digestPattern.ts';
import { pathConflicts } from './filePath.ts';

/*
 * What nodes and evidence files alike know of the file `set.json`. Apart from the schemas, because evidence files carry
 * their code with them.
 */

export const SET_FORMAT = 'strongroom-set@1';
/** The only file of a manifest pack. */
export const SET_FILE = 'set.json';

/** Returns the text of `set.json`; undefined if the file is not JSON in UTF-8 or has another format, and so is no set. */
export function setTextOf(json: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(json);
    return (JSON.parse(text) as { format?: unknown } | null)?.format === SET_FORMAT ? text : undefined;
  } catch {
    // Not UTF-8 or not JSON, so it is a file of another kind.
    return undefined;
  }
}

/** A file as `set.json` lists it, as far as its faults are about it. */
interface ListedFile {
  path: string;
  bytes: number;
  sha256: string;
  parts: readonly { bytes: number; sha256: string }[];
}

/** Checks what each file says of itself, and that the files can lie in one folder. */
export function setFaults(files: readonly ListedFile[]): FieldError[] {
  const faults: FieldError[] = [];
  const add = (index: number, field: string, message: string) =>
    faults.push({ path: jsonPointer(['files', index, field]), message });
  for (const [index, { bytes, sha256, parts }] of files.entries()) {
    const sum = parts.reduce((total, part) => total + part.bytes, 0);
    if (sum !== bytes) add(index, 'bytes', `The parts have ${sum} bytes, but the file ${bytes}.`);
    const [only, ...others] = parts;
    const expected = only === undefined ? EMPTY_DIGEST : others.length === 0 ? only.sha256 : sha256;
    if (sha256 !== expected) add(index, 'sha256', `The digest of the only part is ${expected}.`);
  }
  for (const { index, kind } of pathConflicts(files.map(({ path }) => path)))
    add(
      index,
      'path',
      kind === 'same'
        ? 'Another file has this path, or a path that differs only in case.'
        : 'Another file uses this name as a folder.',
    );
  return faults;
}

/**
 * The largest size of the files of a part. The rest of a pack's 50 MiB is for what its pack file has besides: two
 * mebibytes at most for the files of a part, and the record.
 */
export const PART_BYTES = 48 * 1_048_576;
const MAX_OVERHEAD_BYTES = 2 * 1_048_576;
/** What a file takes in the tag files and the headers of a pack file, besides its path, which is there eight times. */
const OVERHEAD_PER_FILE = 700;
const TIMES_PATH = 8;
const UTF8 = new TextEncoder();
/** More files make the transaction that records a part too long. */
const MAX_PART_FILES = 2_000;

/** A file of a part: a whole file of the set, or a piece of a large one. */
export interface PlannedFile {
  /** The position of the file in the list that was planned. */
  file: number;
  /** Its path in the part. */
  path: string;
  /** The first byte of the piece; 0 for a whole file. */
  start: number;
  bytes: number;
  isPiece: boolean;
}

/**
 * Plans the parts of a set. Files are taken in their order; one that is larger than a part is cut into pieces, each of
 * which is a part of its own. The same files give the same plan.
 */
export function planSet(
  files: readonly { path: string; bytes: number }[],
  partBytes: number = PART_BYTES,
): PlannedFile[][] {
  const parts: PlannedFile[][] = [];
  let part: PlannedFile[] = [];
  let [bytes, overhead] = [0, 0];
  for (const [index, file] of files.entries()) {
    if (file.bytes > partBytes) {
      parts.push(...piecesOf(index, file.bytes, partBytes));
      continue;
    }
    const more = OVERHEAD_PER_FILE + TIMES_PATH * UTF8.encode(file.path).length;
    const isFull =
      bytes + file.bytes > partBytes ||
      overhead + more > MAX_OVERHEAD_BYTES ||
      part.length === MAX_PART_FILES;
    if (isFull && part.length > 0) {
      parts.push(part);
      [part, bytes, overhead] = [[], 0, 0];
    }
    part.push({ file: index, path: file.path, start: 0, bytes: file.bytes, isPiece: false });
    bytes += file.bytes;
    overhead += more;
  }
  return part.length > 0 ? [...parts, part] : parts;
}

function piecesOf(file: number, bytes: number, partBytes: number): PlannedFile[][] {
  return Array.from({ length: Math.ceil(bytes / partBytes) }, (_, piece) => {
    const start = piece * partBytes;
    const path = `piece-${String(piece + 1).padStart(5, '0')}`;
    return [{ file, path, start, bytes: Math.min(partBytes, bytes - start), isPiece: true }];
  });
}
