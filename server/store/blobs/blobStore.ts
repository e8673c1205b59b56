import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Problem } from '../../../shared/problems.ts';
import {
  blobPath,
  createFolder,
  draftsFolder,
  isNoSpace,
  orIfMissing,
  syncFolder,
  temporaryFolder,
} from '../files.ts';
import { BlobWrites, parseMarkers, type Rows } from './blobWrites.ts';
import { LostAndFound, type LostFile, removeSetAside } from './lostAndFound.ts';
import { type Bounds, OffloadedBlobs } from './offloadedBlobs.ts';
import { Staging } from './staging.ts';

export { isMissing, isUnreadable } from '../files.ts';
export type { Bounds, RemoteBlobs } from './offloadedBlobs.ts';
export { type StagedBlob, type StagedFile, TooManyBytesError } from './staging.ts';

/** The committed rows, and a way to be notified of commits. */
interface CommittedRows extends Rows {
  onCommit: (listener: () => void) => unknown;
}

interface Recovery {
  /** Whether the database is known to hold all acknowledged rows. Only then can leftovers be identified and deleted. */
  mayDelete: boolean;
  /** Whether the disk has enough space; called once `tmp/` is empty. */
  hasSpace: () => boolean;
  /** Whether a blob was given up. Its leftovers are deleted in any case. */
  isReleased?: (sha256: string) => boolean;
}

/**
 * The folder of blobs, each named by its SHA-256. All bytes enter through `Staging`. A row without its blob cannot
 * occur, because `keep` is durable before the row is written. A blob without a row is legal. It is deleted if it is known
 * to be the leftover of an unacknowledged write (`BlobWrites`, `recover`); any other is never deleted
 * (`LostAndFound`).
 */
export class BlobStore {
  readonly staging: Staging;
  /** The blobs that may be offloaded. */
  readonly offloaded: OffloadedBlobs;
  readonly #folder: string;
  readonly #lost: LostAndFound;
  readonly #writes: BlobWrites;
  #rows: CommittedRows | undefined;
  readonly #onRemoved: ((sha256: string) => void)[] = [];
  #isRestoreDue = false;
  #restoring: Promise<void> | undefined;
  #isClosed = false;

  constructor(folder: string) {
    this.#folder = folder;
    this.#lost = new LostAndFound(folder);
    this.offloaded = new OffloadedBlobs(folder);
    this.#writes = new BlobWrites(folder, this.#lost);
    this.staging = new Staging(folder, this.#writes);
  }

  /** The path of a blob's file, which may not exist. */
  fileOf(sha256: string): string {
    return blobPath(this.#folder, sha256);
  }

  /**
   * Reads a blob, or its bytes `start` to `end`, both inclusive. One that is offloaded is read from a copy.
   *
   * @throws the errors of the file, if it is missing or cannot be read; Problem `copy_unreachable`, `released`
   */
  async *read(sha256: string, bounds: Partial<Bounds> = {}): AsyncGenerator<Buffer> {
    if (this.isReleased(sha256))
      throw new Problem('released', 'These bytes were given up. The record and the digest remain.');
    yield* this.offloaded.read(sha256, bounds);
  }

  /** Returns whether the bytes of a blob were given up. */
  isReleased(sha256: string): boolean {
    return this.#rows?.isReleased(sha256) === true;
  }

  /** Returns the size of a blob's file, or undefined if there is none. */
  async bytesOf(sha256: string): Promise<number | undefined> {
    return (await orIfMissing(stat(this.fileOf(sha256)), undefined))?.size;
  }

  /** Waits for pending writes and for blobs that are being moved back from lost-and-found. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writes.close();
    await this.#restoring;
  }

  /**
   * Cleans up after the process that last had the folder open. Does not read the folders below `blobs/`. Empties
   * `tmp/`. Blobs with a marker that no row references are leftovers of unacknowledged writes. If the disk is full, they stay
   * for the next start.
   */
  async recover(
    isReferenced: (sha256: string) => boolean,
    { mayDelete, hasSpace, isReleased = () => false }: Recovery,
  ): Promise<void> {
    await createFolder(join(this.#folder, 'blobs'));
    const marks = parseMarkers(await this.#emptyTemporary());
    await this.#lost.open();
    if (!hasSpace()) return;
    try {
      await this.#removeLeftovers(marks, isReferenced, { mayDelete, isReleased });
    } catch (error) {
      if (!isNoSpace(error)) throw error;
      return;
    }
    for (const name of await readdir(temporaryFolder(this.#folder)))
      await rm(join(temporaryFolder(this.#folder), name), { force: true });
    await this.#lost.restore(isReferenced);
  }

  /** Removes everything in `tmp/` except the markers, and returns the names of the markers. */
  async #emptyTemporary(): Promise<string[]> {
    const temporary = temporaryFolder(this.#folder);
    await createFolder(temporary);
    const markers: string[] = [];
    for (const name of await readdir(temporary)) {
      if (parseMarkers([name]).size > 0) markers.push(name);
      else await rm(join(temporary, name), { recursive: true, force: true });
    }
    return markers;
  }

  /** Deletes the blobs with a marker that no row references, or moves them to lost-and-found. */
  async #removeLeftovers(
    marks: ReturnType<typeof parseMarkers>,
    isReferenced: (sha256: string) => boolean,
    { mayDelete, isReleased }: Required<Pick<Recovery, 'mayDelete' | 'isReleased'>>,
  ): Promise<void> {
    for (const [sha256, found] of marks) {
      if (isReferenced(sha256)) continue;
      const isLeftover = mayDelete && !found.includes('found');
      if (isLeftover || isReleased(sha256)) await rm(this.fileOf(sha256), { force: true });
      else await this.#lost.put(sha256);
    }
  }

  /**
   * Connects the blobs to the committed rows. From then on, blobs whose write is over are deleted if no row references
   * them, and blobs in `lost-and-found/` are moved back as soon as a row references them.
   */
  follow(rows: CommittedRows): void {
    this.#rows = rows;
    this.#writes.follow(rows);
    rows.onCommit(() => {
      if (!this.#lost.isEmpty && !this.#isClosed) this.#restoreLost(rows);
    });
  }

  /** The files in `lost-and-found/`, sorted by name. */
  get lostFiles(): LostFile[] {
    return this.#lost.list();
  }

  /**
   * Moves a blob to `lost-and-found/`. Returns false if a row references it, or a write of it is in progress.
   *
   * @param found the digest of its bytes, or `unreadable`.
   */
  async moveToLostAndFound(sha256: string, found: string): Promise<boolean> {
    return this.#writes.isUnclaimed(sha256) && this.#lost.put(sha256, found);
  }

  /**
   * Removes the bytes of a blob that was given up from this disk: its file, what the cache and `lost-and-found/` have
   * of it, damaged bytes that were set aside, and the same bytes in drafts. The release must be committed: a write of
   * the blob that is in progress removes what it wrote at its end.
   */
  async remove(sha256: string): Promise<void> {
    await this.offloaded.exclusively(sha256, async () => {
      await this.#writes.remove(sha256);
      await orIfMissing(syncFolder(dirname(this.fileOf(sha256))), undefined);
      this.offloaded.forget(sha256);
      await this.#lost.remove(sha256);
      await removeSetAside(this.#folder, sha256);
      for (const draft of await orIfMissing(readdir(draftsFolder(this.#folder)), []))
        await rm(join(draftsFolder(this.#folder), draft, sha256), { force: true });
    });
    for (const listener of this.#onRemoved) listener(sha256);
  }

  /** Calls a listener after the bytes of a blob were removed, so that it forgets what it made of them. */
  onRemoved(listener: (sha256: string) => void): void {
    this.#onRemoved.push(listener);
  }

  /** Moves referenced blobs back from lost-and-found; runs again if there was a commit meanwhile. */
  #restoreLost(rows: CommittedRows): void {
    this.#isRestoreDue = true;
    this.#restoring ??= (async () => {
      while (this.#isRestoreDue && !this.#isClosed) {
        this.#isRestoreDue = false;
        await this.#lost.restore((sha256) => rows.isReferenced(sha256) === true);
      }
    })()
      // The next start tries again.
      .catch((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)))
      .finally(() => {
        this.#restoring = undefined;
      });
  }
}
