import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ListedFile } from '../../shared/proof/ledger/fileList.ts';
import type { Clock } from '../../shared/values/clock.ts';
import { countOf } from '../../shared/values/counts.ts';
import { findAllSets } from '../archive/sets/readSet.ts';
import type { DumpHead } from '../dump/checkDump.ts';
import { DumpError, splitLines } from '../dump/dumpFile.ts';
import { DUMP_KINDS } from '../dump/kinds/kinds.ts';
import { restoreDump } from '../dump/restoreDump.ts';
import { readEncrypted } from '../findings/sealed.ts';
import { markReadOnly } from '../ledger/appendEntry.ts';
import { keyFile } from '../ledger/nodeKey.ts';
import { inParallel } from '../runtime/concurrency.ts';
import {
  blobPath,
  fileChunks,
  syncFile,
  syncFileSystem,
  syncFolder,
  writeFileDurably,
} from '../store/files.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { selectValue } from '../store/sqlite/engine/queries.ts';
import { blobBytes, counter, iterateBlobRows } from '../store/sqlite/node/blobs.ts';
import { ExpectedFiles } from '../store/sqlite/node/copiedFiles.ts';
import { writeSetting } from '../store/sqlite/node/owner.ts';
import { insertAbsent, isAbsent } from '../store/sqlite/node/peers.ts';
import { isReleased, isWithheld, withholdingOf } from '../store/sqlite/node/withheld.ts';
import { openStore, type Store } from '../store/store.ts';
import { runLedgerVerification } from '../verification/ledger/ledgerVerification.ts';
import { readCopiedNote } from './claim.ts';
import {
  ENCRYPTED,
  encryptedDigest,
  KEY,
  LEFT_OUT,
  objectPath,
  recordsFiles,
  statePath,
} from './copyPaths.ts';
import { decryptTexts, identityIn, isKeyOf, readKey, saveIdentity } from './keys/copyKeys.ts';
import { coverageOf, readFileList, readLeftOut, type SignedCoverage, UNREADABLE_LIST } from './signedList.ts';
import { CopyError, type CopyTarget, InvalidCopyError } from './targets/target.ts';

interface RestoreOptions {
  target: CopyTarget;
  /** The data folder to create. It must not exist, or be empty. */
  folder: string;
  clock: Clock;
  /** The passphrase of the key in the copy, to restore the key too. */
  passphrase?: string | undefined;
  /** The identities (age) that decrypt sealed findings, one on each line, if the owner has them elsewhere. */
  identity?: string | undefined;
  /** Returns the objects to restore in place of all. Such an archive is not meant to last: nothing is synced. */
  sample?: ((read: ReadDatabase) => BlobRow[]) | undefined;
  signal: AbortSignal;
  /** Called with the number of objects read, and how many there are. */
  progress: (done: number, total: number) => void;
}

export interface BlobRow {
  sha256: string;
  bytes: number;
}

interface RestoredObjects {
  objects: number;
  bytes: number;
  /** Objects that the copy does not hold intact. */
  missing: string[];
  /** Withheld objects that the copy does not have, because readers may look into it. They are absent, not damaged. */
  withheld: number;
  /** Objects that were given up. They are in no copy. */
  released: number;
}

/** What was restored, and what not. */
export interface RestoreResult extends RestoredObjects, SignedCoverage {
  head: DumpHead;
  /** Sealed findings whose records the copy holds encrypted, and that could not be decrypted without the owner's key. */
  sealed: number;
  /** Whether the copy holds an older key than the one that signed it, which was not restored. */
  isKeyOlder: boolean;
}

/**
 * Creates a data folder from a copy. Everything is verified: the checkpoint's signature, each record against its ledger
 * entry, each object against its digest, and all that was read against the signed list. What that list does not cover is
 * named, and restored all the same. The archive is read-only until its owner chooses a key, also if its key was
 * restored: it may have signed more after the copy. The folder gets its name
 * only after everything was written.
 *
 * @throws CopyError; nothing is left then
 */
export async function restoreCopy(options: RestoreOptions): Promise<RestoreResult> {
  const { target, folder, clock, passphrase, signal } = options;
  const partial = `${folder}.restoring`;
  const records = `${partial}-records`;
  for (const each of [partial, records]) await rm(each, { recursive: true, force: true });
  // First, so that a wrong passphrase does not cost the time of a restore.
  const kept = passphrase === undefined ? undefined : await readKey(target, passphrase);
  const files: ListedFile[] = kept === undefined ? [] : [{ path: KEY, sha256: kept.sha256 }];
  // Both, if the owner gives both: what was sealed with either can be read.
  const identity = identityIn([options.identity, kept?.identity].join('\n'));
  let expected: ExpectedFiles | undefined;
  try {
    await mkdir(records, { mode: 0o700 });
    const listed = (expected = new ExpectedFiles(join(records, 'expected.db')));
    const list = (await ifReadable(target, () => readFileList(target, listed))) ?? UNREADABLE_LIST;
    const { note, chunks } = await assembleDump(target, records, signal, (file) => files.push(file));
    const leftOut = await leftOutOf(target, signal, (file) => files.push(file));
    const result = await fill({ ...options, identity, leftOut }, partial, chunks);
    // An archive that got a new key later left the old one in the copy, with what decrypts its sealed findings.
    const isKeyOlder = kept !== undefined && !isKeyOf(kept.key, result.head.verifierKey, target);
    if (kept !== undefined && !isKeyOlder) await writeFileDurably(keyFile(partial), kept.key, 0o600);
    if (identity !== undefined) await saveIdentity(partial, identity);
    await writeFileDurably(join(partial, 'checkpoint'), note, 0o600);
    const coverage = coverageOf(files, list, listed, result.head.verifierKey);
    const { problems } = await runLedgerVerification({ folder: partial, clock });
    if (problems.length > 0)
      throw new InvalidCopyError(
        `The ledger in ${target.name} is invalid: ${countOf(problems.length, 'problem')}.`,
      );
    // Replaces an empty folder. If the folder holds anything, this fails and changes nothing.
    await rename(partial, folder);
    await syncFolder(dirname(folder));
    return { ...result, ...coverage, isKeyOlder };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    if (!(error instanceof DumpError)) throw error;
    throw new InvalidCopyError(`The records of ${target.name} are damaged: ${error.message}`, {
      cause: error,
    });
  } finally {
    expected?.close();
    await rm(records, { recursive: true, force: true });
  }
}

interface FillOptions extends RestoreOptions {
  /** The objects that the copy says it does not have. */
  leftOut: ReadonlySet<string>;
}

/** Returns which withheld objects a copy does not have; those that an earlier version encrypted there are among them. */
async function leftOutOf(
  target: CopyTarget,
  signal: AbortSignal,
  wasRead: (file: ListedFile) => void,
): Promise<Set<string>> {
  const read = await ifReadable(target, () => readLeftOut(target, signal));
  if (read) wasRead({ path: LEFT_OUT, sha256: read.sha256 });
  const digests = new Set(read?.digests);
  for await (const { path } of target.list(ENCRYPTED, signal)) {
    const sha256 = encryptedDigest(path);
    if (sha256 !== undefined) digests.add(sha256);
  }
  return digests;
}

async function fill(
  options: FillOptions,
  partial: string,
  dump: AsyncIterable<Buffer>,
): Promise<Omit<RestoreResult, 'isKeyOlder' | keyof SignedCoverage>> {
  const store = await openStore({ folder: partial, clock: options.clock });
  try {
    const head = await restoreDump(store, dump);
    await store.write((database) => writeSetting(database, 'verifier_key', head.verifierKey));
    const node = head.checkpoint.origin;
    // A sample is taken of what the copy has.
    if (options.sample) await noteAbsent(store, node, options.leftOut);
    const { absent, ...objects } = await restoreObjects(options, store);
    await noteAbsent(store, node, absent);
    // What cannot be read would be recorded as damaged, but only its owner decides how this archive goes on.
    if (!options.sample && objects.missing.length + objects.withheld === 0) await findAllSets(store);
    const sealed = await readEncrypted(store, (texts) => decryptTexts(texts, options.identity));
    await store.write((database) => markReadOnly(database));
    return { head, ...objects, sealed };
  } finally {
    await store.close();
  }
}

/** Notes that the copy did not give withheld objects. Nobody takes them for damaged, and they may come from elsewhere. */
async function noteAbsent(store: Store, node: string, digests: Iterable<string>): Promise<void> {
  await store.write((database) => {
    for (const sha256 of digests) {
      const withholding = withholdingOf(database, sha256);
      const isUnknown = withholding === undefined || blobBytes(database, sha256) === undefined;
      if (isUnknown || isReleased(database, sha256) || isAbsent(database, sha256)) continue;
      const { reason, at: since } = withholding;
      insertAbsent(database, { sha256, peer: node, state: 'withheld', reason, since });
    }
  });
}

/**
 * Reads the objects of an archive that has no name yet from its copy, each verified. All of them are on stable storage when
 * this resolves. The folder gets its name after that, so a crash leaves no partial archive.
 */
async function restoreObjects(
  { target, signal, progress, leftOut, sample }: FillOptions,
  { read, folder }: Pick<Store, 'read' | 'folder'>,
): Promise<RestoredObjects & { absent: string[] }> {
  const released = counter(read, 'released_objects');
  const result: RestoredObjects = { objects: 0, bytes: 0, missing: [], withheld: 0, released };
  const absent: string[] = [];
  const chosen = sample?.(read);
  const total = chosen?.length ?? countBlobs(read) - released;
  await inParallel(chosen ?? iterateBlobRows(read), target.concurrency, async (row) => {
    signal.throwIfAborted();
    const { sha256 } = row;
    // One that was withheld a moment ago is still there.
    if (await fetchIfReadable(target, { file: blobPath(folder, sha256), ...row }, signal)) {
      result.objects += 1;
      result.bytes += row.bytes;
    } else if (leftOut.has(sha256) && isWithheld(read, sha256)) absent.push(sha256);
    else result.missing.push(sha256);
    progress(result.objects + result.missing.length + absent.length, total);
  });
  if (!chosen) await syncObjects(folder, read, new Set([...result.missing, ...absent]));
  result.missing.sort();
  result.withheld = chosen ? [...leftOut].filter((sha256) => isWithheld(read, sha256)).length : absent.length;
  return { ...result, absent };
}

/** Returns whether the copy holds an object intact, which is then fetched. @throws CopyError if it cannot be reached */
async function fetchIfReadable(
  target: CopyTarget,
  into: BlobRow & { file: string },
  signal: AbortSignal,
): Promise<boolean> {
  const isFetched = () => target.fetch(objectPath(into.sha256), into, signal);
  return (await ifReadable(target, isFetched)) ?? false;
}

/**
 * Reads something of a copy. Returns undefined if it cannot be read although the copy can be reached: a disk with one
 * unreadable file must not keep the others from being restored.
 *
 * @throws CopyError if the copy cannot be reached
 */
async function ifReadable<Result>(
  target: CopyTarget,
  read: () => Promise<Result>,
): Promise<Result | undefined> {
  for (let isLast = false; ; isLast = true) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof CopyError)) throw error;
      // A connection may have been interrupted.
      if (!isLast) continue;
      await readCopiedNote(target);
      return undefined;
    }
  }
}

async function syncObjects(folder: string, read: ReadDatabase, missing: ReadonlySet<string>): Promise<void> {
  if (await syncFileSystem(folder)) return;
  const folders = new Set<string>();
  for (const { sha256 } of iterateBlobRows(read)) {
    if (missing.has(sha256)) continue;
    const file = blobPath(folder, sha256);
    await syncFile(file);
    for (const parent of [dirname(file), dirname(dirname(file)), dirname(dirname(dirname(file)))])
      folders.add(parent);
  }
  for (const each of folders) await syncFolder(each);
}

const KIND = /^\{"kind":"([a-z_]+)"/;
const WRITE_SIZE = 262_144;

/** The records of a copy in the order of a dump. */
interface AssembledDump {
  /** The text of the copy's checkpoint. */
  note: string;
  /** The bytes of the dump. They can be read once. */
  chunks: AsyncIterable<Buffer>;
}

/**
 * Puts the records of a copy into the order of a dump, which `checkDump` and `restoreDump` read. The lines of each kind lie
 * in a file of their own until they are read. Memory is bounded by the longest line.
 *
 * @param folder an existing folder, which the caller removes
 * @param wasRead is called with each file of the copy that was read to its end
 * @throws InvalidCopyError if a file is missing or cannot be understood
 */
export async function assembleDump(
  target: CopyTarget,
  folder: string,
  signal: AbortSignal,
  wasRead: (file: ListedFile) => void = () => {},
): Promise<AssembledDump> {
  const { note, size } = await readCopiedNote(target);
  const parts = new Map<string, Part>();
  try {
    for (const kind of DUMP_KINDS) {
      const file = join(folder, `${kind}.jsonl`);
      parts.set(kind, {
        file,
        handle: await open(file, 'w', 0o600),
        count: 0,
        pending: [],
        pendingBytes: 0,
      });
    }
    const append = async (line: Buffer, from: string) => {
      const kind = KIND.exec(line.subarray(0, 64).toString())?.[1] ?? '';
      const part = parts.get(kind);
      if (!part) throw new InvalidCopyError(`${from} in ${target.name} has a line that no node writes.`);
      part.count += 1;
      part.pending.push(line, NEWLINE);
      part.pendingBytes += line.length + 1;
      if (part.pendingBytes >= WRITE_SIZE) await flush(part);
    };
    let header: Buffer | undefined;
    for await (const line of linesIn(target, statePath(size), signal, wasRead)) {
      if (header) await append(line, statePath(size));
      else requireNote(target, (header = line), note);
    }
    for (const { path } of recordsFiles(size))
      for await (const line of linesIn(target, path, signal, wasRead)) await append(line, path);
    for (const part of parts.values()) await flush(part);
    return { note, chunks: dumpOf(header ?? Buffer.alloc(0), parts) };
  } finally {
    for (const { handle } of parts.values()) await handle.close();
  }
}

/** Reads the lines of a file of a copy. @throws InvalidCopyError if it is missing */
async function* linesIn(
  target: CopyTarget,
  path: string,
  signal: AbortSignal,
  wasRead: (file: ListedFile) => void,
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  const stream = await target.read(path, signal);
  if (!stream) throw new InvalidCopyError(`The copy in ${target.name} is incomplete: ${path} is missing.`);
  const sha256 = createHash('sha256');
  async function* hashed() {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      sha256.update(chunk);
      yield chunk;
    }
  }
  yield* splitLines(hashed());
  wasRead({ path, sha256: sha256.digest('hex') });
}

/** The folder for files of gigabytes: on many Linux systems `/tmp` is memory, and `/var/tmp` a disk (file-hierarchy(7)). */
export function folderForLargeFiles(): string {
  const isChosen = process.env.TMPDIR !== undefined || process.platform !== 'linux';
  return isChosen || !existsSync('/var/tmp') ? tmpdir() : '/var/tmp';
}

const NEWLINE = Buffer.from('\n');

/** The lines of one kind, in a file of their own until all of them are there. */
interface Part {
  file: string;
  handle: FileHandle;
  count: number;
  pending: Buffer[];
  pendingBytes: number;
}

async function flush(part: Part): Promise<void> {
  if (part.pendingBytes === 0) return;
  const bytes = Buffer.concat(part.pending);
  [part.pending, part.pendingBytes] = [[], 0];
  await part.handle.appendFile(bytes);
}

/** The header of the state is that of a dump, whose checkpoint must be the copy's. */
function requireNote(target: CopyTarget, header: Buffer, note: string): void {
  const text = JSON.stringify({ checkpoint: note }).slice(1, -1);
  if (!header.includes(text))
    throw new InvalidCopyError(`The state in ${target.name} is not that of its checkpoint.`);
}

/** Yields a dump, and removes each file when it was read. */
async function* dumpOf(header: Buffer, parts: ReadonlyMap<string, Part>): AsyncGenerator<Buffer> {
  const sha256 = createHash('sha256');
  const counts: Record<string, number> = {};
  const first = Buffer.concat([header, NEWLINE]);
  sha256.update(first);
  yield first;
  for (const [kind, { file, count }] of parts) {
    counts[kind] = count;
    for await (const chunk of fileChunks(file)) {
      sha256.update(chunk);
      yield chunk;
    }
    await rm(file);
  }
  yield Buffer.from(`${JSON.stringify({ kind: 'trailer', counts, sha256: sha256.digest('hex') })}\n`);
}

const countBlobs = selectValue<number>('SELECT count(*) FROM blobs', 0);
