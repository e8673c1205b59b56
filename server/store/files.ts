import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsync, openSync, writeSync } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { errorCode } from '../../shared/values/errorCode.ts';

/** The path of a blob: `blobs/ab/cd/<sha256>`. @throws TypeError if it is not a digest */
export function blobPath(folder: string, sha256: string): string {
  if (!isDigest(sha256)) throw new TypeError('A blob is named by a SHA-256 digest in hex.');
  return join(folder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

export function temporaryFolder(folder: string): string {
  return join(folder, 'tmp');
}

/** The folder of blobs that no row references and that are not known to be leftovers. */
export function lostAndFoundFolder(folder: string): string {
  return join(folder, 'lost-and-found');
}

/** The folder of the files of drafts: `drafts/<draft>/<sha256>`. */
export function draftsFolder(folder: string): string {
  return join(folder, 'drafts');
}

export function databaseFile(folder: string): string {
  return join(folder, 'strongroom.db');
}

/** Whether a file system call failed because there is no such file. */
export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

/** Resolves with `absent` if the file or folder that is read does not exist. */
export function orIfMissing<Result, Absent>(
  result: Promise<Result>,
  absent: Absent,
): Promise<Result | Absent> {
  return result.catch((error: unknown) => {
    if (isMissing(error)) return absent;
    throw error;
  });
}

/** Errors that mean that the file's bytes cannot be read. Other errors concern the system, not the file. */
const UNREADABLE = new Set<string | undefined>(['EIO', 'EISDIR', 'ELOOP', 'ENOTDIR', 'EBADMSG', 'EUCLEAN']);

/** Whether a file system call failed because the file cannot be read. */
export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(errorCode(error));
}

/** Whether a file system call failed because the disk is full or the quota is used up. */
export function isNoSpace(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/**
 * Syncs a folder's entries: a rename is on stable storage only after this. Windows cannot sync a folder; NTFS journals
 * renames itself.
 */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  // Opening a folder does not wait for the disk; doing it in a thread would cost as much as the sync.
  const descriptor = openSync(folder, 'r');
  try {
    await new Promise<void>((resolve, reject) =>
      fsync(descriptor, (error) => (error ? reject(error) : resolve())),
    );
  } finally {
    closeSync(descriptor);
  }
}

/** Syncs a file's data. */
export async function syncFile(file: string): Promise<void> {
  // Windows syncs only files that are open for writing.
  const handle = await open(file, 'r+');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/**
 * Syncs the whole file system of a folder, which is faster than syncing many files. Runs `sync --file-system`, because
 * Node.js has no syncfs(2). Returns false, and does nothing, where there is no such program.
 */
export async function syncFileSystem(folder: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    await promisify(execFile)('sync', ['--file-system', folder]);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Lets only this user read what the process creates from now on, whatever mask it was started with. Of an archive that a
 * web server shows (a copy with pages), the modes are set one by one.
 */
export function restrictNewFiles(): void {
  // A thread has the mask of its process, and cannot set it.
  if (isMainThread) process.umask(0o077);
}

/**
 * Takes a data folder away from other users of the machine: it may have been made by an earlier version, or by somebody
 * else with other modes, such as a volume. If the folder belongs to another user, its contents are closed at least.
 *
 * @throws the errors of the disk
 */
export async function restrictFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  await closeToOthers(folder);
  for (const name of await readdir(folder)) await closeToOthers(join(folder, name));
}

async function closeToOthers(path: string): Promise<void> {
  try {
    const { mode, isSymbolicLink } = await lstat(path).then((found) => ({
      mode: found.mode,
      isSymbolicLink: found.isSymbolicLink(),
    }));
    if (!isSymbolicLink && (mode & 0o077) !== 0) await chmod(path, mode & 0o700);
  } catch (error) {
    // It vanished meanwhile, is another user's, or the disk has no modes.
    if (
      !isMissing(error) &&
      !['EPERM', 'ENOTSUP', 'EINVAL', 'EROFS', 'ENOSYS'].includes(errorCode(error) ?? '')
    )
      throw error;
  }
}

/** Creates a folder and its missing parents durably. */
export async function createFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
}

/**
 * Writes a small file durably and atomically: no reader sees a part of it. Its folder must exist: it is not created in place of
 * a data folder whose disk was pulled out.
 */
export async function writeFileDurably(file: string, text: string, mode: number): Promise<void> {
  const temporary = `${file}.tmp`;
  const handle: FileHandle = await open(temporary, 'w', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  await syncFolder(dirname(file));
}

/** Writes all bytes. A single write may write only some of them, for example on a nearly full disk. */
export function writeAllSync(descriptor: number, bytes: Uint8Array): void {
  for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
}

const READ_SIZE = 1_048_576;

/**
 * Reads a file, or its bytes `start` to `end`, both inclusive. The buffer is no larger than the file: one of a megabyte for
 * each of many small files would cost ten times as much as reading them.
 *
 * @throws the errors of a file that is missing or cannot be read
 */
export async function* fileChunks(
  file: string,
  options: { start?: number | undefined; end?: number | undefined; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<Buffer> {
  const { size } = await stat(file);
  const highWaterMark = Math.max(1, Math.min(READ_SIZE, size));
  yield* createReadStream(file, { highWaterMark, ...options }) as AsyncIterable<Buffer>;
}

/** Returns the SHA-256 of a file in hex; undefined if there is no such file. */
export async function digestOf(file: string, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const hash = createHash('sha256');
    for await (const chunk of fileChunks(file, { signal })) hash.update(chunk);
    return hash.digest('hex');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
