import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, normalize, resolve, sep } from 'node:path';
import type { KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import {
  type ChecksumEntry,
  MAX_CHECKSUM_LIST_BYTES,
  parseChecksums,
} from '../../shared/values/checksums.ts';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { type HashedFile, hashFileSync, hashInThreads, type SizedFile } from '../hashing/hashInThreads.ts';
import { blobPath } from '../store/files.ts';
import { type Finding, finding } from './report.ts';

/** A file to hash, and the expected result. */
export interface PlainFile {
  path: string;
  algorithms: readonly string[];
  /** The path in its finding, if it differs from `path`. */
  reportedPath?: string;
  bytes: number;
  expected?: string;
  /** Other digests that the list names for it. */
  others?: readonly string[];
  against?: string;
  detail?: string | undefined;
}

/** What verification of any file needs. `read` and `found` are called with numbers of bytes. */
export interface VerifyContext {
  /** An archive in which every file is looked up. */
  holder: ReferenceArchive | undefined;
  read: (bytes: number) => void;
  found: (bytes: number) => void;
  /** The pages of evidence files that are known. */
  pages: () => Promise<readonly KnownPage[]>;
  /** The verifier key that must have signed what is signed. */
  key: string | undefined;
}

/** The name of a proof of a ledger entry (C2SP tlog-proof). */
export const PROOF_FILE = /\.tlog-proof$/i;

const SHA256 = ['sha256'];

/** Without a list entry, a file whose name is a digest, like a blob, must hash to its name. */
export function plainFile(path: string, bytes: number, entry?: ExpectedFile, list?: ChecksumFile): PlainFile {
  const file = { path, bytes, algorithms: SHA256 };
  if (entry && list)
    return { ...file, expected: entry.sha256, others: entry.others ?? [], against: list.file };
  const name = basename(path);
  return isDigest(name) ? { ...file, expected: name, against: 'its name' } : file;
}

/** Hashes files while the source still finds them, and yields their findings in batches, in the order of the files. */
export async function* plainFindings(
  source: Iterable<readonly PlainFile[]> | AsyncIterable<readonly PlainFile[]>,
  { holder, read, found }: VerifyContext,
): AsyncGenerator<Finding[]> {
  const files: PlainFile[] = [];
  async function* counted() {
    for await (const some of source) {
      for (const file of some) {
        files.push(file);
        found(file.bytes);
      }
      yield some;
    }
  }
  let index = 0;
  for await (const batch of hashFiles(counted(), read)) {
    const findings: Finding[] = [];
    for (const hashed of batch) {
      const file = files[index] as PlainFile;
      index += 1;
      const result = judged(file, hashed);
      findings.push(holder ? await lookUp(holder, result, file.bytes) : result);
    }
    yield findings;
  }
}

function judged(file: PlainFile, hashed: HashedFile): Finding {
  const { path, reportedPath = path, expected = null, others = [], against = null, detail = null } = file;
  if ('failure' in hashed) {
    const reason = `cannot be read: ${hashed.failure}`;
    return finding(reportedPath, 'unknown', { expected, against, detail: reason });
  }
  const sha256 = hashed.digests.sha256 ?? '';
  const wrong = [expected, ...others].find((digest) => digest !== null && digest !== sha256);
  const state = wrong !== undefined ? 'changed' : expected === null ? 'unknown' : 'intact';
  const why = others.length > 0 ? 'the list names it with different digests' : detail;
  return { path: reportedPath, state, sha256, expected: wrong ?? expected, against, detail: why };
}

/** A file with a list of digests, such as `SHA256SUMS`. */
export interface ChecksumFile {
  /** Its name in findings. */
  file: string;
  entries: ChecksumEntry[];
  /** The numbers of the lines that are not valid. */
  faults: number[];
  /** The files that it names again with another digest. */
  contradicted: string[];
}

/** The entries of a list by the absolute paths of their files, with the other digests that it names for the same file. */
export type Expected = Map<string, ExpectedFile>;
type ExpectedFile = ChecksumEntry & { others?: readonly string[] };

/** @throws Error if it cannot be read, or is too large */
export async function openChecksumFile(file: string): Promise<ChecksumFile> {
  if ((await stat(file)).size > MAX_CHECKSUM_LIST_BYTES) throw new Error(`${file} is too large for a list.`);
  const list = parseChecksums(await readFile(file, 'utf8'));
  const byPath = new Map<string, string>();
  const contradicted = list.entries.filter(({ name, sha256 }) => {
    const path = isPlainPath(name) ? name : normalize(name);
    const earlier = byPath.get(path);
    byPath.set(path, sha256);
    return earlier !== undefined && earlier !== sha256;
  });
  return { file, ...list, contradicted: contradicted.map(({ name }) => name) };
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

/** Returns the names in a list that lead out of a folder, so that they are no files of it. */
export async function namesOutside(list: ChecksumFile, folder: string): Promise<string[]> {
  const root = resolve(folder);
  const listed = await expectedByList(list);
  return [...listed].filter(([path]) => !isWithin(root, path)).map(([, { name }]) => name);
}

/** Returns all entries of a list, relative to its own folder or to the current one. */
export async function expectedByList(list: ChecksumFile): Promise<Expected> {
  const beside = expectedFrom(list, dirname(resolve(list.file)), () => true);
  if (await anyExists(beside.keys())) return beside;
  const here = expectedFrom(list, process.cwd(), () => true);
  return (await anyExists(here.keys())) ? here : beside;
}

/** Returns the entry for one file: by its path, else by its name if the name is unique in the list. */
export async function expectedForFile(list: ChecksumFile, file: string): Promise<ExpectedFile | undefined> {
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
    if (!isWanted(path)) continue;
    // Two names may lead to one file.
    const earlier = expected.get(path);
    const isOther = earlier !== undefined && earlier.sha256 !== entry.sha256;
    expected.set(path, isOther ? { ...entry, others: [...(earlier.others ?? []), earlier.sha256] } : entry);
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

/** Hashing so little takes less time than starting two threads. */
const SMALL_FILES = 200;
const SMALL_BYTES = 33_554_432;

/**
 * Hashes files, large sets in threads, and yields the results in batches, in the order of the files. A file that cannot
 * be read has a `failure` instead of digests.
 *
 * @param source files as they are found; many are hashed while more are looked for
 * @param onProgress called with the number of bytes since the last call
 */
export async function* hashFiles(
  source: Iterable<readonly SizedFile[]> | AsyncIterable<readonly SizedFile[]>,
  onProgress: (bytes: number) => void = () => {},
): AsyncGenerator<HashedFile[]> {
  const first: SizedFile[] = [];
  let bytes = 0;
  const rest = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    for (const file of next.value) {
      first.push(file);
      bytes += file.bytes;
    }
    if (first.length > SMALL_FILES || bytes > SMALL_BYTES)
      return yield* hashInThreads(startingWith(first, rest), onProgress);
  }
  if (first.length > 0) yield first.map((file) => hashFileSync(file, onProgress));
}

async function* startingWith(
  first: readonly SizedFile[],
  rest: Iterator<readonly SizedFile[]> | AsyncIterator<readonly SizedFile[]>,
): AsyncGenerator<readonly SizedFile[]> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** An archive in which files are looked up. */
export interface ReferenceArchive {
  /** Its name in findings. */
  name: string;
  /** `released`: it had the bytes and gave them up. `damaged`: what it has under this digest are other bytes. */
  holds(sha256: string, bytes: number): Promise<boolean | 'released' | 'damaged'>;
}

/** Looks an intact or unknown file up in the archive, if there is one. `bytes` is its size. */
export async function lookUp(
  archive: ReferenceArchive | undefined,
  found: Finding,
  bytes: number,
): Promise<Finding> {
  const { sha256, state } = found;
  if (!archive || sha256 === null || state === 'changed') return found;
  const { name } = archive;
  const held = await archive.holds(sha256, bytes);
  if (held === true) return { ...found, state: 'intact', against: found.against ?? name };
  const detail = {
    released: `${name} released it: it gave up the bytes for good`,
    damaged: `what ${name} holds in its place are other bytes`,
    no: `${name} does not hold it`,
  }[held || 'no'];
  return { ...found, state: 'unknown', against: name, detail };
}

const REQUEST_TIMEOUT_MS = 30_000;

/**
 * Opens a node by its URL or a data folder by its path.
 *
 * @throws Error if there is neither
 */
export async function openReferenceArchive(place: string): Promise<ReferenceArchive> {
  if (/^https?:\/\//i.test(place)) return nodeAt(place.replace(/\/+$/, ''));
  const folder = resolve(place);
  const blobs = await stat(`${folder}/blobs`).catch(() => undefined);
  if (!blobs?.isDirectory()) {
    throw new Error(`${place} is neither the URL of a node nor a data folder (it has no subfolder “blobs”).`);
  }
  return {
    name: place,
    holds: async (sha256, bytes) => {
      const path = blobPath(folder, sha256);
      const found = await stat(path).catch(() => undefined);
      if (!found) return false;
      // Somebody may delete their own file because of this answer, so its size is not enough.
      const stored = [{ path, bytes, algorithms: SHA256 }];
      if (found.size === bytes)
        for await (const [hashed] of hashFiles([stored]))
          if (hashed && 'digests' in hashed && hashed.digests.sha256 === sha256) return true;
      return 'damaged';
    },
  };
}

function nodeAt(url: string): ReferenceArchive {
  return {
    name: url,
    holds: async (sha256) => {
      for (const path of [`/api/blobs/${sha256}`, `/archive/${sha256}`]) {
        const status = await statusOf(url + path);
        // Withheld bytes are held, although they are not shown.
        if (status === 200 || status === 451) return true;
        if (status === 410) return 'released';
        if (status !== 404) throw new Error(`${url} cannot be checked: it answered with status ${status}.`);
      }
      return false;
    },
  };
}

async function statusOf(address: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    return (await fetch(address, { method: 'HEAD', redirect: 'error', signal })).status;
  } catch (cause) {
    throw new Error(`${new URL(address).origin} cannot be reached.`, { cause });
  }
}
