import { randomBytes } from 'node:crypto';
import { type BigIntStats, createWriteStream } from 'node:fs';
import { mkdir, opendir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { syncFile, syncFileSystem, syncFolder } from '../../store/blobs/durableFile.ts';
import { isMissing, isUnreadable } from '../../store/blobs/fileErrors.ts';
import { type FileResult, NO_FILE } from './copyFile.ts';
import { FileThreads } from './fileThreads.ts';
import { readVerified } from './readVerified.ts';
import { CopyError, DamagedSourceError, type Payload, type StoredPayload } from './target.ts';

/** The name of a file until it is complete. Leftovers of a killed process are removed before the first file is written. */
const PARTIAL = '.partial-';

/** Above this number of files, one sync of the whole file system is faster than one of each file. */
const SYNC_FILES_UP_TO = 16;

/** What remains the same while a path leads to the same folder of the same disk. */
export type FolderIdentity = Pick<BigIntStats, 'dev' | 'ino'>;

interface Written {
  partial: string;
  path: string;
}

/**
 * Writes the files of a folder in batches: each under a name of its own first, then all are synced together, renamed in
 * the order in which they were put, and their folders synced. A name therefore never refers to bytes that a power failure
 * can remove, even where a file is replaced.
 */
export class FolderWriter {
  readonly threads = new FileThreads();
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
    const result = await this.threads.run(task, signal);
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
  async settle(): Promise<void> {
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
    throw new CopyError(`The disk of ${this.#folder} was disconnected meanwhile. Connect it again.`);
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
export function failureOf({ code, message }: Extract<FileResult, { failed: string }>): Error {
  return Object.assign(new Error(message), { code });
}
