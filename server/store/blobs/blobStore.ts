import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AwayBlobs, type Bounds } from './away/awayBlobs.ts';
import { BlobWriter } from './blobWriter.ts';
import { createFolder } from './durableFile.ts';
import { isMissing, isNoSpace } from './fileErrors.ts';
import { LostAndFound, type LostFile } from './lostAndFound.ts';
import { parseMarkers } from './markers.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import { PendingBlobs, type Rows } from './pendingBlobs.ts';
import { recoverJournal } from './recoverJournal.ts';
import { rewriteBlobs } from './rewriteBlobs.ts';
import { Staging } from './staging.ts';

export type { Bounds, Elsewhere } from './away/awayBlobs.ts';
export { isMissing, isUnreadable } from './fileErrors.ts';
export { type StagedBlob, type StagedFile, TooManyBytesError, type WriteVia } from './staging.ts';

/** The committed rows, and a way to be notified of commits. */
export interface CommittedRows extends Rows {
  onCommit: (listener: () => void) => unknown;
}

export interface Recovery {
  /** Whether the database is known to hold all acknowledged rows. Only then can leftovers be identified and deleted. */
  mayDelete: boolean;
  /** Whether the disk has enough space; called once `tmp/` is empty. */
  hasSpace: () => boolean;
}

/**
 * The folder of blobs, each named by its SHA-256. All bytes enter through `Staging`. A row without its blob cannot
 * occur, because `keep` is durable before the row is written. A blob without a row is legal. It is deleted if it is known
 * to be the leftover of an unacknowledged write (`PendingBlobs`, `recover`); any other is never deleted
 * (`LostAndFound`).
 */
export class BlobStore {
  readonly staging: Staging;
  /** The blobs that may have left this disk. */
  readonly away: AwayBlobs;
  readonly #folder: string;
  readonly #writer: BlobWriter;
  readonly #lost: LostAndFound;
  readonly #pending: PendingBlobs;
  #isRestoreDue = false;
  #restoring: Promise<void> | undefined;
  #isClosed = false;

  constructor(folder: string) {
    this.#folder = folder;
    this.#writer = new BlobWriter(folder);
    this.#lost = new LostAndFound(folder);
    this.away = new AwayBlobs(folder);
    this.#pending = new PendingBlobs(folder, this.#lost);
    this.staging = new Staging(folder, this.#writer, this.#pending);
  }

  /** The path of a blob's file, which may not exist. */
  fileOf(sha256: string): string {
    return blobPath(this.#folder, sha256);
  }

  /**
   * Reads a blob, or its bytes `start` to `end`, both inclusive. One that has left this disk is read from a copy.
   *
   * @throws the errors of the file, if it is missing or cannot be read; Problem `copy_unreachable`
   */
  read(sha256: string, bounds: Partial<Bounds> = {}): AsyncGenerator<Buffer> {
    return this.away.read(sha256, bounds);
  }

  /** Returns the size of a blob's file, or undefined if there is none. */
  async bytesOf(sha256: string): Promise<number | undefined> {
    try {
      return (await stat(this.fileOf(sha256))).size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Waits for pending writes and for blobs that are being moved back from lost-and-found. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writer.close();
    await this.#restoring;
  }

  /**
   * Cleans up after the process that last had the folder open. Does not read the folders below `blobs/`. Recovers
   * journaled blobs that a row references, and empties `tmp/`. Blobs in the journal or with a marker that no row
   * references are leftovers of unacknowledged writes. If the disk is full, everything stays for the next start.
   */
  async recover(isReferenced: (sha256: string) => boolean, { mayDelete, hasSpace }: Recovery): Promise<void> {
    await createFolder(join(this.#folder, 'blobs'));
    const marks = parseMarkers(await this.#emptyTemporary());
    await this.#lost.open();
    if (!hasSpace()) return;
    try {
      await this.#removeLeftovers(marks, isReferenced, mayDelete);
    } catch (error) {
      if (!isNoSpace(error)) throw error;
      // Blobs that could not be written are still in the journal.
      await this.#emptyTemporary();
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

  /** Recovers journaled blobs that a row references. Deletes unreferenced ones, or moves them to lost-and-found. */
  async #removeLeftovers(
    marks: ReturnType<typeof parseMarkers>,
    isReferenced: (sha256: string) => boolean,
    mayDelete: boolean,
  ): Promise<void> {
    const removed = new Set<string>();
    const remove = async (sha256: string) => {
      if (removed.has(sha256)) return;
      removed.add(sha256);
      if (mayDelete && !marks.get(sha256)?.includes('found')) await rm(this.fileOf(sha256), { force: true });
      else await this.#lost.put(sha256);
    };
    await recoverJournal(this.#folder, isReferenced, async (blobs, folders) => {
      const leftovers = blobs.filter(({ sha256 }) => !removed.has(sha256));
      // Their files may be missing or incomplete; lost-and-found gets complete ones.
      if (!mayDelete) await rewriteBlobs(this.#folder, leftovers, folders);
      for (const { sha256 } of leftovers) await remove(sha256);
    });
    for (const sha256 of marks.keys()) if (!isReferenced(sha256)) await remove(sha256);
  }

  /**
   * Connects the blobs to the committed rows. From then on, blobs whose write is over are deleted if no row references
   * them, and blobs in `lost-and-found/` are moved back as soon as a row references them.
   */
  follow(rows: CommittedRows): void {
    this.#pending.follow(rows);
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
    return this.#pending.isUnclaimed(sha256) && this.#lost.put(sha256, found);
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
