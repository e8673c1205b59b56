import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { open, opendir, readdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isDigest } from '../../../shared/digest.ts';
import { createFolder } from './durableFile.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import { ShardFolders } from './shardFolders.ts';
import { WriteBehind } from './writeBehind.ts';

/** Bytes that lie in `tmp/`, hashed and synced, until they are kept or discarded. */
export interface StagedBlob {
  readonly sha256: string;
  readonly bytes: number;
  /** A file to read the bytes from before they are kept. */
  readonly file: string;
  /** Moves the bytes to their name, durably. The caller then names the blob in a row, in a transaction. */
  keep(): Promise<void>;
  /** Removes the bytes; does nothing once they are kept. */
  discard(): Promise<void>;
}

/** More bytes came than the caller takes. */
export class TooManyBytesError extends Error {
  constructor(limit: number) {
    super(`More than ${limit} bytes came.`);
    this.name = 'TooManyBytesError';
  }
}

const READ_SIZE = 1_048_576;

/**
 * The folder of blobs, each under its SHA-256. Bytes go through one gate: `stage`. Nothing here knows who names a
 * blob; a blob without a row is legal and swept, a row without a blob cannot come to be because `keep` is durable first.
 */
export class BlobStore {
  readonly #folder: string;
  readonly #shards = new ShardFolders();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The file of a blob, which may not be there. */
  fileOf(sha256: string): string {
    return blobPath(this.#folder, sha256);
  }

  /**
   * Streams bytes to `tmp/`, hashing them on the way, and syncs them. Too many bytes, or an error of the stream, leave
   * nothing behind.
   *
   * @throws TooManyBytesError as soon as the limit is passed; whatever the stream throws.
   */
  async stage(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    maxBytes: number,
  ): Promise<StagedBlob> {
    const file = join(temporaryFolder(this.#folder), randomBytes(12).toString('hex'));
    const handle = await open(file, 'wx', 0o600);
    const hash = createHash('sha256');
    const written = new WriteBehind(handle);
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw new TooManyBytesError(maxBytes);
        hash.update(chunk);
        await written.append(chunk);
      }
      await written.sync();
    } catch (error) {
      await handle.close();
      await unlink(file);
      throw error;
    }
    await handle.close();
    return this.#staged(file, hash.digest('hex'), bytes);
  }

  #staged(file: string, sha256: string, bytes: number): StagedBlob {
    let kept = false;
    return {
      sha256,
      bytes,
      file,
      keep: async () => {
        if (kept) return;
        // Replacing a blob of this name heals one that was damaged; the bytes are the same by their digest.
        await this.#shards.receive(file, this.fileOf(sha256));
        kept = true;
      },
      discard: async () => {
        if (!kept) await rm(file, { force: true });
      },
    };
  }

  /** Reads a blob, or the bytes `start` to `end` (both inclusive) of it. */
  createReadStream(sha256: string, range: { start?: number; end?: number } = {}): ReadStream {
    return createReadStream(this.fileOf(sha256), { highWaterMark: 524_288, ...range });
  }

  /** The size of a stored blob, or undefined where there is no such file. */
  async bytesOf(sha256: string): Promise<number | undefined> {
    try {
      return (await stat(this.fileOf(sha256))).size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Re-reads a blob and hashes it, or undefined where the file is missing. */
  async rehash(sha256: string, signal?: AbortSignal): Promise<string | undefined> {
    try {
      const hash = createHash('sha256');
      for await (const chunk of createReadStream(this.fileOf(sha256), { highWaterMark: READ_SIZE, signal })) {
        hash.update(chunk as Buffer);
      }
      return hash.digest('hex');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Makes the folders and empties `tmp/`: what lies there was never acknowledged. */
  async recover(): Promise<void> {
    await createFolder(join(this.#folder, 'blobs'));
    const temporary = temporaryFolder(this.#folder);
    await createFolder(temporary);
    for (const name of await readdir(temporary))
      await rm(join(temporary, name), { recursive: true, force: true });
  }

  /** Removes blobs that no row names, left by a crash between rename and commit. Only before anything is written. */
  async sweep(isNamed: (sha256: string) => boolean): Promise<number> {
    let swept = 0;
    for await (const file of await opendir(join(this.#folder, 'blobs'), { recursive: true })) {
      if (!file.isFile() || !isDigest(file.name) || isNamed(file.name)) continue;
      await unlink(join(file.parentPath, file.name));
      swept += 1;
    }
    return swept;
  }
}

/** Whether a file system call failed because there is no such file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
