import { createWriteStream } from 'node:fs';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { blobPath, fileChunks, isMissing, isNoSpace, isUnreadable } from '../files.ts';

/** The bytes `start` to `end`, both inclusive. */
export interface Bounds {
  start: number;
  end: number;
}

/** A place other than this disk that holds blobs. */
export interface RemoteBlobs {
  /**
   * Reads bytes of a blob. Each byte is verified before it is yielded.
   *
   * @throws Problem `copy_unreachable`; `blob_damaged` if every copy of it is damaged or missing
   */
  read(sha256: string, bounds: Bounds): AsyncIterable<Buffer>;
}

/** Up to this size, a blob that is elsewhere is fetched whole into the cache when a part of it is read. */
const CACHED_UP_TO_BYTES = 67_108_864;

/**
 * The blobs that may be offloaded. A blob is read from its file here if there is one, and from elsewhere
 * otherwise.
 */
export class OffloadedBlobs {
  readonly #folder: string;
  readonly #cache: BlobCache;
  readonly #locks = new Map<string, Promise<unknown>>();
  #bytesOf: (sha256: string) => number | undefined = () => undefined;
  #remote: RemoteBlobs | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.#cache = new BlobCache(folder);
  }

  /** @param bytesOf returns the size of a blob that may be offloaded, and undefined for any other */
  async open(bytesOf: (sha256: string) => number | undefined): Promise<void> {
    this.#bytesOf = bytesOf;
    await this.#cache.open();
  }

  /** Names the place from which blobs are read. Until then, reading one that is offloaded is a problem. */
  connect(remote: RemoteBlobs): void {
    this.#remote = remote;
  }

  /** Returns the size of a blob that may be offloaded, or undefined. */
  bytesOf(sha256: string): number | undefined {
    return this.#bytesOf(sha256);
  }

  /** Returns whether a blob is offloaded. */
  async isOffloaded(sha256: string): Promise<boolean> {
    return this.#bytesOf(sha256) !== undefined && !(await exists(blobPath(this.#folder, sha256)));
  }

  /** The bytes in the cache. */
  get cachedBytes(): number {
    return this.#cache.bytes;
  }

  isCached(sha256: string): boolean {
    return this.#cache.has(sha256);
  }

  /**
   * Reads a blob that may be offloaded, or a part of it.
   *
   * @throws like `RemoteBlobs.read`; the errors of a file that cannot be read
   */
  async *read(sha256: string, bounds: Partial<Bounds> = {}): AsyncGenerator<Buffer> {
    const { file, release } = await this.#borrowSmall(sha256);
    try {
      if (file === undefined) yield* this.stream(sha256, bounds);
      else yield* fileChunks(file, bounds);
    } finally {
      release();
    }
  }

  async #borrowSmall(sha256: string): Promise<{ file: string | undefined; release: () => void }> {
    const isLarge = (this.#bytesOf(sha256) ?? 0) > CACHED_UP_TO_BYTES;
    if (!isLarge || this.isCached(sha256) || !(await this.isOffloaded(sha256))) return this.borrow(sha256);
    return { file: undefined, release: () => {} };
  }

  /** Reads a blob that is offloaded from elsewhere, without using the cache. @throws like `RemoteBlobs.read` */
  stream(sha256: string, { start = 0, end }: Partial<Bounds> = {}): AsyncIterable<Buffer> {
    const last = (this.#bytesOf(sha256) ?? 0) - 1;
    if (!this.#remote)
      throw new Problem(
        'copy_unreachable',
        'These bytes are in a copy of this archive, which this program does not open. Start the node.',
      );
    return this.#remote.read(sha256, { start, end: Math.min(end ?? last, last) });
  }

  /**
   * Returns a file that holds a whole blob: its own, or one in the cache. The file of a blob that is missing for another
   * reason is returned too; reading it reports the error.
   *
   * @throws like `RemoteBlobs.read`
   */
  async borrow(sha256: string): Promise<BorrowedFile> {
    const bytes = this.#bytesOf(sha256);
    const file = blobPath(this.#folder, sha256);
    if (bytes === undefined || (await exists(file))) return { file, release: () => {} };
    return this.#cache.borrow({ sha256, bytes }, () => this.stream(sha256));
  }

  /** Removes what the cache has of a blob. Readers that have it open may finish. */
  forget(sha256: string): void {
    this.#cache.remove(sha256);
  }

  /** Runs work that changes whether a blob's file is here; for each blob, one after another. */
  async exclusively<Result>(sha256: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#locks.get(sha256);
    const done = (async () => {
      await before?.catch(() => undefined);
      return work();
    })();
    this.#locks.set(sha256, done);
    try {
      return await done;
    } finally {
      if (this.#locks.get(sha256) === done) this.#locks.delete(sha256);
    }
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    // Reading it reports the error.
    return true;
  }
}

/** A file that holds a whole blob until it is released. */
interface BorrowedFile {
  file: string;
  release: () => void;
}

/** The size of the cache. It is exceeded only while the files in use are larger. */
const MAX_BYTES = 1_073_741_824;

interface Cached {
  /** Resolves with the file once it is complete. */
  arrived: Promise<string>;
  bytes: number;
  users: number;
}

/** Numbers the files in caches, also of an archive that this process opens again. */
let fetches = 0;

/**
 * A bounded cache, on disk, of verified offloaded blobs: least recently used first out. It is emptied when
 * the archive is opened, because its files are not synced.
 */
class BlobCache {
  readonly #folder: string;
  /** In the order of their last use. */
  readonly #cached = new Map<string, Cached>();
  #bytes = 0;

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'cache');
  }

  async open(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(sha256: string): boolean {
    return this.#cached.has(sha256);
  }

  /**
   * Returns the file of a blob, which stays until it is released.
   *
   * @param fetch yields its verified bytes, if they are not in the cache
   * @throws the errors of `fetch`; Problem `disk_nearly_full`
   */
  async borrow(
    { sha256, bytes }: { sha256: string; bytes: number },
    fetch: () => AsyncIterable<Buffer>,
  ): Promise<BorrowedFile> {
    const cached = this.#cached.get(sha256) ?? { arrived: this.#fetch(sha256, fetch), bytes, users: 0 };
    if (!this.#cached.has(sha256)) this.#bytes += bytes;
    this.#cached.delete(sha256);
    this.#cached.set(sha256, cached);
    cached.users += 1;
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      cached.users -= 1;
      this.#evict();
    };
    try {
      const file = await cached.arrived;
      this.#evict();
      return { file, release };
    } catch (error) {
      if (this.#cached.get(sha256) === cached) this.#forget(sha256, cached);
      throw error;
    }
  }

  async #fetch(sha256: string, fetch: () => AsyncIterable<Buffer>): Promise<string> {
    // A file that is being removed may hold the same blob, and so may one of the archive that was open before.
    fetches += 1;
    const file = join(this.#folder, `${sha256}-${fetches}`);
    const partial = `${file}.partial`;
    try {
      await this.#make();
      await pipeline(Readable.from(fetch(), { objectMode: false }), createWriteStream(partial));
      await rename(partial, file);
      return file;
    } catch (error) {
      await rm(partial, { force: true });
      if (!isNoSpace(error)) throw error;
      throw new Problem(
        'disk_nearly_full',
        'These bytes are in a copy, and this disk has no space to fetch them. Free some space on it.',
        { cause: error },
      );
    }
  }

  /** Makes the folder of the cache, but not the data folder in place of one whose disk was pulled out. */
  async #make(): Promise<void> {
    try {
      await mkdir(this.#folder, { mode: 0o700 });
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }

  #evict(): void {
    for (const [sha256, cached] of this.#cached) {
      if (this.#bytes <= MAX_BYTES) return;
      if (cached.users === 0) this.#delete(sha256, cached);
    }
  }

  /** Deletes the file of a blob, as soon as it has arrived. */
  remove(sha256: string): void {
    const cached = this.#cached.get(sha256);
    if (cached) this.#delete(sha256, cached);
  }

  #delete(sha256: string, cached: Cached): void {
    this.#forget(sha256, cached);
    cached.arrived
      .then((file) => rm(file, { force: true }))
      .catch((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)));
  }

  #forget(sha256: string, { bytes }: Cached): void {
    this.#cached.delete(sha256);
    this.#bytes -= bytes;
  }
}

/**
 * Returns the first bytes of a blob, or undefined if it is missing or cannot be read. Sending it then reports the error.
 *
 * @throws Problem `copy_unreachable`, `blob_damaged` for a blob that is offloaded
 */
export async function startOfBlob(
  blobs: { read: (sha256: string, bounds: Bounds) => AsyncIterable<Buffer> },
  sha256: string,
  bytes: number,
): Promise<Uint8Array | undefined> {
  try {
    return await buffer(blobs.read(sha256, { start: 0, end: bytes - 1 }));
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return undefined;
    throw error;
  }
}
