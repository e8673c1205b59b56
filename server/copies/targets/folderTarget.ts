import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants, createWriteStream } from 'node:fs';
import { access, chmod, lstat, mkdir, opendir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pLimit from 'p-limit';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { untilAborted } from '../../runtime/concurrency.ts';
import { runInThread } from '../../runtime/threads.ts';
import {
  fileChunks,
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
  DamagedSourceError,
  type FoundFile,
  OwnDiskError,
  type Payload,
  type Range,
  type RawTarget,
  readVerified,
  type StoredPayload,
  type TargetEntry,
  type TargetFile,
} from './target.ts';

/**
 * Opens a folder as the place of a copy: another disk, a memory stick, a network drive. For a new copy it is created if it
 * does not exist, but its parent must exist: a missing parent is a disk that is not mounted.
 *
 * @throws CopyError
 */
export async function openFolder(
  folder: string,
  { isNew, readers }: { isNew: boolean; readers: FolderReaders | undefined },
): Promise<RawTarget> {
  const sentenceOf = (error: unknown) => sentenceOfFolder(error, folder);
  let identity: FolderIdentity;
  try {
    if (isNew) await createOnMountedDisk(folder);
    identity = await requireFolder(folder);
    if (readers) await applyModes(folder, MODES[readers]);
  } catch (error) {
    const sentence = error instanceof CopyError ? undefined : sentenceOf(error);
    throw sentence === undefined ? error : new CopyError(sentence, { cause: error });
  }
  const writer = new FolderWriter(folder, identity, MODES[readers ?? 'owner']);
  /** A file that is missing is damage; a folder that is missing, or is another one, is a disk that is not mounted. */
  const absent = async (): Promise<undefined> => writer.requireSameFolder();
  const foundBy = async (result: FileResult): Promise<FoundFile | undefined> => {
    if (!('failed' in result)) return result;
    if (!ABSENT.has(result.code)) throw failureOf(result);
    return absent();
  };
  return {
    name: folder,
    isFolder: true,
    // Enough for each thread to have the next file waiting.
    concurrency: 2 * MAX_THREADS,
    sentenceOf,
    put: (path, payload, { signal }) => writer.put(path, payload, signal),
    flush: () => writer.flush(),
    digestOf: async (path, signal, onBytes) => {
      const task = { from: join(folder, path), maxBytes: Number.POSITIVE_INFINITY, refusesLinks: true };
      const found = await foundBy(await writer.copyFile(task, signal));
      if (found) onBytes?.(found.bytes);
      return found;
    },
    fetch: async (path, { file, sha256, bytes }, signal) => {
      const task = {
        from: join(folder, path),
        to: { file, mode: 0o600, createsParents: true },
        maxBytes: bytes,
        refusesLinks: true,
      };
      let isIntact = false;
      try {
        const result = await writer.copyFile(task, signal);
        if ('failed' in result && result.failed === 'write') throw new OwnDiskError(failureOf(result));
        isIntact = (await foundBy(result))?.sha256 === sha256;
        return isIntact;
      } finally {
        if (!isIntact) await rm(file, { force: true });
      }
    },
    read: async (path, _signal, range) => (await openIfPresent(join(folder, path), range)) ?? absent(),
    list: (below) => listFiles(folder, below, absent),
    entries: () => entriesIn(folder, '', absent),
    remove: async (paths) => {
      for (const path of paths) await rm(join(folder, path), { force: true });
    },
    purge: (paths) => purge(folder, paths),
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

/** Who may read a copy in a folder: all, as a web server must, or only the user of the node. */
export type FolderReaders = 'all' | 'owner';

interface Modes {
  folder: number;
  file: number;
}

const MODES: Readonly<Record<FolderReaders, Modes>> = {
  all: { folder: 0o755, file: 0o644 },
  owner: { folder: 0o700, file: 0o600 },
};
const PERMISSIONS = 0o777;
/** The disk has no modes, or belongs to another user. */
const WITHOUT_MODES: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOTSUP',
  'EINVAL',
  'EROFS',
  'ENOSYS',
]);

/**
 * Gives a copy the modes that it must have, if its folder has others: one of an earlier version, or whose pages were turned
 * on or off. The folder itself comes first if it closes the copy, and last if it opens it, so that a crash in between is
 * noticed by the next opening.
 */
async function applyModes(folder: string, modes: Modes): Promise<void> {
  if (process.platform === 'win32') return;
  if (((await stat(folder)).mode & PERMISSIONS) === modes.folder) return;
  const closes = (modes.folder & 0o077) === 0;
  try {
    if (closes) await chmod(folder, modes.folder);
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isDirectory() && !entry.isFile()) continue;
      await orIfMissing(
        chmod(join(entry.parentPath, entry.name), entry.isFile() ? modes.file : modes.folder),
        undefined,
      );
    }
    if (!closes) await chmod(folder, modes.folder);
  } catch (error) {
    if (!WITHOUT_MODES.has(errorCode(error))) throw error;
  }
}

/** Sets a mode that the process's mask would have restricted. */
async function setMode(path: string, mode: number): Promise<void> {
  if (process.platform === 'win32') return;
  try {
    await chmod(path, mode);
  } catch (error) {
    if (!WITHOUT_MODES.has(errorCode(error))) throw error;
  }
}

async function createOnMountedDisk(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: MODES.owner.folder });
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
async function openIfPresent(file: string, range: Range | undefined): Promise<Readable | undefined> {
  try {
    if (!(await lstat(file)).isFile()) return undefined;
    await access(file, constants.R_OK);
  } catch (error) {
    if (!ABSENT.has(errorCode(error))) throw error;
    return undefined;
  }
  return Readable.from(fileChunks(file, range), { objectMode: false });
}

async function* listFiles(
  folder: string,
  below: string,
  absent: () => Promise<undefined>,
): AsyncGenerator<TargetFile> {
  for await (const { path, is } of entriesIn(folder, below, absent)) {
    // It may have been removed meanwhile.
    const found = is === 'file' ? await orIfMissing(stat(join(folder, path)), undefined) : undefined;
    if (found) yield { path, bytes: found.size };
  }
}

/** Yields what is below a folder; a folder itself if it is empty. Links are not followed. */
async function* entriesIn(
  folder: string,
  below: string,
  absent: () => Promise<undefined>,
): AsyncGenerator<TargetEntry> {
  const entries = await orIfMissing(opendir(join(folder, below)), undefined);
  if (!entries) return absent();
  let isEmpty = true;
  for await (const entry of entries) {
    isEmpty = false;
    const path = `${below}${entry.name}`;
    if (entry.isDirectory()) yield* entriesIn(folder, `${path}/`, absent);
    else yield { path, is: entry.isFile() ? 'file' : 'other' };
  }
  if (isEmpty && below !== '') yield { path: below, is: 'folder' };
}

/** What a disk that is not there reports, or a drive on the network that does not answer. */
const AWAY: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENODEV',
  'ENXIO',
  'ESTALE',
  'ENOTCONN',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ECONNRESET',
]);

function sentenceOfFolder(error: unknown, folder: string): string | undefined {
  if (isNoSpace(error)) return `The disk of ${folder} is full. Free some space on it.`;
  const code = errorCode(error);
  if (AWAY.has(code)) return `${folder} cannot be reached. Connect its disk, or check the path.`;
  if (code === 'EBUSY' || code === 'EAGAIN' || code === 'ETXTBSY')
    return `A file in ${folder} is in use by another program. Try again later.`;
  if (code === 'EROFS') return `${folder} cannot be written: its disk is read-only.`;
  if (code === 'EACCES' || code === 'EPERM')
    return `${folder} cannot be read or written. Check its permissions.`;
  if (code === 'EISDIR' || code === 'ENOTDIR' || code === 'EEXIST' || code === 'ENOTEMPTY')
    return `${folder} has a folder where a file of the copy must be, or a file in place of a folder. Move it away.`;
  if (code === 'EIO' || code === 'EUCLEAN' || code === 'EBADMSG')
    return `The disk of ${folder} reports an error. Replace the disk.`;
  return undefined;
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
  readonly #modes: Modes;
  #isTidied: Promise<void> | undefined;
  #puts = 0;
  #written: Written[] = [];
  readonly #putting = new Set<Promise<void>>();

  constructor(folder: string, identity: FolderIdentity, modes: Modes) {
    this.#folder = folder;
    this.#modes = modes;
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

  /** What is being copied fails. Removes what was put since the last flush. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled(this.#putting);
    for (const { partial } of this.#written.splice(0)) await removeIfReached(partial);
  }

  /** @throws DamagedSourceError; the errors of the folder's disk */
  put(path: string, payload: Payload, signal: AbortSignal | undefined): Promise<void> {
    const put = this.#put(path, payload, AbortSignal.any([this.#closed.signal, ...(signal ? [signal] : [])]));
    this.#putting.add(put);
    const ended = () => void this.#putting.delete(put);
    put.then(ended, ended);
    return put;
  }

  async #put(path: string, payload: Payload, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#isTidied ??= removeLeftovers(this.#folder);
    await this.#isTidied;
    this.#puts += 1;
    const written = { partial: join(this.#folder, `${this.#prefix}${this.#puts}`), path };
    try {
      if ('bytes' in payload) await writeFile(written.partial, payload.bytes, { mode: this.#modes.file });
      else if ('file' in payload) await this.#copy(payload, written.partial, signal);
      else
        await pipeline(
          Readable.from(readVerified(payload), { objectMode: false }),
          createWriteStream(written.partial, { mode: this.#modes.file }),
          { signal },
        );
      if (this.#modes !== MODES.owner) await setMode(written.partial, this.#modes.file);
      signal.throwIfAborted();
    } catch (error) {
      await removeIfReached(written.partial);
      throw error;
    }
    this.#written.push(written);
  }

  async #copy(
    { file, size, sha256 }: StoredPayload & { file: string },
    partial: string,
    signal: AbortSignal,
  ): Promise<void> {
    const task = {
      from: file,
      to: { file: partial, mode: this.#modes.file, createsParents: false },
      maxBytes: size,
    };
    const result = await this.copyFile(task, signal);
    if (!('failed' in result)) {
      if (result.sha256 !== sha256) throw new DamagedSourceError(sha256);
      return;
    }
    const cause = failureOf(result);
    const isLost = result.code === NO_FILE || isMissing(cause) || isUnreadable(cause);
    if (result.failed === 'read' && isLost) throw new DamagedSourceError(sha256, { cause });
    throw result.failed === 'read' ? new OwnDiskError(cause) : cause;
  }

  /**
   * Brings everything that was put to stable storage.
   *
   * @throws CopyError if the path leads to another folder meanwhile: a disk that was disconnected. The errors of the disk
   */
  async flush(): Promise<void> {
    const written = this.#written;
    this.#written = [];
    try {
      await this.requireSameFolder();
      await this.#sync(written.map(({ partial }) => partial));
      for (const { partial, path } of written) {
        await this.#createParent(path);
        await rename(partial, join(this.#folder, path));
      }
    } catch (error) {
      // Removed when this is closed.
      this.#written.push(...written);
      throw error;
    }
    for (const folder of foldersOf(written)) await syncFolder(join(this.#folder, folder));
    await this.requireSameFolder();
  }

  /** @throws CopyError if the path leads to another folder by now; the error of the disk if it leads to none */
  async requireSameFolder(): Promise<undefined> {
    const { dev, ino } = await stat(this.#folder, { bigint: true });
    if (dev === this.#identity.dev && ino === this.#identity.ino) return undefined;
    throw new CopyError(`The disk of ${this.#folder} was disconnected. Connect it again.`);
  }

  async #sync(files: readonly string[]): Promise<void> {
    if (files.length > SYNC_FILES_UP_TO && (await syncFileSystem(this.#folder))) return;
    for (const file of files) await syncFile(file);
  }

  async #createParent(path: string): Promise<void> {
    const parent = dirname(join(this.#folder, path));
    if (this.#made.has(parent)) return;
    const first = await mkdir(parent, { recursive: true, mode: this.#modes.folder });
    if (first !== undefined && this.#modes !== MODES.owner)
      for (let made = parent; ; made = dirname(made)) {
        await setMode(made, this.#modes.folder);
        if (made === first) break;
      }
    this.#made.add(parent);
  }
}

/** Removes a partial file after an error, which says more than that of the removal: the disk may be gone. */
async function removeIfReached(partial: string): Promise<void> {
  await rm(partial, { force: true }).catch(() => undefined);
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
