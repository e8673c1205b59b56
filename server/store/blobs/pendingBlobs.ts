import { renameSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDatabaseDamage } from '../databaseDamage.ts';
import { isMissing } from './fileErrors.ts';
import type { LostAndFound } from './lostAndFound.ts';
import { type Mark, markerFile } from './markers.ts';
import { blobPath, temporaryFolder } from './paths.ts';

/** Answers whether committed rows reference a blob. */
export interface Rows {
  /** Whether a committed row references the blob; undefined if it is unknown what is committed. */
  isReferenced: (sha256: string) => boolean | undefined;
}

/** A blob with writes in progress. */
interface PendingBlob {
  /** The number of writes in progress. */
  writes: number;
  marks: Set<Mark>;
  /** Whether one of them has created the file. */
  isPlaced: boolean;
  /** Whether the outcome of one of them is unknown, because the thread ended. */
  isUnknown: boolean;
}

/**
 * Tracks the blobs whose writes are in progress: from before the bytes are written until their rows are committed or
 * refused. When the last write of a blob ends and no row references it, its file is deleted, because it was never
 * acknowledged. A file that existed before the writes is moved to lost-and-found instead.
 *
 * A blob stays tracked until the commit of its row is over. So if `isReferenced` is checked and the file is moved in the
 * same turn of the event loop, no row for it can be committed in between.
 */
export class PendingBlobs {
  readonly #dataFolder: string;
  readonly #lost: LostAndFound;
  readonly #pending = new Map<string, PendingBlob>();
  #rows: Rows | undefined;
  #removed = 0;

  constructor(dataFolder: string, lost: LostAndFound) {
    this.#dataFolder = dataFolder;
    this.#lost = lost;
  }

  follow(rows: Rows): void {
    this.#rows = rows;
  }

  /** Whether no write of the blob is in progress and no row references it, so that its file may be moved in this turn. */
  isUnclaimed(sha256: string): boolean {
    return !this.#pending.has(sha256) && this.#isReferenced(sha256) === false;
  }

  /**
   * Begins a write of a blob; `end` must follow.
   *
   * @param place writes the blob. It calls `onMarked` with the marker it wrote before it created the file.
   */
  async keep(
    sha256: string,
    place: (isShared: boolean, onMarked: (mark: Mark | null) => void) => Promise<void>,
  ): Promise<void> {
    const blob = this.#pending.get(sha256) ?? newPendingBlob();
    this.#pending.set(sha256, blob);
    const isShared = blob.writes > 0;
    blob.writes += 1;
    let hasOutcome = false;
    try {
      await place(isShared, (mark) => {
        hasOutcome = true;
        if (mark) blob.marks.add(mark);
      });
      blob.isPlaced = true;
    } catch (error) {
      if (!hasOutcome) blob.isUnknown = true;
      throw error;
    }
  }

  /**
   * Ends a write, whether it succeeded or not. If it is unknown what is committed, the next start cleans up.
   *
   * @param isLeft leaves the file although no row references it yet.
   */
  async end(sha256: string, isLeft = false): Promise<void> {
    const blob = this.#pending.get(sha256);
    if (!blob) return;
    blob.writes -= 1;
    if (blob.writes > 0) return;
    this.#pending.delete(sha256);
    const isReferenced = isLeft || this.#isReferenced(sha256);
    if (isReferenced === undefined || (!isReferenced && blob.isUnknown)) return;
    const removed = isReferenced ? undefined : this.#remove(sha256, blob);
    // Synchronously, because the next write of the same blob may write its own marker.
    for (const mark of blob.marks) rmSync(markerFile(this.#dataFolder, mark, sha256), { force: true });
    await removed;
  }

  /** Returns undefined if the database is damaged, because then it is unknown what is committed. */
  #isReferenced(sha256: string): boolean | undefined {
    try {
      return this.#rows?.isReferenced(sha256);
    } catch (error) {
      if (isDatabaseDamage(error)) return undefined;
      throw error;
    }
  }

  #remove(sha256: string, { marks, isPlaced }: PendingBlob): Promise<unknown> | undefined {
    if (marks.has('found')) return this.#lost.put(sha256);
    if (!isPlaced && !marks.has('keeping')) return undefined;
    // Renamed first, because deleting a large file takes time.
    this.#removed += 1;
    const leftover = join(temporaryFolder(this.#dataFolder), `removed-${this.#removed}`);
    try {
      renameSync(blobPath(this.#dataFolder, sha256), leftover);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    return rm(leftover, { force: true });
  }
}

function newPendingBlob(): PendingBlob {
  return { writes: 0, marks: new Set(), isPlaced: false, isUnknown: false };
}
