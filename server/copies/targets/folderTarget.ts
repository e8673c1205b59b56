import { randomBytes } from 'node:crypto';
import { constants, createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { syncFile, syncFileSystem, syncFolder } from '../../store/blobs/durableFile.ts';
import { isMissing, isNoSpace } from '../../store/blobs/fileErrors.ts';
import { readVerified } from './readVerified.ts';
import { CopyError, type CopyTarget, DamagedSourceError, type TargetFile } from './target.ts';

/** The name of a file until it is complete. Leftovers of a killed process are removed when the folder is opened. */
const PARTIAL = '.partial-';

/**
 * Opens a folder as the target of a copy: another disk, a memory stick, a network drive. To be written, it is created if
 * it does not exist, but its parent must exist: a missing parent is a disk that is not mounted. To be read, it is not
 * changed.
 *
 * @throws CopyError
 */
export async function openFolderTarget(
  folder: string,
  { isReadOnly }: { isReadOnly: boolean },
): Promise<CopyTarget> {
  const explained = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw explain(error, folder);
    }
  };
  await explained(() => (isReadOnly ? requireFolder(folder) : createOnMountedDisk(folder)));
  const made = new Set<string>([folder]);
  const unsettled = new Set<string>();
  const createParent = async (path: string) => {
    const parent = dirname(join(folder, path));
    if (made.has(parent)) return;
    await mkdir(parent, { recursive: true });
    made.add(parent);
  };
  return {
    name: folder,
    concurrency: 4,
    put: (path, payload, { signal }) =>
      explained(async () => {
        signal?.throwIfAborted();
        await createParent(path);
        const partial = join(folder, `${PARTIAL}${randomBytes(8).toString('hex')}`);
        try {
          if ('bytes' in payload) await writeFile(partial, payload.bytes);
          else
            await pipeline(
              Readable.from(readVerified(payload), { objectMode: false }),
              createWriteStream(partial),
            );
          await rename(partial, join(folder, path));
        } catch (error) {
          await rm(partial, { force: true });
          throw error;
        }
        unsettled.add(path);
      }),
    settle: () =>
      explained(async () => {
        const paths = [...unsettled];
        await syncFiles(folder, paths);
        for (const path of paths) unsettled.delete(path);
      }),
    read: (path, _signal, range) => explained(() => openIfPresent(folder, path, range)),
    list: (below) => listFiles(folder, below),
    remove: (path) => explained(() => rm(join(folder, path), { force: true })),
    close: () => {},
  };
}

async function createOnMountedDisk(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    await requireFolder(folder);
  }
  for await (const { name } of await opendir(folder))
    if (name.startsWith(PARTIAL)) await rm(join(folder, name), { force: true });
}

async function requireFolder(folder: string): Promise<void> {
  if (!(await stat(folder)).isDirectory()) throw new CopyError(`${folder} is a file, not a folder.`);
}

/** The file is opened when the stream is first read, so that a stream that nobody reads leaves none open. */
async function openIfPresent(
  folder: string,
  path: string,
  range?: { start: number; end: number },
): Promise<Readable | undefined> {
  const file = join(folder, path);
  try {
    await access(file, constants.R_OK);
  } catch (error) {
    if (!isMissing(error)) throw error;
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

/** Above this number of files, one sync of the whole file system is faster than one of each file. */
const SYNC_FILES_UP_TO = 16;

async function syncFiles(folder: string, paths: readonly string[]): Promise<void> {
  if (paths.length > SYNC_FILES_UP_TO && (await syncFileSystem(folder))) return;
  for (const path of paths) await syncFile(join(folder, path));
  for (const parent of new Set(paths.map((path) => dirname(join(folder, path))))) await syncFolder(parent);
  await syncFolder(folder);
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
  if (code === 'EIO')
    return new CopyError(`The disk of ${folder} reports an error. Replace the disk.`, cause);
  return error;
}
