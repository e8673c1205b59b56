import { createReadStream, lstatSync, type Stats, statSync } from 'node:fs';
import { access, constants, open, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { bagKindOf, bagWords, isPackFileName } from '../../shared/archive/bagFiles.ts';
import { Problem } from '../../shared/problems.ts';
import type { KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import { WRITTEN_PAGES } from '../../shared/proof/evidence/writtenPages.ts';
import { isCheckpointNote, isProofFile } from '../../shared/proof/ledger/signedNote.ts';
import { bagKindIn, formatIn, isCommonName } from '../../shared/proof/names.ts';
import { shownPath } from '../../shared/proof/words.ts';
import {
  CHECKSUM_LIST_NAME,
  isChecksumList,
  MAX_CHECKSUM_LIST_BYTES,
} from '../../shared/values/checksums.ts';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { PAYLOAD_FOLDER, RECORD_FILE, SEAL_FILE } from '../archive/packs/bag/tagFiles.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { archiveIn, HEAD_BYTES, isDump } from './exportedArchive.ts';
import type { BagSource, ZippedBag } from './openBag.ts';
import {
  type ChecksumFile,
  type Expected,
  expectedByList,
  expectedForFile,
  expectedInFolder,
  lookUp,
  namesOutside,
  openChecksumFile,
  type PlainFile,
  plainFile,
  plainFindings,
  type ReferenceArchive,
  type VerifyContext,
} from './plainFiles.ts';
import { type Finding, finding } from './report.ts';
import { FolderContents, type ProofFile, walkFolder } from './walkFolder.ts';

/** A dump is read in pieces of this size. */
const READ_SIZE = 1_048_576;

export interface VerifyInput {
  paths: readonly string[];
  /** A list that the files are compared with. */
  list?: ChecksumFile | undefined;
  /** An archive in which every file is looked up. */
  holder?: ReferenceArchive | undefined;
  /** The pages of evidence files that are known, asked for with the first evidence file (default: those of earlier versions). */
  pages?: () => Promise<readonly KnownPage[]>;
  /** The verifier key of a node: what another key signed is unsigned. */
  key?: string | undefined;
  /** Called with numbers of bytes that were read, and that were found to be read. */
  progress?: { read: (bytes: number) => void; found: (bytes: number) => void };
}

const FOLLOWED = 'a symbolic link, followed because it was named';

/** If a folder has a file with this name, its files are compared with that list. */
const LIST_NAME = 'SHA256SUMS';

/** The number of listed files that are looked for before the event loop continues. */
const LISTED_AT_ONCE = 256;

/**
 * Verifies files without a running node and yields a finding for each, in batches. Files and folders are compared with a
 * list, with their own names if these are digests, or with an archive. Pack files, bags, lists and dumps are verified by
 * their own contents.
 */
export async function* verifyPaths(input: VerifyInput): AsyncGenerator<Finding[]> {
  const verifier = new Verifier(input);
  if (input.paths.length === 0 && input.list) yield* verifier.list(input.list);
  for (const path of input.paths) yield* verifier.path(path);
  yield* verifier.rest();
}

class Verifier {
  readonly #list: ChecksumFile | undefined;
  readonly #context: VerifyContext;
  /** Files that were named individually; they are hashed together at the end. */
  readonly #single: PlainFile[] = [];

  constructor({ list, holder, pages, key, progress }: VerifyInput) {
    this.#list = list;
    this.#context = {
      holder,
      read: progress?.read ?? (() => {}),
      found: progress?.found ?? (() => {}),
      pages: pages ?? (() => Promise.resolve(WRITTEN_PAGES)),
      key,
    };
  }

  async *path(path: string): AsyncGenerator<Finding[]> {
    const stats = await stat(path).catch(() => undefined);
    if (!stats) yield [finding(path, 'missing', { detail: 'there is no such file' })];
    else if (stats.isDirectory()) yield* this.#orNothing(path, this.#folder(path));
    else if (stats.isFile()) yield* this.#file(path, stats);
    else yield [finding(path, 'unknown', { detail: 'neither a file nor a folder' })];
  }

  /** Verifies the files that were named individually. */
  rest(): AsyncGenerator<Finding[]> {
    return plainFindings([this.#single], this.#context);
  }

  /** Verifies every file that a list names. */
  async *list(list: ChecksumFile): AsyncGenerator<Finding[]> {
    yield faultsOf(list);
    yield* this.#listed(list, await expectedByList(list));
  }

  async *#file(path: string, { size }: Stats): AsyncGenerator<Finding[]> {
    const detail = isLink(path) ? FOLLOWED : undefined;
    if (this.#list) {
      const entry = await expectedForFile(this.#list, path);
      this.#single.push({ ...plainFile(path, size, entry, this.#list), detail });
      return;
    }
    // Who names a file by its digest asks whether it has that digest, whatever is in it.
    if (isDigest(basename(path))) return void this.#single.push({ ...plainFile(path, size), detail });
    const proven = await this.#proven(path, size);
    if (typeof proven === 'object') return yield* detail === undefined ? proven : withDetail(proven, detail);
    const isList = proven === undefined && (await holdsDigests(path));
    const whyNot = isList ? whyNotAsList(path, size) : proven;
    if (isList && whyNot === undefined) return yield* this.list(await openChecksumFile(path));
    this.#single.push({ ...plainFile(path, size), detail: whyNot ?? detail });
  }

  /**
   * Returns the findings of a file that is verified by its own contents, a sentence that says why it cannot be, or undefined for
   * any other.
   */
  async #proven(path: string, size: number): Promise<AsyncIterable<Finding[]> | string | undefined> {
    const { key, read } = this.#context;
    const format = formatIn(path);
    if (await isPackFile(path)) return packFileFindings(path, size, this.#context);
    if (format === 'timestamp') return one((await import('./verifyProofFile.ts')).verifyTimestampFile(path));
    if (format === 'evidence') return one(this.#evidence(path, () => createReadStream(path)));
    if (format === 'wacz') return one((await import('./verifyWacz.ts')).verifyWaczFile(path, key));
    const other = await openOtherBag(path, read);
    if (typeof other === 'object')
      return zippedBagFindings(path, size, () => Promise.resolve(other), this.#context);
    if (other !== undefined) return other;
    // Nor is a file one by its name that is no ZIP, or in which there is none.
    const kind = bagKindIn(path);
    if (kind !== undefined) return `its name is that of ${bagWords(kind)}, and none was found in it`;
    const head = await headOf(path);
    const isCheckpoint = size < HEAD_BYTES && isCheckpointNote(head);
    // Under the name of another format it could be intact as what it is not, such as a list of other files.
    if (format === 'checkpoint' && !isCheckpoint) return 'its name is that of a checkpoint, and it is none';
    const isNote = (isCheckpoint || isProofFile(head)) && format !== 'dump';
    if (isNote || format === 'proof')
      return one((await import('./verifyNotes.ts')).verifyNoteFile(path, key));
    if (isDump(head)) {
      this.#context.found(size);
      const chunks = createReadStream(path, { highWaterMark: READ_SIZE });
      const { verifyDump } = await import('./verifyDump.ts');
      return one(verifyDump(path, withProgress(chunks, read), { key }));
    }
    return format === 'dump' ? 'its name is that of a dump, and it is none' : undefined;
  }

  async #evidence(path: string, read: () => AsyncIterable<Uint8Array>): Promise<Finding> {
    const { verifyEvidenceFile } = await import('./verifyProofFile.ts');
    const { pages, key } = this.#context;
    return verifyEvidenceFile(path, read, { pages: await pages(), key });
  }

  /** Says so if nothing is found of a folder that was named: it must not count as intact because other files are. */
  async *#orNothing(folder: string, found: AsyncIterable<Finding[]>): AsyncGenerator<Finding[]> {
    const singles = this.#single.length;
    let count = 0;
    for await (const some of found) {
      count += some.length;
      yield some;
    }
    if (count + this.#single.length === singles)
      yield [finding(folder, 'unknown', { detail: 'there is nothing to verify in it' })];
  }

  async *#folder(folder: string): AsyncGenerator<Finding[]> {
    const listInFolder = join(folder, LIST_NAME);
    const size = this.#list ? undefined : fileSize(listInFolder);
    const isTooLarge = size !== undefined && size > MAX_CHECKSUM_LIST_BYTES;
    if (isTooLarge) yield [finding(listInFolder, 'unknown', { detail: TOO_LARGE_LIST })];
    const list =
      this.#list ?? (size === undefined || isTooLarge ? undefined : await openChecksumFile(listInFolder));
    const expected: Expected = list ? await expectedInFolder(list, folder) : new Map();
    if (list) yield faultsOf(list);
    // Compared with a given list, every file is a plain file. Otherwise evidence, pack files and bags are verified as such.
    const findsProofs = this.#list === undefined;
    const set = new FolderContents({ expected, list, findsProofs, hasKey: this.#context.key !== undefined });
    yield* plainFindings(set.plainFiles(walkFolder(folder, () => findsProofs)), this.#context);
    yield set.others;
    if (list) yield* this.#listed(list, expected);
    // Only a list in the folder says what belongs to it. One from elsewhere may be of more than this folder.
    if (list && !this.#list) yield outsideOf(list, await namesOutside(list, folder));
    for (const file of set.proofFiles) yield* this.#proofIn(file);
    for (const bag of set.bags) yield* this.#bagIn(bag, list && expected);
  }

  /** Verifies a file of a folder that may prove itself. */
  async *#proofIn({ file, isListed, lacksKey }: ProofFile): AsyncGenerator<Finding[]> {
    // What cannot be read is said when it is hashed.
    const isReadable = await access(file.path, constants.R_OK).then(
      () => true,
      () => false,
    );
    const proven = isReadable ? await this.#proven(file.path, file.bytes) : undefined;
    if (typeof proven === 'object') yield* lacksKey ? onlyChanged(proven) : proven;
    else if (!isListed) this.#single.push({ ...file, detail: proven });
    // A list does not make it what its name says, and proves nothing to who names a key.
    else if (proven !== undefined && (this.#context.key !== undefined || !isCommonName(file.path)))
      yield [finding(file.path, 'unknown', { detail: proven })];
  }

  /**
   * Verifies a bag in a folder. Its own manifests make no file one of the folder if a list says which files are: anybody can put
   * a bag of other software there.
   */
  async *#bagIn(folder: string, listed: Expected | undefined): AsyncGenerator<Finding[]> {
    const { openFolderBag } = await bagModules();
    const bag = await openFolderBag(folder, this.#context.read);
    for (const { bytes } of bag.files.values()) this.#context.found(bytes);
    const isProven =
      listed === undefined ||
      bagKindOf(bag.files) !== undefined ||
      (await archiveIn(bag, this.#context)) !== undefined;
    for await (const found of bagFindings(bag, this.#context))
      yield isProven ? found : found.map((each) => listedOnly(each, listed));
  }

  /** Verifies files that a list names; findings have the names in the list. */
  async *#listed(list: ChecksumFile, expected: Expected): AsyncGenerator<Finding[]> {
    const missing: Finding[] = [];
    async function* present() {
      let found: PlainFile[] = [];
      for (const [path, entry] of expected) {
        const stats = statOf(path);
        if (!stats?.isFile()) {
          missing.push(finding(entry.name, 'missing', { expected: entry.sha256, against: list.file }));
          continue;
        }
        const detail = isLink(path) ? FOLLOWED : undefined;
        found.push({ ...plainFile(path, stats.size, entry, list), reportedPath: entry.name, detail });
        if (found.length < LISTED_AT_ONCE) continue;
        yield found;
        found = [];
        // Threads hash the first files while others are looked for.
        await yieldToEventLoop();
      }
      yield found;
    }
    yield* plainFindings(present(), this.#context);
    yield missing;
  }
}

/** Returns whether a file begins as a list of digests does. */
async function holdsDigests(path: string): Promise<boolean> {
  const head = await headOf(path);
  return isChecksumList(head.slice(0, head.lastIndexOf('\n') + 1) || head);
}

/** Returns why other files are not compared with a file that holds digests. */
function whyNotAsList(path: string, bytes: number): string | undefined {
  if (!CHECKSUM_LIST_NAME.test(basename(path)))
    return 'it holds the digests of other files: to compare them with it, name it with --sums';
  return bytes > MAX_CHECKSUM_LIST_BYTES ? TOO_LARGE_LIST : undefined;
}

const TOO_LARGE_LIST = 'it is too large to be read as a list of digests';

/** Says something of each finding beside what it says itself. */
async function* withDetail(found: AsyncIterable<Finding[]>, detail: string): AsyncGenerator<Finding[]> {
  for await (const some of found)
    yield some.map((each) => ({
      ...each,
      detail: each.detail === null ? detail : `${each.detail}; ${detail}`,
    }));
}

/** Without the key, only what is wrong with a file can be found. */
async function* onlyChanged(found: AsyncIterable<Finding[]>): AsyncGenerator<Finding[]> {
  for await (const some of found) yield some.filter(({ state }) => state === 'changed');
}

async function* one(found: Promise<Finding>): AsyncGenerator<Finding[]> {
  yield [await found];
}

function faultsOf({ file, faults, contradicted }: ChecksumFile): Finding[] {
  const details = [
    ...faults.map((line) => `line ${line} is not a SHA-256 digest and a name`),
    ...contradicted.map((name) => `it names ${shownPath(name)} twice, with different digests`),
  ];
  return details.map((detail) => finding(file, 'unknown', { detail }));
}

function outsideOf({ file }: ChecksumFile, names: readonly string[]): Finding[] {
  return names.map((name) => {
    const detail = `it names ${shownPath(name)}, which is outside the folder: verify the list alone`;
    return finding(file, 'unknown', { detail });
  });
}

/** The synchronous calls take microseconds; the asynchronous ones take much longer. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A path through a file, or one that may not be read, is as good as missing.
    return undefined;
  }
}

/** Returns undefined if it is no file. */
function fileSize(path: string): number | undefined {
  const stats = statOf(path);
  return stats?.isFile() ? stats.size : undefined;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function listedOnly(found: Finding, listed: Expected): Finding {
  const isStranger =
    found.state === 'intact' && fileSize(found.path) !== undefined && !listed.has(resolve(found.path));
  return isStranger
    ? { ...found, state: 'unknown', detail: 'the list of the folder does not name it' }
    : found;
}

async function* bagFindings(bag: BagSource, context: VerifyContext): AsyncGenerator<Finding[]> {
  const { verifyBag, BagContents } = await bagModules();
  const archive = await archiveIn(bag, context);
  // The record of a pack covers what is in it, whatever that says of itself.
  const isPack = bag.files.has(RECORD_FILE) && !bag.files.has(SEAL_FILE);
  const contents = archive || isPack ? undefined : new BagContents(bag, context);
  let isIntact = true;
  for await (const found of verifyBag({ ...bag, isArchive: archive !== undefined })) {
    const own = archive ? await archive.completed(found) : found;
    isIntact &&= own.state === 'intact';
    for (const each of contents ? await contents.completed(own) : [own])
      yield [await completed(bag, each, context)];
  }
  if (archive) yield await archive.missing();
  if (contents) yield await contents.ofBag();
  // Whoever names a key asks whose it is. A pack file in place of what a node signed must not pass.
  if (isPack && isIntact && context.key !== undefined)
    yield [finding(bag.path, 'unsigned', { against: context.key, detail: UNSIGNED_PACK })];
}

const UNSIGNED_PACK =
  'A pack file has no signature. The evidence file of the pack proves which node published it.';

/** Verifies a pack file of this size. */
function packFileFindings(path: string, bytes: number, context: VerifyContext): AsyncGenerator<Finding[]> {
  return zippedBagFindings(path, bytes, () => openPackFile(path, context.read), context);
}

/** What programs change in a pack that was zipped again: names in another Unicode normalization, and entries of their own. */
const ZIPPED_AGAIN: readonly unknown[] = ['unsafe_path', 'unknown_entry'];

/** Opens a pack file. One that was zipped again is read as other bags in a ZIP are. @throws Problem */
async function openPackFile(path: string, read: (bytes: number) => void): Promise<ZippedBag> {
  const { openPackFileBag, openZippedBag } = await bagModules();
  try {
    return await openPackFileBag(path, read);
  } catch (error) {
    if (!(error instanceof Problem) || !ZIPPED_AGAIN.includes(error.code)) throw error;
    const bag = await openZippedBag(path, read);
    if (bag === undefined || typeof bag === 'string') throw error;
    return bag;
  }
}

/** Verifies the bag in a ZIP of this size, and closes it. */
async function* zippedBagFindings(
  path: string,
  bytes: number,
  open: () => Promise<ZippedBag>,
  context: VerifyContext,
): AsyncGenerator<Finding[]> {
  context.found(bytes);
  try {
    const bag = await open();
    try {
      yield* bagFindings(bag, context);
    } finally {
      await bag.close();
    }
  } catch (error) {
    if (error instanceof Problem)
      yield [finding(path, 'changed', { detail: `${error.message} (${error.code})` })];
    else if (error instanceof Error && 'syscall' in error && 'code' in error)
      yield [finding(path, 'unknown', { detail: `cannot be read: ${String(error.code)}` })];
    else throw error;
  }
}

/** Returns whether a file is a pack file, by its name or by the record in it. */
async function isPackFile(path: string): Promise<boolean> {
  if (isPackFileName(path)) return true;
  if (!/\.zip$/i.test(path)) return false;
  const { openPackFileBag } = await bagModules();
  const bag = await openPackFileBag(path, () => {}).catch(() => undefined);
  await bag?.close();
  return bag !== undefined;
}

/** Archives that are not opened. */
const CLOSED_ARCHIVE = /\.(?:tar|tgz|tbz2?|txz|tar\.\w{1,4}|7z|rar)$/i;

/**
 * Opens a ZIP that holds a bag and no pack: an exported archive, or a bag of other software. Returns a sentence if it cannot be
 * opened, or is another kind of archive: it is verified as a plain file then.
 */
async function openOtherBag(
  path: string,
  onProgress: (bytes: number) => void,
): Promise<ZippedBag | string | undefined> {
  if (CLOSED_ARCHIVE.test(path))
    return 'A bag in an archive of this kind is not opened. Extract it and verify the folder.';
  if (!/\.zip$/i.test(path)) return undefined;
  const { openZippedBag } = await bagModules();
  return openZippedBag(path, onProgress).catch((error: unknown) => {
    // A malformed ZIP is verified as a plain file.
    if (error instanceof Problem) return `No bag in it is verified: ${error.message}`;
    throw error;
  });
}

/** Loaded when needed: they include the schemas of records, which take longer to load than many files to hash. */
async function bagModules() {
  return {
    ...(await import('./openBag.ts')),
    ...(await import('./verifyBag.ts')),
    ...(await import('./bagContents.ts')),
  };
}

/** Looks up payload files only: an archive stores neither the tag files of a pack nor files that prove themselves. */
async function completed(bag: BagSource, found: Finding, { holder }: VerifyContext): Promise<Finding> {
  const name = found.path.slice(bag.path.length + 1);
  const bytes = bag.files.get(name)?.bytes;
  const isPayload = name.startsWith(PAYLOAD_FOLDER) && bytes !== undefined && !found.verdict;
  // That the archive holds a file does not make it one of this bag.
  return isPayload && found.state === 'intact' ? lookUp(holder, found, bytes) : found;
}

/** Reads the beginning of a file as text. */
async function headOf(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function* withProgress(
  chunks: AsyncIterable<Uint8Array>,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    onProgress(chunk.length);
  }
}
