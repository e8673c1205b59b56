import { lstatSync, readFileSync, type Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { isCheckpointNote } from '../../shared/proof/ledger/signedNote.ts';
import { bagKindIn, formatIn, lackingIn, type NamedFormat, nameOneBag } from '../../shared/proof/names.ts';
import { errorCode } from '../../shared/values/errorCode.ts';
import { DECLARATION_FILE, RECORD_FILE } from '../archive/packs/bag/tagFiles.ts';
import { type ChecksumFile, type Expected, type PlainFile, plainFile } from './plainFiles.ts';
import { type Finding, finding } from './report.ts';

/** An entry of a folder. `absolute` is the normalized absolute form of `path`. */
type WalkedEntry = { path: string; absolute: string } & (
  | { kind: 'file'; bytes: number }
  /** A folder that is a bag or a pack, and was not walked. */
  | { kind: 'bag' }
  /** Not a file, or not readable; `detail` has the reason. */
  | { kind: 'other'; detail: string }
  /** A file that a walked folder lacks to be what it says that it is. */
  | { kind: 'lacking' }
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
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    yield [{ kind: 'other', path: folder, absolute, detail: `cannot be read: ${requireCode(error)}` }];
    return;
  }
  // Joining paths for each file takes as long as reading a small one.
  const prefix = join(folder, 'x').slice(0, -1);
  const absolutePrefix = resolve(folder, 'x').slice(0, -1);
  const statsOf = (name: string) => {
    const [entry = ''] = name.split('/');
    return names.includes(entry) ? statsAt(prefix + name) : undefined;
  };
  const holding: FolderEntries = {
    name: basename(absolute),
    names,
    hasFile: (name) => statsOf(name)?.isFile() === true,
    hasFolder: (name) => statsOf(name)?.isDirectory() === true,
    isCheckpoint: (name) => {
      const stats = statsOf(name);
      return stats?.isFile() === true && stats.size <= MAX_CHECKPOINT_BYTES && holdsCheckpoint(prefix + name);
    },
  };
  if (isBag(holding) && stopAt(absolute)) {
    yield [{ kind: 'bag', path: folder, absolute }];
    return;
  }
  yield lackingInFolder(holding).map((name) => ({
    kind: 'lacking',
    path: prefix + name,
    absolute: absolutePrefix + name,
  }));
  let walked: WalkedEntry[] = [];
  for (const name of names.sort()) {
    const path = prefix + name;
    const entry = entryAt(path, absolutePrefix + name);
    if (entry) walked.push(entry);
    else {
      yield walked;
      walked = [];
      yield* walkFolder(path, stopAt);
    }
  }
  yield walked;
}

/** What is in a folder. */
interface FolderEntries {
  /** The name of the folder. */
  name: string;
  names: readonly string[];
  hasFile: (name: string) => boolean;
  hasFolder: (name: string) => boolean;
  isCheckpoint: (name: string) => boolean;
}

/** Returns whether a folder is a bag, or a pack without a bag: `pack.json` with `data/`, or in a folder with the name of a pack. */
function isBag({ name, hasFile, hasFolder }: FolderEntries): boolean {
  if (hasFile(DECLARATION_FILE)) return true;
  return hasFile(RECORD_FILE) && (bagKindIn(name) === 'pack' || hasFolder('data'));
}

/** Returns what a folder that is no bag lacks to be the pack, case or archive that its name says, or the copy that it holds. */
function lackingInFolder({ name, names, hasFile, hasFolder, isCheckpoint }: FolderEntries): string[] {
  const needed = lackingIn({ has: hasFile }, [name]);
  // A ZIP is often extracted into a folder of its own name. What else is there has lines of its own.
  const isIt = (entry: string) =>
    nameOneBag(name, entry) && (hasFolder(entry) || (/\.zip$/i.test(entry) && hasFile(entry)));
  const lacking = needed.length > 0 && names.some(isIt) ? [] : needed;
  // A saved model may have such names, too.
  const isCopy = !names.includes(COPY_FILE) && COPY_FOLDERS.some(hasFolder) && isCheckpoint(COPY_CHECKPOINT);
  return isCopy ? [...lacking, COPY_FILE] : lacking;
}

/** The file by which a copy is recognised, and others that it has. */
const COPY_FILE = 'strongroom.json';
const COPY_CHECKPOINT = 'checkpoint';
const COPY_FOLDERS = ['archive', 'records', 'state'];
/** Much more than a checkpoint with its cosignatures has. */
const MAX_CHECKPOINT_BYTES = 65_536;

/** One that cannot be read is none; the walk reports it. */
function holdsCheckpoint(path: string): boolean {
  try {
    return isCheckpointNote(readFileSync(path, 'utf8'));
  } catch (error) {
    requireCode(error);
    return false;
  }
}

/** Returns undefined for what cannot be read; the walk reports it. */
function statsAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    requireCode(error);
    return undefined;
  }
}

/** Returns what is at a path, or undefined if it is a folder. */
function entryAt(path: string, absolute: string): WalkedEntry | undefined {
  try {
    // The synchronous call takes microseconds; the asynchronous one takes much longer.
    const stats = lstatSync(path);
    if (stats.isDirectory()) return undefined;
    if (stats.isFile()) return { kind: 'file', path, absolute, bytes: stats.size };
    const detail = stats.isSymbolicLink()
      ? 'a symbolic link, which is not followed'
      : 'neither a file nor a folder';
    return { kind: 'other', path, absolute, detail };
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

/** Whether a file may prove itself by its name. Other files in a folder are not opened to find out what they are. */
function mayProve(path: string, format: NamedFormat | undefined): boolean {
  return format !== undefined || /\.zip$/i.test(path) || bagKindIn(path) !== undefined;
}

/** A file that may prove itself. */
export interface ProofFile {
  file: PlainFile;
  /** Whether the list names it. */
  isListed: boolean;
  /** Whether it proves nothing, because that takes a key that was not named. It can still be altered. */
  lacksKey: boolean;
}

const ONLY_COMPARED = 'only compared with the list; verify it with --key';

interface ListedFolder {
  /** The listed files that were not found yet, by their absolute paths. */
  expected: Expected;
  list: ChecksumFile | undefined;
  /** Whether files that prove themselves are verified as such, also those that the list names. */
  findsProofs: boolean;
  /** Whether a key was named, without which a checkpoint or a proof file proves nothing. */
  hasKey: boolean;
}

/** Sorts the entries of a walked folder by how they are verified. */
export class FolderContents {
  readonly others: Finding[] = [];
  /** Files that may prove themselves. Those that a list names are among the plain files too. */
  readonly proofFiles: ProofFile[] = [];
  readonly bags: string[] = [];
  readonly #expected: Expected;
  readonly #list: ChecksumFile | undefined;
  readonly #listPath: string | undefined;
  readonly #findsProofs: boolean;
  readonly #hasKey: boolean;

  constructor({ expected, list, findsProofs, hasKey }: ListedFolder) {
    this.#expected = expected;
    this.#list = list;
    this.#listPath = list && resolve(list.file);
    this.#findsProofs = findsProofs;
    this.#hasKey = hasKey;
  }

  /** Yields the plain files, and keeps the other entries. Removes what is there from the expected files. */
  async *plainFiles(walked: AsyncIterable<WalkedEntry[]>): AsyncGenerator<PlainFile[]> {
    for await (const entries of walked) {
      const files: PlainFile[] = [];
      for (const entry of entries) {
        const file = this.#sort(entry);
        if (file) files.push(file);
      }
      yield files;
    }
  }

  #sort(entry: WalkedEntry): PlainFile | undefined {
    const { path, absolute } = entry;
    if (entry.kind === 'lacking') return this.#lacking(entry);
    const listed = this.#expected.get(absolute);
    if (listed) this.#expected.delete(absolute);
    if (entry.kind === 'bag') this.bags.push(path);
    else if (entry.kind === 'other') this.others.push(finding(path, 'unknown', { detail: entry.detail }));
    else if (absolute !== this.#listPath) {
      const file = plainFile(path, entry.bytes, listed, this.#list);
      if (!this.#findsProofs) return file;
      const format = formatIn(path);
      if (!mayProve(path, format)) return file;
      const isListed = listed !== undefined;
      const lacksKey = isListed && !this.#hasKey && (format === 'checkpoint' || format === 'proof');
      this.proofFiles.push({ file, isListed, lacksKey });
      // A list proves only that it is the file that somebody listed.
      if (isListed) return lacksKey ? { ...file, detail: ONLY_COMPARED } : file;
    }
    return undefined;
  }

  /** One that the list names is found missing by that. Compared with a given list, no file is more than a file. */
  #lacking({ path, absolute }: WalkedEntry): undefined {
    if (!this.#findsProofs || this.#expected.has(absolute)) return;
    this.others.push(
      finding(path, 'missing', { detail: 'without it, the folder is not what it says that it is' }),
    );
  }
}
