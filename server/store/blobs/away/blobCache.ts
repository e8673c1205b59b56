import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../../../shared/problems.ts';
import { createFolder } from '../durableFile.ts';
import { isNoSpace } from '../fileErrors.ts';

/** A file that holds a whole blob until it is released. */
export interface BorrowedFile {
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

/**
 * A bounded cache, on disk, of verified blobs that have left this disk: least recently used first out. It is emptied when
 * the archive is opened, because its files are not synced.
 */
export class BlobCache {
  readonly #folder: string;
  /** In the order of their last use. */
  readonly #cached = new Map<string, Cached>();
  #bytes = 0;
  #fetches = 0;

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
    // A file that is being removed may hold the same blob.
    this.#fetches += 1;
    const file = join(this.#folder, `${sha256}-${this.#fetches}`);
    const partial = `${file}.partial`;
    try {
      await createFolder(this.#folder);
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

  #evict(): void {
    for (const [sha256, cached] of this.#cached) {
      if (this.#bytes <= MAX_BYTES) return;
      if (cached.users > 0) continue;
      this.#forget(sha256, cached);
      cached.arrived
        .then((file) => rm(file, { force: true }))
        .catch((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)));
    }
  }

  #forget(sha256: string, { bytes }: Cached): void {
    this.#cached.delete(sha256);
    this.#bytes -= bytes;
  }
}
