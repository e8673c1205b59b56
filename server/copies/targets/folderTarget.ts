import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants, createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pLimit from 'p-limit';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { untilAborted } from '../../runtime/concurrency.ts';
import { runInThread } from '../../runtime/threads.ts';
import {
  isMissing,
  isNoSpace,
  isUnreadable,
  orIfMissing,
  syncFile,
  syncFileSystem,
  syncFolder,
} from '../../store/files.ts';
import { type FileResult, type FileTask, NO_FILE } from './copyFile.ts';
import {
  CopyError,
  type CopyTarget,
  DamagedSourceError,
  type Payload,
  readVerified,
  type StoredPayload,
  type TargetFile,
} from './target.ts';

/**
 * Opens a folder as the target of a copy: another disk, a memory stick, a network drive. For a new copy it is created if
 * it does not exist, but its parent must exist: a missing parent is a disk that is not mounted.
 *
 * @throws CopyError
 */
export async function openFolderTarget(folder: string, { isNew }: { isNew: boolean }): Promise<CopyTarget> {
  const explained = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw explain(error, folder);
    }
  };
  if (isNew) await explained(() => createOnMountedDisk(folder));
  const writer = new FolderWriter(folder, await explained(() => requireFolder(folder)));
  return {
    name: folder,
    // Enough for each thread to have the next file waiting.
    concurrency: 2 * MAX_THREADS,
    put: (path, payload, { signal }) => explained(() => writer.put(path, payload, signal)),
    flush: () => explained(() => writer.flush()),
    digestOf: (path, signal, onBytes) =>
      explained(async () => {
        const task = { from: join(folder, path), maxBytes: Number.POSITIVE_INFINITY };
        const found = await readFound(await writer.copyFile(task, signal), folder);
        if (found) onBytes?.(found.bytes);
        return found;
      }),
    fetch: async (path, { file, sha256, bytes }, signal) => {
      const task = {
        from: join(folder, path),
        to: { file, mode: 0o600, createsParents: true },
        maxBytes: bytes,
      };
      const result = await writer.copyFile(task, signal);
      // A failure of this disk is not reported as one of the copy.
      if ('failed' in result && result.failed === 'write') throw failureOf(result);
      const found = await explained(() => readFound(result, folder));
      if (found?.sha256 === sha256) return true;
      await rm(file, { force: true });
      return false;
    },
    read: (path, _signal, range) => explained(() => openIfPresent(folder, path, range)),
    list: (below) => listFiles(folder, below),
    remove: (path) => explained(() => rm(join(folder, path), { force: true })),
    purge: (paths) => explained(() => purge(folder, paths)),
    forgetVersions: async () => true,
    close: () => writer.close(),
  };
}

async function purge(folder: string, paths: readonly string[]): Promise<true> {
  for (const path of paths) await rm(join(folder, path), { force: true });
  for (const parent of new Set(paths.map((path) => dirname(join(folder, path)))))
    await orIfMissing(syncFolder(parent), undefined);
  return true;
}

/** The codes of the errors for a file that does not exist, including a link or a file in place of a folder of its path. */
const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', NO_FILE]);

/** Returns what a thread read; undefined if there is no such regular file. @throws as the file system call did */
async function readFound(
  result: FileResult,
  folder: string,
): Promise<{ sha256: string; bytes: number } | undefined> {
  if (!('failed' in result)) return result;
  if (!ABSENT.has(result.code)) throw failureOf(result);
  // A file that is missing is damage; a folder that is missing is a disk that is not mounted.
  await requireFolder(folder);
  return undefined;
}

async function createOnMountedDisk(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

async function requireFolder(folder: string): Promise<FolderIdentity> {
  const found = await stat(folder, { bigint: true });
  if (!found.isDirectory()) throw new CopyError(`${folder} is a file, not a folder.`);
  return found;
}

/** The file is opened when the stream is first read, so that a stream that nobody reads leaves none open. */
async function openIfPresent(
  folder: string,
  path: string,
  range?: { start: number; end: number },
): Promise<Readable | undefined> {
  const file = join(folder, path);
  try {
    if (!(await stat(file)).isFile()) return undefined;
    await access(file, constants.R_OK);
  } catch (error) {
    if (!ABSENT.has(errorCode(error))) throw error;
    // A file that is missing is damage; a folder that is missing is a disk that is not mounted.
    await requireFolder(folder);
    return undefined;
  }
  async function* chunks() {
    yield* createReadStream(file, { highWaterMark: READ_SIZE, ...range }) as AsyncIterable<Buffer>;
  }
  return Readable.from(chunks(), { objectMode: false });
}

const READ_SIZE = 1_048_576;

async function* listFiles(folder: string, below: string): AsyncGenerator<TargetFile> {
  let entries: Awaited<ReturnType<typeof opendir>>;
  try {
    entries = await opendir(join(folder, below));
  } catch (error) {
    if (isMissing(error)) return;
    throw explain(error, folder);
  }
  for await (const entry of entries) {
    const path = `${below}${entry.name}`;
    if (entry.isDirectory()) yield* listFiles(folder, `${path}/`);
    else if (entry.isFile()) yield { path, bytes: (await stat(join(folder, path))).size };
  }
}

function explain(error: unknown, folder: string): unknown {
  if (error instanceof CopyError || error instanceof DamagedSourceError) return error;
  const cause = { cause: error };
  if (isNoSpace(error)) return new CopyError(`The disk of ${folder} is full. Free some space on it.`, cause);
  const code = errorCode(error);
  if (code === 'ENOENT')
    return new CopyError(`${folder} cannot be reached. Connect its disk, or check the path.`, cause);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new CopyError(`${folder} cannot be written. Check its permissions.`, cause);
  if (code === 'EISDIR' || code === 'ENOTDIR' || code === 'EEXIST' || code === 'ENOTEMPTY')
    return new CopyError(
      `${folder} has a folder where a file of the copy must be, or a file in place of a folder. Move it away.`,
      cause,
    );
  if (code === 'EIO')
    return new CopyError(`The disk of ${folder} reports an error. Replace the disk.`, cause);
  return error;
}

/** The name of a file until it is complete. Leftovers of a killed process are removed before the first file is written. */
const PARTIAL = '.partial-';

/** Above this number of files, one sync of the whole file system is faster than one of each file. */
const SYNC_FILES_UP_TO = 16;

/** More threads do not copy faster: the disk is then the limit. */
const MAX_THREADS = 4;

/** What remains the same while a path leads to the same folder of the same disk. */
type FolderIdentity = Pick<BigIntStats, 'dev' | 'ino'>;

interface Written {
  partial: string;
  path: string;
}

/**
 * Writes the files of a folder in batches: each under a name of its own first, then all are synced together, renamed in
 * the order in which they were put, and their folders synced. A name therefore never refers to bytes that a power failure
 * can remove, even where a file is replaced.
 */
class FolderWriter {
  readonly #inThreads = pLimit(Math.min(MAX_THREADS, availableParallelism()));
  readonly #closed = new AbortController();
  readonly #folder: string;
  readonly #made: Set<string>;
  /** Differs between programs that write to the folder. */
  readonly #prefix = `${PARTIAL}${randomBytes(8).toString('hex')}-`;
  readonly #identity: FolderIdentity;
  #isTidied: Promise<void> | undefined;
  #puts = 0;
  #written: Written[] = [];

  constructor(folder: string, identity: FolderIdentity) {
    this.#folder = folder;
    this.#identity = identity;
    this.#made = new Set([folder]);
  }

  /**
   * Copies and hashes a file in a thread.
   *
   * @throws the signal's reason; the file that was being written may then be left
   */
  copyFile(task: FileTask, signal?: AbortSignal): Promise<FileResult> {
    const ended = AbortSignal.any([this.#closed.signal, ...(signal ? [signal] : [])]);
    // A disk on the network may not respond, and its thread does not end then.
    return untilAborted(
      this.#inThreads(() => runInThread<FileResult>('copyFile', task, { signal: ended })),
      ended,
    );
  }

  /** What is being copied fails. */
  close(): void {
    this.#closed.abort();
  }

  /** @throws DamagedSourceError; the errors of the folder's disk */
  async put(path: string, payload: Payload, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    this.#isTidied ??= removeLeftovers(this.#folder);
    await this.#isTidied;
    this.#puts += 1;
    const written = { partial: join(this.#folder, `${this.#prefix}${this.#puts}`), path };
    try {
      if ('bytes' in payload) await writeFile(written.partial, payload.bytes);
      else if ('file' in payload) await this.#copy(payload, written.partial, signal);
      else
        await pipeline(
          Readable.from(readVerified(payload), { objectMode: false }),
          createWriteStream(written.partial),
        );
    } catch (error) {
      await rm(written.partial, { force: true });
      throw error;
    }
    this.#written.push(written);
  }

  async #copy(
    { file, size, sha256 }: StoredPayload & { file: string },
    partial: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const task = { from: file, to: { file: partial, mode: 0o666, createsParents: false }, maxBytes: size };
    const result = await this.copyFile(task, signal);
    if (!('failed' in result)) {
      if (result.sha256 !== sha256) throw new DamagedSourceError(sha256);
      return;
    }
    const cause = failureOf(result);
    const isLost = result.code === NO_FILE || isMissing(cause) || isUnreadable(cause);
    if (result.failed === 'read' && isLost) throw new DamagedSourceError(sha256, { cause });
    throw cause;
  }

  /**
   * Brings everything that was put to stable storage.
   *
   * @throws CopyError if the path leads to another folder meanwhile: a disk that was disconnected. The errors of the disk
   */
  async flush(): Promise<void> {
    const written = this.#written;
    this.#written = [];
    await this.#requireSameFolder();
    await this.#sync(written.map(({ partial }) => partial));
    for (const { partial, path } of written) {
      await this.#createParent(path);
      await rename(partial, join(this.#folder, path));
    }
    for (const folder of foldersOf(written)) await syncFolder(join(this.#folder, folder));
    await this.#requireSameFolder();
  }

  async #requireSameFolder(): Promise<void> {
    const { dev, ino } = await stat(this.#folder, { bigint: true });
    if (dev === this.#identity.dev && ino === this.#identity.ino) return;
    throw new CopyError(`The disk of ${this.#folder} was disconnected. Connect it again.`);
  }

  async #sync(files: readonly string[]): Promise<void> {
    if (files.length > SYNC_FILES_UP_TO && (await syncFileSystem(this.#folder))) return;
    for (const file of files) await syncFile(file);
  }

  async #createParent(path: string): Promise<void> {
    const parent = dirname(join(this.#folder, path));
    if (this.#made.has(parent)) return;
    await mkdir(parent, { recursive: true });
    this.#made.add(parent);
  }
}

async function removeLeftovers(folder: string): Promise<void> {
  for await (const { name } of await opendir(folder))
    if (name.startsWith(PARTIAL)) await rm(join(folder, name), { force: true });
}

/** The folders that hold files, and those that hold these folders, which may be new. */
function foldersOf(written: readonly Written[]): Set<string> {
  const folders = new Set<string>();
  for (const { path } of written)
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
  return folders;
}

/** Returns the error of a file system call in a thread. */
function failureOf({ code, message }: Extract<FileResult, { failed: string }>): Error {
  return Object.assign(new Error(message), { code });
}
