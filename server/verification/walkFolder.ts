import { type Dirent, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode } from '../../shared/values/errorCode.ts';
import { DECLARATION_FILE, RECORD_FILE } from '../archive/packs/bag/bagNames.ts';

/** An entry of a folder. `absolute` is the normalized absolute form of `path`. */
export type WalkedEntry = { path: string; absolute: string } & (
  | { kind: 'file'; bytes: number }
  /** A folder that is a bag or a pack, and was not walked. */
  | { kind: 'bag' }
  /** Not a file, or not readable; `detail` has the reason. */
  | { kind: 'other'; detail: string }
);

/**
 * Walks a folder recursively and yields its entries in the order of names, several at once. Symbolic links are yielded
 * and not followed, so that no file outside the folder is verified and there are no cycles. A bag for which `stopAt`
 * returns true for its absolute path is yielded and not walked.
 */
export async function* walkFolder(
  folder: string,
  stopAt: (bag: string) => boolean = () => false,
): AsyncGenerator<WalkedEntry[]> {
  const absolute = resolve(folder);
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    yield [{ kind: 'other', path: folder, absolute, detail: `cannot be read: ${requireCode(error)}` }];
    return;
  }
  if (isBag(entries) && stopAt(absolute)) {
    yield [{ kind: 'bag', path: folder, absolute }];
    return;
  }
  entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  // Joining paths for each file takes as long as reading a small one.
  const prefix = join(folder, 'x').slice(0, -1);
  const absolutePrefix = resolve(folder, 'x').slice(0, -1);
  let walked: WalkedEntry[] = [];
  for (const entry of entries) {
    const path = prefix + entry.name;
    if (entry.isDirectory()) {
      yield walked;
      walked = [];
      yield* walkFolder(path, stopAt);
    } else walked.push(entryAt(entry, path, absolutePrefix + entry.name));
  }
  yield walked;
}

/** Returns whether a folder is a bag, or a pack without a bag (`pack.json` and `data/`). */
function isBag(entries: readonly Dirent[]): boolean {
  const has = (name: string, isFolder = false) =>
    entries.some((entry) => entry.name === name && (isFolder ? entry.isDirectory() : entry.isFile()));
  return has(DECLARATION_FILE) || (has(RECORD_FILE) && has('data', true));
}

function entryAt(entry: Dirent, path: string, absolute: string): WalkedEntry {
  if (entry.isSymbolicLink())
    return { kind: 'other', path, absolute, detail: 'a symbolic link, which is not followed' };
  if (!entry.isFile()) return { kind: 'other', path, absolute, detail: 'neither a file nor a folder' };
  try {
    // The synchronous call takes microseconds; the asynchronous one takes much longer.
    return { kind: 'file', path, absolute, bytes: statSync(path).size };
  } catch (error) {
    return { kind: 'other', path, absolute, detail: `cannot be read: ${requireCode(error)}` };
  }
}

/** Returns the code of a system error. @throws any other error */
function requireCode(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code;
}
