import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { Problem } from '../../../../shared/problems.ts';
import { isMissing } from '../fileErrors.ts';
import { blobPath } from '../paths.ts';
import { BlobCache, type BorrowedFile } from './blobCache.ts';

/** The bytes `start` to `end`, both inclusive. */
export interface Bounds {
  start: number;
  end: number;
}

/** A place other than this disk that holds blobs. */
export interface Elsewhere {
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
 * The blobs that may have left this disk. A blob is read from its file here if there is one, and from elsewhere
 * otherwise.
 */
export class AwayBlobs {
  readonly #folder: string;
  readonly #cache: BlobCache;
  readonly #locks = new Map<string, Promise<unknown>>();
  #bytesOf: (sha256: string) => number | undefined = () => undefined;
  #elsewhere: Elsewhere | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    this.#cache = new BlobCache(folder);
  }

  /** @param bytesOf returns the size of a blob that may have left this disk, and undefined for any other */
  async open(bytesOf: (sha256: string) => number | undefined): Promise<void> {
    this.#bytesOf = bytesOf;
    await this.#cache.open();
  }

  /** Names the place from which blobs are read. Until then, reading one that is away is a problem. */
  connect(elsewhere: Elsewhere): void {
    this.#elsewhere = elsewhere;
  }

  /** Returns the size of a blob that may have left this disk, or undefined. */
  bytesOf(sha256: string): number | undefined {
    return this.#bytesOf(sha256);
  }

  /** Returns whether a blob has left this disk. */
  async isAway(sha256: string): Promise<boolean> {
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
   * Reads a blob that may be away, or a part of it.
   *
   * @throws like `Elsewhere.read`; the errors of a file that cannot be read
   */
  async *read(sha256: string, bounds: Partial<Bounds> = {}): AsyncGenerator<Buffer> {
    const { file, release } = await this.#borrowSmall(sha256);
    try {
      if (file === undefined) yield* this.stream(sha256, bounds);
      else yield* createReadStream(file, { highWaterMark: READ_SIZE, ...bounds }) as AsyncIterable<Buffer>;
    } finally {
      release();
    }
  }

  async #borrowSmall(sha256: string): Promise<{ file: string | undefined; release: () => void }> {
    const isLarge = (this.#bytesOf(sha256) ?? 0) > CACHED_UP_TO_BYTES;
    if (!isLarge || this.isCached(sha256) || !(await this.isAway(sha256))) return this.borrow(sha256);
    return { file: undefined, release: () => {} };
  }

  /** Reads a blob that is away from elsewhere, without using the cache. @throws like `Elsewhere.read` */
  stream(sha256: string, { start = 0, end }: Partial<Bounds> = {}): AsyncIterable<Buffer> {
    const last = (this.#bytesOf(sha256) ?? 0) - 1;
    if (!this.#elsewhere)
      throw new Problem(
        'copy_unreachable',
        'These bytes are in a copy of this archive, which this program does not open. Start the node.',
      );
    return this.#elsewhere.read(sha256, { start, end: Math.min(end ?? last, last) });
  }

  /**
   * Returns a file that holds a whole blob: its own, or one in the cache. The file of a blob that is missing for another
   * reason is returned too; reading it reports the error.
   *
   * @throws like `Elsewhere.read`
   */
  async borrow(sha256: string): Promise<BorrowedFile> {
    const bytes = this.#bytesOf(sha256);
    const file = blobPath(this.#folder, sha256);
    if (bytes === undefined || (await exists(file))) return { file, release: () => {} };
    return this.#cache.borrow({ sha256, bytes }, () => this.stream(sha256));
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

const READ_SIZE = 524_288;

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
