import { createReadStream, type Stats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import { type ChecksumEntry, isChecksumList } from '../../shared/values/checksums.ts';
import { isDigest } from '../../shared/values/digestPattern.ts';
import type { BagFile } from '../archive/packs/bag/bagCheck.ts';
import { PAYLOAD_FOLDER } from '../archive/packs/bag/bagNames.ts';
import { ARCHIVE_BAG } from '../dump/archiveBag.ts';
import { READ_SIZE } from '../dump/dumpFile.ts';
import type { HashedFile } from '../hashing/hashFileSync.ts';
import { bagModules, isPackFile, otherBag } from './bagFiles.ts';
import type { ZippedBag } from './bagSources.ts';
import {
  type ChecksumFile,
  type Expected,
  expectedByList,
  expectedForFile,
  expectedInFolder,
  openChecksumFile,
} from './checksumFile.ts';
import { hashFiles } from './hashFiles.ts';
import type { ReferenceArchive } from './referenceArchive.ts';
import { type Finding, finding } from './report.ts';
import type { BagSource } from './verifyBag.ts';
import { headOf, isDump, verifyDump } from './verifyDump.ts';
import { walkFolder } from './walkFolder.ts';

export interface VerifyInput {
  paths: readonly string[];
  /** A list that the files are compared with. */
  list?: ChecksumFile;
  /** An archive in which every file is looked up. */
  holder?: ReferenceArchive;
  /** Called with numbers of bytes that were read, and that were found to be read. */
  progress?: { read: (bytes: number) => void; found: (bytes: number) => void };
}

/** A file to hash, and the expected result. */
interface PlainFile {
  path: string;
  algorithms: readonly string[];
  /** The path in its finding, if it differs from `path`. */
  reportedPath?: string;
  bytes: number;
  expected?: string;
  against?: string;
  detail?: string;
}

const SHA256 = ['sha256'];

const FOLLOWED = 'a symbolic link, followed because it was named';

/** The reply of a timestamp authority. */
const TIMESTAMP_FILE = /\.tsr$/i;

/** If a folder has a file with this name, its files are compared with that list. */
const LIST_NAME = 'SHA256SUMS';

/**
 * Verifies files without a running node and yields a finding for each. Files and folders are compared with a list, with
 * their own names if these are digests, or with an archive. Pack files, bags, lists and dumps are verified by their own
 * contents.
 */
export async function* verifyPaths(input: VerifyInput): AsyncGenerator<Finding> {
  const verifier = new Verifier(input);
  if (input.paths.length === 0 && input.list) yield* verifier.list(input.list);
  for (const path of input.paths) yield* verifier.path(path);
  yield* verifier.rest();
}

class Verifier {
  readonly #list: ChecksumFile | undefined;
  readonly #holder: ReferenceArchive | undefined;
  readonly #read: (bytes: number) => void;
  readonly #found: (bytes: number) => void;
  /** Files that were named individually; they are hashed together at the end. */
  readonly #single: PlainFile[] = [];

  constructor({ list, holder, progress }: VerifyInput) {
    this.#list = list;
    this.#holder = holder;
    this.#read = progress?.read ?? (() => {});
    this.#found = progress?.found ?? (() => {});
  }

  async *path(path: string): AsyncGenerator<Finding> {
    const stats = await stat(path).catch(() => undefined);
    if (!stats) yield finding(path, 'missing', { detail: 'there is no such file' });
    else if (stats.isDirectory()) yield* this.#folder(path);
    else if (stats.isFile()) yield* this.#file(path, stats);
    else yield finding(path, 'unknown', { detail: 'neither a file nor a folder' });
  }

  /** Verifies the files that were named individually. */
  rest(): AsyncGenerator<Finding> {
    return this.#plain(this.#single);
  }

  /** Verifies every file that a list names. */
  async *list(list: ChecksumFile): AsyncGenerator<Finding> {
    yield* faultsOf(list);
    yield* this.#listed(list, await expectedByList(list));
  }

  async *#file(path: string, { size }: Stats): AsyncGenerator<Finding> {
    const detail = (await isLink(path)) ? FOLLOWED : undefined;
    if (this.#list) {
      const entry = await expectedForFile(this.#list, path);
      this.#single.push({ ...plainFile(path, size, entry, this.#list), detail });
      return;
    }
    if (await isPackFile(path)) return yield* this.#packFile(path, size);
    if (TIMESTAMP_FILE.test(path))
      return yield await (await import('./verifyTimestampFile.ts')).verifyTimestampFile(path);
    const other = await otherBag(path, this.#read);
    if (other) return yield* this.#openPackFileBag(path, size, () => Promise.resolve(other));
    const head = await headOf(path);
    if (isDump(head)) {
      this.#found(size);
      const chunks = createReadStream(path, { highWaterMark: READ_SIZE });
      return yield await verifyDump(path, chunks, this.#read);
    }
    if (isChecksumList(head.slice(0, head.lastIndexOf('\n') + 1) || head))
      return yield* this.list(await openChecksumFile(path));
    this.#single.push({ ...plainFile(path, size), detail });
  }

  async *#folder(folder: string): AsyncGenerator<Finding> {
    const listInFolder = join(folder, LIST_NAME);
    const list =
      this.#list ?? ((await isFile(listInFolder)) ? await openChecksumFile(listInFolder) : undefined);
    const expected: Expected = list ? await expectedInFolder(list, folder) : new Map();
    if (list) yield* faultsOf(list);
    // Compared with a given list, every file is a plain file. Otherwise pack files and bags are verified as such.
    const stopAtBags = this.#list === undefined;
    const files: PlainFile[] = [];
    const packFiles: { path: string; bytes: number }[] = [];
    const bags: string[] = [];
    const isBag = (path: string) => stopAtBags && !namesWithin(expected, resolve(path));
    const listPath = list && resolve(list.file);
    for await (const entries of walkFolder(folder, isBag)) {
      for (const entry of entries) {
        const path = resolve(entry.path);
        const listed = expected.get(path);
        expected.delete(path);
        if (entry.kind === 'bag') bags.push(entry.path);
        else if (entry.kind === 'other') yield finding(entry.path, 'unknown', { detail: entry.detail });
        else if (stopAtBags && !listed && entry.path.endsWith('.pack.zip')) packFiles.push(entry);
        else if (path !== listPath) files.push(plainFile(entry.path, entry.bytes, listed, list));
      }
    }
    yield* this.#plain(files);
    if (list) yield* this.#listed(list, expected);
    for (const { path, bytes } of packFiles) yield* this.#packFile(path, bytes);
    for (const bag of bags) yield* this.#bag(bag);
  }

  /** Verifies files that a list names; findings have the names in the list. */
  async *#listed(list: ChecksumFile, expected: Expected): AsyncGenerator<Finding> {
    const files: PlainFile[] = [];
    for (const [path, entry] of expected) {
      const stats = await stat(path).catch(() => undefined);
      const detail = (await isLink(path)) ? FOLLOWED : undefined;
      if (stats?.isFile())
        files.push({ ...plainFile(path, stats.size, entry, list), reportedPath: entry.name, detail });
      else yield finding(entry.name, 'missing', { expected: entry.sha256, against: list.file });
    }
    yield* this.#plain(files);
  }

  async *#plain(files: readonly PlainFile[]): AsyncGenerator<Finding> {
    for (const { bytes } of files) this.#found(bytes);
    let index = 0;
    for await (const batch of hashFiles(files, this.#read)) {
      for (const hashed of batch) {
        const file = files[index] as PlainFile;
        index += 1;
        const found = judged(file, hashed);
        yield this.#holder ? await this.#lookUp(found, file.bytes) : found;
      }
    }
  }

  /** Looks a file up in the archive, if there is one. */
  async #lookUp(found: Finding, bytes: number): Promise<Finding> {
    const { sha256, state } = found;
    if (!this.#holder || sha256 === null || state === 'changed') return found;
    const { name } = this.#holder;
    if (await this.#holder.holds(sha256, bytes))
      return { ...found, state: 'intact', against: found.against ?? name };
    return { ...found, state: 'unknown', against: name, detail: `${name} does not hold it` };
  }

  #packFile(path: string, bytes: number): AsyncGenerator<Finding> {
    return this.#openPackFileBag(path, bytes, async () => {
      const { openPackFileBag } = await bagModules();
      return openPackFileBag(path, this.#read);
    });
  }

  async *#openPackFileBag(
    path: string,
    bytes: number,
    open: () => Promise<ZippedBag>,
  ): AsyncGenerator<Finding> {
    this.#found(bytes);
    const { verifyBag } = await bagModules();
    try {
      const bag = await open();
      try {
        for await (const found of verifyBag(bag))
          yield await this.#lookUpPayload(bag, await dumpIn(bag, found));
      } finally {
        await bag.close();
      }
    } catch (error) {
      if (error instanceof Problem)
        yield finding(path, 'changed', { detail: `${error.message} (${error.code})` });
      else if (error instanceof Error && 'syscall' in error && 'code' in error) {
        yield finding(path, 'unknown', { detail: `cannot be read: ${String(error.code)}` });
      } else throw error;
    }
  }

  async *#bag(path: string): AsyncGenerator<Finding> {
    const { openFolderBag, verifyBag } = await bagModules();
    const bag = await openFolderBag(path, this.#read);
    for (const { bytes } of bag.files.values()) this.#found(bytes);
    for await (const found of verifyBag(bag)) yield await this.#lookUpPayload(bag, await dumpIn(bag, found));
  }

  /** Looks up payload files only: an archive does not store the tag files of a pack. */
  #lookUpPayload({ path, files }: BagSource, found: Finding): Promise<Finding> | Finding {
    const name = found.path.slice(path.length + 1);
    const bytes = files.get(name)?.bytes;
    return name.startsWith(PAYLOAD_FOLDER) && bytes !== undefined ? this.#lookUp(found, bytes) : found;
  }
}

function judged(file: PlainFile, hashed: HashedFile): Finding {
  const { path, reportedPath = path, expected = null, against = null, detail = null } = file;
  if ('failure' in hashed) {
    const reason = `cannot be read: ${hashed.failure}`;
    return finding(reportedPath, 'unknown', { expected, against, detail: reason });
  }
  const sha256 = hashed.digests.sha256 ?? '';
  const state = expected === null ? 'unknown' : sha256 === expected ? 'intact' : 'changed';
  return { path: reportedPath, state, sha256, expected, against, detail };
}

/** Also verifies the dump in an exported archive by itself, which detects a dump changed together with the manifests. */
async function dumpIn({ path, folderName, files }: BagSource, found: Finding): Promise<Finding> {
  const dump = files.get(ARCHIVE_BAG.dump);
  if (!dump || found.state !== 'intact' || found.path !== `${path}/${ARCHIVE_BAG.dump}`) return found;
  // A bag of other software may hold a file with this name.
  if (folderName !== ARCHIVE_BAG.folder && !isDump(await beginningOf(dump))) return found;
  const ofDump = await verifyDump(found.path, dump.read(), () => {});
  return ofDump.state === 'intact' ? found : { ...found, ...ofDump, sha256: found.sha256 };
}

async function beginningOf(file: BagFile): Promise<string> {
  for await (const chunk of file.read()) return Buffer.from(chunk).toString('utf8');
  return '';
}

/** Without a list entry, a file whose name is a digest, like a blob, must hash to its name. */
function plainFile(path: string, bytes: number, entry?: ChecksumEntry, list?: ChecksumFile): PlainFile {
  const file = { path, bytes, algorithms: SHA256 };
  if (entry && list) return { ...file, expected: entry.sha256, against: list.file };
  const name = basename(path);
  return isDigest(name) ? { ...file, expected: name, against: 'its name' } : file;
}

function* faultsOf({ file, faults }: ChecksumFile): Generator<Finding> {
  for (const line of faults) {
    yield finding(file, 'unknown', { detail: `line ${line} is not a SHA-256 digest and a name` });
  }
}

async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() ?? false;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}

function namesWithin(expected: Expected, folder: string): boolean {
  for (const path of expected.keys()) if (path.startsWith(folder + sep)) return true;
  return false;
}
