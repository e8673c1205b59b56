import { renameSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDatabaseDamage } from '../databaseDamage.ts';
import { isMissing } from './fileErrors.ts';
import type { LostAndFound } from './lostAndFound.ts';
import { type Mark, markerFile } from './markers.ts';
import { blobPath, temporaryFolder } from './paths.ts';

/** What is known of the rows by whoever commits them. */
export interface Rows {
  /** Whether a committed row names the blob; undefined where it is not known what is committed. */
  isNamed: (sha256: string) => boolean | undefined;
}

/** One blob that is kept by writes that are not over. */
interface Kept {
  /** Writes that keep it. */
  writes: number;
  marks: Set<Mark>;
  /** Whether one of them has put its file in place. */
  isPlaced: boolean;
  /** Whether it is not known what became of one of them, because the thread ended. */
  isUnknown: boolean;
}

/**
 * Which blobs are kept by writes that are not over yet, from before their bytes go to their place until their rows are
 * committed or the write is refused. When the last write of a blob is over and no row names it, its file goes: nobody
 * was told that it is kept. A file that was there before any of them is not ours to delete, and goes to lost-and-found.
 *
 * Whoever commits a row that names new bytes keeps them here until the commit is over. So to look whether a row names
 * them and to move their file in the same turn of the event loop cannot meet a row that is just coming.
 */
export class UnderWay {
  readonly #dataFolder: string;
  readonly #lost: LostAndFound;
  readonly #kept = new Map<string, Kept>();
  #rows: Rows | undefined;
  #removed = 0;

  constructor(dataFolder: string, lost: LostAndFound) {
    this.#dataFolder = dataFolder;
    this.#lost = lost;
  }

  follow(rows: Rows): void {
    this.#rows = rows;
  }

  /** Whether nobody keeps the blob and no row names it: what is there may be moved, in this turn. */
  isNobodys(sha256: string): boolean {
    return !this.#kept.has(sha256) && this.#isNamed(sha256) === false;
  }

  /** Begins a write of a blob; `end` must follow. `place` tells what it marked before it put the file in place. */
  async keep(
    sha256: string,
    place: (isShared: boolean, tell: (mark: Mark | null) => void) => Promise<void>,
  ): Promise<void> {
    const kept = this.#kept.get(sha256) ?? newKept();
    this.#kept.set(sha256, kept);
    const isShared = kept.writes > 0;
    kept.writes += 1;
    let isTold = false;
    try {
      await place(isShared, (mark) => {
        isTold = true;
        if (mark) kept.marks.add(mark);
      });
      kept.isPlaced = true;
    } catch (error) {
      if (!isTold) kept.isUnknown = true;
      throw error;
    }
  }

  /**
   * Ends a write, whatever came of it. Where it is not known what is committed, all is left for the next start.
   *
   * @param isLeft leaves the file although no row names it yet.
   */
  async end(sha256: string, isLeft = false): Promise<void> {
    const kept = this.#kept.get(sha256);
    if (!kept) return;
    kept.writes -= 1;
    if (kept.writes > 0) return;
    this.#kept.delete(sha256);
    const isNamed = isLeft || this.#isNamed(sha256);
    if (isNamed === undefined || (!isNamed && kept.isUnknown)) return;
    const gone = isNamed ? undefined : this.#clear(sha256, kept);
    // In this turn: the next write of the same bytes marks them anew.
    for (const mark of kept.marks) rmSync(markerFile(this.#dataFolder, mark, sha256), { force: true });
    await gone;
  }

  /** A database that cannot be read says nothing of what is committed. */
  #isNamed(sha256: string): boolean | undefined {
    try {
      return this.#rows?.isNamed(sha256);
    } catch (error) {
      if (isDatabaseDamage(error)) return undefined;
      throw error;
    }
  }

  #clear(sha256: string, { marks, isPlaced }: Kept): Promise<unknown> | undefined {
    if (marks.has('found')) return this.#lost.put(sha256);
    if (!isPlaced && !marks.has('keeping')) return undefined;
    // To delete a large file takes a while; to rename it does not.
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

function newKept(): Kept {
  return { writes: 0, marks: new Set(), isPlaced: false, isUnknown: false };
}
