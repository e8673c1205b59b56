import { createHash } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { opendir, readdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isDigest } from '../../../shared/digest.ts';
import { BlobKeeper } from './blobKeeper.ts';
import { createFolder } from './durableFile.ts';
import { isMissing, isNoSpace } from './missing.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import { recoverJournal } from './recoverJournal.ts';
import { type Chunks, type StagedBlob, type StagedFile, Staging } from './staging.ts';

export { isMissing } from './missing.ts';
export { type KeptBy, type StagedBlob, type StagedFile, TooManyBytesError } from './staging.ts';

const READ_SIZE = 1_048_576;

export interface Recovery {
  /** Whether the rows are known to be all that were ever acknowledged: else nobody knows what is a leftover. */
  mayDelete: boolean;
  /** Asked once `tmp/` is empty. */
  hasRoom: () => boolean;
}

/**
 * The folder of blobs, each under its SHA-256. Bytes go through one gate: `Staging`. Nothing here knows who names a
 * blob; a blob without a row is legal and swept, a row without a blob cannot come to be because `keep` is durable first.
 */
export class BlobStore {
  readonly #folder: string;
  readonly #keeper: BlobKeeper;
  readonly #staging: Staging;

  constructor(folder: string) {
    this.#folder = folder;
    this.#keeper = new BlobKeeper(folder);
    this.#staging = new Staging(folder, this.#keeper);
  }

  /** The file of a blob, which may not be there. */
  fileOf(sha256: string): string {
    return blobPath(this.#folder, sha256);
  }

  /**
   * Takes a stream of bytes, hashing them on the way. Small ones are held in memory, others are written to `tmp/` and
   * synced. Too many bytes, or an error of the stream, leave nothing behind.
   *
   * @throws TooManyBytesError as soon as the limit is passed; whatever the stream throws.
   */
  stage(chunks: Chunks, maxBytes: number): Promise<StagedBlob> {
    return this.#staging.take(chunks, maxBytes);
  }

  /** As `stage`, for bytes that came whole; whoever gives them lets go of them. */
  stageWhole(bytes: Buffer): Promise<StagedBlob> {
    return this.#staging.takeWhole(bytes);
  }

  /** Says that a blob will be kept soon: what can be done for it before is begun. */
  expect(sha256: string): void {
    this.#keeper.expect(this.fileOf(sha256));
  }

  /** As `stage`, in a file whatever the size. */
  stageFile(chunks: Chunks, maxBytes: number): Promise<StagedFile> {
    return this.#staging.takeToFile(chunks, maxBytes);
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

  /** Waits for what is being kept. */
  async close(): Promise<void> {
    await this.#keeper.close();
  }

  /**
   * Makes the folders and empties `tmp/`: what lies there was never acknowledged. What a crash left in the journal is
   * made good, as far as a row names it; where the disk has no room for that, it stays in the journal.
   */
  async recover(isNamed: (sha256: string) => boolean, { mayDelete, hasRoom }: Recovery): Promise<void> {
    await createFolder(join(this.#folder, 'blobs'));
    await this.#emptyTemporary();
    if (!hasRoom()) return;
    try {
      await recoverJournal(this.#folder, mayDelete ? isNamed : () => true);
    } catch (error) {
      if (!isNoSpace(error)) throw error;
      // What could not be written anew is in the journal still; its files are as the crash left them.
      return this.#emptyTemporary();
    }
    if (mayDelete) await this.#sweep(isNamed);
  }

  async #emptyTemporary(): Promise<void> {
    const temporary = temporaryFolder(this.#folder);
    await createFolder(temporary);
    for (const name of await readdir(temporary))
      await rm(join(temporary, name), { recursive: true, force: true });
  }

  /** Removes blobs that no row names, left by a crash between rename and commit. Only before anything is written. */
  async #sweep(isNamed: (sha256: string) => boolean): Promise<number> {
    let swept = 0;
    for await (const file of await opendir(join(this.#folder, 'blobs'), { recursive: true })) {
      if (!file.isFile() || !isDigest(file.name) || isNamed(file.name)) continue;
      await unlink(join(file.parentPath, file.name));
      swept += 1;
    }
    return swept;
  }
}
