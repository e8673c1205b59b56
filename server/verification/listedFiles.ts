import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import { type ChecksumEntry, parseChecksums } from './sums.ts';

/** A list of digests, read. */
export interface ChecksumFile {
  /** As findings name it. */
  file: string;
  entries: ChecksumEntry[];
  /** Numbers of lines that say nothing that can be checked. */
  faults: number[];
}

/** What a list expects of files, by their absolute path. */
export type Expected = Map<string, ChecksumEntry>;

export async function openChecksumFile(file: string): Promise<ChecksumFile> {
  return { file, ...parseChecksums(await readFile(file, 'utf8')) };
}

/**
 * What a list says of the files in a folder. Lists are written from different places: names are taken from the folder
 * itself, from where the list lies, or from here, whichever is the first that leads to any file.
 */
export async function expectedInFolder(list: ChecksumFile, folder: string): Promise<Expected> {
  const root = resolve(folder);
  for (const base of [root, dirname(resolve(list.file)), process.cwd()]) {
    const within = expectedFrom(list, base, (path) => isWithin(root, path));
    if (await anyExists(within.keys())) return within;
  }
  return expectedFrom(list, root, () => true);
}

/** What a list says of all that it names, from where it lies or from here. */
export async function expectedByList(list: ChecksumFile): Promise<Expected> {
  const beside = expectedFrom(list, dirname(resolve(list.file)), () => true);
  if (await anyExists(beside.keys())) return beside;
  const here = expectedFrom(list, process.cwd(), () => true);
  return (await anyExists(here.keys())) ? here : beside;
}

/** What a list says of one file: by its path, else by its name where the list has that name once. */
export async function expectedForFile(list: ChecksumFile, file: string): Promise<ChecksumEntry | undefined> {
  const listed = (await expectedByList(list)).get(resolve(file));
  if (listed) return listed;
  const alike = list.entries.filter(({ name }) => basename(name) === basename(file));
  return alike.length === 1 ? alike[0] : undefined;
}

function expectedFrom(
  { entries }: ChecksumFile,
  base: string,
  isWanted: (path: string) => boolean,
): Expected {
  const all = entries.map((entry) => [resolve(base, entry.name), entry] as const);
  return new Map(all.filter(([path]) => isWanted(path)));
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && resolve(folder, way) === path;
}

async function anyExists(paths: Iterable<string>): Promise<boolean> {
  for (const path of paths) if (await stat(path).catch(() => undefined)) return true;
  return false;
}
