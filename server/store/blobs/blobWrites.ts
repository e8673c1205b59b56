import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { isDigest } from '../../../shared/values/digestPattern.ts';
import { blobPath, isMissing, syncFolder, temporaryFolder } from '../files.ts';
import { isDatabaseDamage } from '../storageErrors.ts';
import type { LostAndFound } from './lostAndFound.ts';

/** Answers whether committed rows reference a blob. */
export interface Rows {
  /** Whether a committed row references the blob; undefined if it is unknown what is committed. */
  isReferenced: (sha256: string) => boolean | undefined;
  /** Whether the blob was given up. Its bytes are kept nowhere; undefined if it is unknown what is committed. */
  isReleased: (sha256: string) => boolean | undefined;
}

/** A temporary file in `tmp/`. */
export interface TemporaryFile {
  file: string;
  /** The bytes to write to it; absent if they are there already, synced. */
  bytes?: Uint8Array;
}

/**
 * A marker is an empty file in `tmp/` for a blob whose write is in progress. `keeping`: the write in progress created
 * the file in `blobs/`. `found`: a file of this name existed before, so it may not be a leftover of that write. A marker
 * exists from before the rename until the write ends. It is not synced: a blob without it that no row references is
 * never deleted.
 */
export type Mark = 'keeping' | 'found';

const MARKER = /^(keeping|found)-(.*)$/;

function markerFile(dataFolder: string, mark: Mark, sha256: string): string {
  return join(temporaryFolder(dataFolder), `${mark}-${sha256}`);
}

/** Returns the markers among these file names, by the digest of the blob. */
export function parseMarkers(names: readonly string[]): Map<string, Mark[]> {
  const marks = new Map<string, Mark[]>();
  for (const name of names) {
    const [, mark, sha256 = ''] = MARKER.exec(name) ?? [];
    if (isDigest(sha256)) marks.set(sha256, [...(marks.get(sha256) ?? []), mark as Mark]);
  }
  return marks;
}

/** How many blobs are written at the same time, which bounds the open files. */
const AT_ONCE = 64;

/**
 * Writes blobs durably under their names, and tracks each from before its bytes are written until its rows are committed
 * or refused. When the last write of a blob ends and no row references it, its file is deleted, because it was never
 * acknowledged. A file that existed before the writes is moved to lost-and-found instead. A blob that was given up is not
 * written, and its file is deleted in any case.
 *
 * A crash before the rename leaves a file in `tmp/`, which the next start deletes. A crash after it leaves a blob that no
 * row references, which its marker shows to be a leftover.
 *
 * A blob stays tracked until the commit of its row is over. So if `isReferenced` is checked and the file is moved in the
 * same turn of the event loop, no row for it can be committed in between.
 */
export class BlobWrites {
  readonly #dataFolder: string;
  readonly #lost: LostAndFound;
  readonly #folders = new ShardFolders();
  readonly #limit = pLimit(AT_ONCE);
  /** The blobs with writes in progress: how many, and the markers of the blob. */
  readonly #pending = new Map<string, { writes: number; marks: Set<Mark> }>();
  readonly #running = new Set<Promise<void>>();
  #rows: Rows | undefined;
  #removed = 0;

  constructor(dataFolder: string, lost: LostAndFound) {
    this.#dataFolder = dataFolder;
    this.#lost = lost;
  }

  follow(rows: Rows): void {
    this.#rows = rows;
  }

  /** Waits for the writes that were begun. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Whether no write of the blob is in progress and no row references it, so that its file may be moved in this turn. */
  isUnclaimed(sha256: string): boolean {
    return !this.#pending.has(sha256) && this.#answer('isReferenced', sha256) === false;
  }

  /**
   * Begins a write; `end` must follow. Resolves when the blob is on stable storage under its name, or at once if it was
   * given up.
   */
  async keep(sha256: string, temporary: TemporaryFile): Promise<void> {
    if (this.#answer('isReleased', sha256)) return rm(temporary.file, { force: true });
    const blob = this.#pending.get(sha256) ?? { writes: 0, marks: new Set<Mark>() };
    this.#pending.set(sha256, blob);
    const isShared = blob.writes > 0;
    blob.writes += 1;
    const written = this.#limit(() =>
      this.#write(sha256, temporary, (existed) => {
        const mark = existed && !isShared ? 'found' : 'keeping';
        closeSync(openSync(markerFile(this.#dataFolder, mark, sha256), 'w', 0o600));
        blob.marks.add(mark);
      }),
    );
    this.#running.add(written);
    try {
      await written;
    } catch (error) {
      await rm(temporary.file, { force: true });
      throw error;
    } finally {
      this.#running.delete(written);
    }
  }

  /** @param beforeRename gets whether the blob has a file already. That file is replaced, so the blob can only be repaired. */
  async #write(
    sha256: string,
    { file, bytes }: TemporaryFile,
    beforeRename: (existed: boolean) => void,
  ): Promise<void> {
    if (bytes) await writeNewFile(file, bytes);
    const target = blobPath(this.#dataFolder, sha256);
    this.#folders.make(dirname(target));
    beforeRename(existsSync(target));
    renameSync(file, target);
    await this.#folders.sync(dirname(target));
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
    const isReleased = this.#answer('isReleased', sha256);
    const isReferenced = isLeft || this.#answer('isReferenced', sha256);
    if (isReferenced === undefined && !isReleased) return;
    let removed: Promise<unknown> | undefined;
    if (isReleased) removed = this.remove(sha256);
    else if (!isReferenced) removed = this.#removeLeftover(sha256, blob.marks);
    // Synchronously, because the next write of the same blob may write its own marker.
    for (const mark of blob.marks) rmSync(markerFile(this.#dataFolder, mark, sha256), { force: true });
    await removed;
  }

  /** Returns undefined if the database is damaged, because then it is unknown what is committed. */
  #answer(question: keyof Rows, sha256: string): boolean | undefined {
    try {
      return this.#rows?.[question](sha256);
    } catch (error) {
      if (isDatabaseDamage(error)) return undefined;
      throw error;
    }
  }

  #removeLeftover(sha256: string, marks: ReadonlySet<Mark>): Promise<unknown> | undefined {
    if (marks.has('found')) return this.#lost.put(sha256);
    return marks.has('keeping') ? this.remove(sha256) : undefined;
  }

  /** Deletes the file of a blob if there is one. The name is free when this returns, before it resolves. */
  remove(sha256: string): Promise<void> | undefined {
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

async function writeNewFile(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/**
 * The folders `blobs/ab/cd`. An existing folder is not always on stable storage: a killed process may have created it
 * without syncing its parents. So each process syncs the parents of each folder once, before it reports the first blob
 * in it as durable.
 */
class ShardFolders {
  /** Folders whose entry in the parent folder is on stable storage. */
  readonly #anchored = new Set<string>();
  readonly #made = new Set<string>();
  /** Syncs that are requested but not begun; they cover every change until they begin. */
  readonly #pending = new Map<string, Promise<void>>();

  /** Creates a shard if it does not exist. If it was removed, its parents are synced again. */
  make(shard: string): void {
    if (this.#made.has(shard) && existsSync(shard)) return;
    if (this.#made.delete(shard)) for (const folder of [shard, dirname(shard)]) this.#anchored.delete(folder);
    // Throws if `blobs/` is missing, as when the disk was pulled out: nothing is created in its place.
    statSync(dirname(dirname(shard)));
    mkdirSync(shard, { recursive: true, mode: 0o700 });
    this.#made.add(shard);
  }

  /** Syncs a shard and, the first time, its parents. Each folder is synced once for the calls of one turn. */
  async sync(shard: string): Promise<void> {
    const above = dirname(shard);
    const anchors = [shard, above].filter((folder) => !this.#anchored.has(folder));
    await Promise.all([shard, ...anchors.map(dirname)].map((folder) => this.#once(folder)));
    for (const folder of anchors) this.#anchored.add(folder);
  }

  #once(folder: string): Promise<void> {
    const pending = this.#pending.get(folder);
    if (pending) return pending;
    const synced = Promise.resolve().then(() => {
      this.#pending.delete(folder);
      return syncFolder(folder);
    });
    this.#pending.set(folder, synced);
    return synced;
  }
}
