import type { FieldError } from '../problems.ts';
import { EMPTY_DIGEST } from '../values/digestPattern.ts';
import { jsonPointer } from '../values/issueMessage.ts';
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
