import { type Dirent, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../shared/values/errorCode.ts';
import { DECLARATION_FILE, RECORD_FILE } from '../archive/packs/bag/bagNames.ts';

/** An entry of a folder. */
export type WalkedEntry =
  | { kind: 'file'; path: string; bytes: number }
  /** A folder that is a bag or a pack, and was not walked. */
  | { kind: 'bag'; path: string }
  /** Not a file, or not readable; `detail` has the reason. */
  | { kind: 'other'; path: string; detail: string };

/**
 * Walks a folder recursively and yields its entries in the order of names, several at once. Symbolic links are yielded and not followed, so that no file outside
 * the folder is verified and there are no cycles. A bag for which `stopAt` returns true is yielded and not walked.
 */
export async function* walkFolder(
  folder: string,
  stopAt: (bag: string) => boolean = () => false,
): AsyncGenerator<WalkedEntry[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    yield [{ kind: 'other', path: folder, detail: `cannot be read: ${requireCode(error)}` }];
    return;
  }
  if (isBag(entries) && stopAt(folder)) {
    yield [{ kind: 'bag', path: folder }];
    return;
  }
  entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  let walked: WalkedEntry[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      yield walked;
      walked = [];
      yield* walkFolder(path, stopAt);
    } else if (entry.isFile()) walked.push(fileAt(path));
    else if (entry.isSymbolicLink())
      walked.push({ kind: 'other', path, detail: 'a symbolic link, which is not followed' });
    else walked.push({ kind: 'other', path, detail: 'neither a file nor a folder' });
  }
  yield walked;
}

/** Returns whether a folder is a bag, or a pack without a bag (`pack.json` and `data/`). */
function isBag(entries: readonly Dirent[]): boolean {
  const has = (name: string, isFolder = false) =>
    entries.some((entry) => entry.name === name && (isFolder ? entry.isDirectory() : entry.isFile()));
  return has(DECLARATION_FILE) || (has(RECORD_FILE) && has('data', true));
}

/** Uses the synchronous call, which takes microseconds; a thread would take much longer. */
function fileAt(path: string): WalkedEntry {
  try {
    return { kind: 'file', path, bytes: statSync(path).size };
  } catch (error) {
    return { kind: 'other', path, detail: `cannot be read: ${requireCode(error)}` };
  }
}

/** Returns the code of a system error. @throws any other error */
function requireCode(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code;
}
