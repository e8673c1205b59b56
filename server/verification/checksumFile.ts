import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, resolve, sep } from 'node:path';
import { type ChecksumEntry, parseChecksums } from '../../shared/values/checksums.ts';

/** A file with a list of digests, such as `SHA256SUMS`. */
export interface ChecksumFile {
  /** Its name in findings. */
  file: string;
  entries: ChecksumEntry[];
  /** The numbers of the lines that are not valid. */
  faults: number[];
}

/** The entries of a list by the absolute paths of their files. */
export type Expected = Map<string, ChecksumEntry>;

export async function openChecksumFile(file: string): Promise<ChecksumFile> {
  return { file, ...parseChecksums(await readFile(file, 'utf8')) };
}

/**
 * Returns the entries for the files in a folder. Names in a list may be relative to that folder, to the folder of the list
 * or to the current folder: the first of these in which any named file exists is used.
 */
export async function expectedInFolder(list: ChecksumFile, folder: string): Promise<Expected> {
  const root = resolve(folder);
  for (const base of [root, dirname(resolve(list.file)), process.cwd()]) {
    const within = expectedFrom(list, base, (path) => isWithin(root, path));
    if (await anyExists(within.keys())) return within;
  }
  return expectedFrom(list, root, () => true);
}

/** Returns all entries of a list, relative to its own folder or to the current one. */
export async function expectedByList(list: ChecksumFile): Promise<Expected> {
  const beside = expectedFrom(list, dirname(resolve(list.file)), () => true);
  if (await anyExists(beside.keys())) return beside;
  const here = expectedFrom(list, process.cwd(), () => true);
  return (await anyExists(here.keys())) ? here : beside;
}

/** Returns the entry for one file: by its path, else by its name if the name is unique in the list. */
export async function expectedForFile(list: ChecksumFile, file: string): Promise<ChecksumEntry | undefined> {
  const listed = (await expectedByList(list)).get(resolve(file));
  if (listed) return listed;
  const sameName = list.entries.filter(({ name }) => basename(name) === basename(file));
  return sameName.length === 1 ? sameName[0] : undefined;
}

function expectedFrom(
  { entries }: ChecksumFile,
  base: string,
  isWanted: (path: string) => boolean,
): Expected {
  const expected: Expected = new Map();
  const prefix = base.endsWith(sep) ? base : base + sep;
  for (const entry of entries) {
    // Most names are plain paths. Resolving each of thousands takes as long as reading a small file.
    const path = isPlainPath(entry.name) ? prefix + entry.name : resolve(base, entry.name);
    if (isWanted(path)) expected.set(path, entry);
  }
  return expected;
}

/** Whether a name is relative and has no empty part, `.` or `..`, so that it is resolved by putting it after a folder. */
function isPlainPath(name: string): boolean {
  return sep === '/' && !/(?:^|\/)\.{0,2}(?:\/|$)/.test(name);
}

/** Both are absolute and normalized. */
function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function anyExists(paths: Iterable<string>): Promise<boolean> {
  for (const path of paths) if (await stat(path).catch(() => undefined)) return true;
  return false;
}
