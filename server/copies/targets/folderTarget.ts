import { constants, createReadStream } from 'node:fs';
import { access, mkdir, opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { isMissing, isNoSpace } from '../../store/blobs/fileErrors.ts';
import { type FileResult, NO_FILE } from './copyFile.ts';
import { type FolderIdentity, FolderWriter, failureOf } from './folderWriter.ts';
import { CopyError, type CopyTarget, DamagedSourceError, type TargetFile } from './target.ts';

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
    concurrency: 8,
    put: (path, payload, { signal }) => explained(() => writer.put(path, payload, signal)),
    settle: () => explained(() => writer.settle()),
    digestOf: (path, signal, onBytes) =>
      explained(async () => {
        const task = { from: join(folder, path), maxBytes: Number.POSITIVE_INFINITY };
        const found = await readFound(await writer.threads.run(task, signal), folder);
        if (found) onBytes?.(found.bytes);
        return found;
      }),
    fetch: async (path, { file, sha256, bytes }, signal) => {
      const task = {
        from: join(folder, path),
        to: { file, mode: 0o600, createsParents: true },
        maxBytes: bytes,
      };
      const result = await writer.threads.run(task, signal);
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
    close: () => writer.threads.close(),
  };
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
