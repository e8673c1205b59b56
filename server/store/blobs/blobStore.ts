import { createReadStream, type ReadStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BlobWriter } from './blobWriter.ts';
import { digestOf } from './digestOf.ts';
import { createFolder } from './durableFile.ts';
import { isMissing, isNoSpace } from './fileErrors.ts';
import { LostAndFound, type LostFile } from './lostAndFound.ts';
import { marksIn } from './markers.ts';
import { blobPath, temporaryFolder } from './paths.ts';
import { type Rows, UnderWay } from './pendingBlobs.ts';
import { recoverJournal } from './recoverJournal.ts';
import { rewriteBlobs } from './rewriteBlobs.ts';
import { type Chunks, type StagedBlob, type StagedFile, Staging } from './staging.ts';

export { isMissing, isUnreadable } from './fileErrors.ts';
export { type StagedBlob, type StagedFile, TooManyBytesError, type WriteVia } from './staging.ts';

/** What is committed, and when more is. */
export interface CommittedRows extends Rows {
  onCommit: (listener: () => void) => unknown;
}

export interface Recovery {
  /** Whether the rows are known to be all that were ever acknowledged: else nobody knows what is a leftover. */
  mayDelete: boolean;
  /** Asked once `tmp/` is empty. */
  hasSpace: () => boolean;
}

/**
 * The folder of blobs, each under its SHA-256. Bytes go through one gate: `Staging`. Nothing here knows who names a
 * blob. A row without a blob cannot come to be, because `keep` is durable first. A blob without a row is legal: it goes
 * when it is known to be the leftover of a write that was not acknowledged (`UnderWay`, `recover`); any other is never
 * deleted (`LostAndFound`).
 */
export class BlobStore {
  readonly #folder: string;
  readonly #keeper: BlobWriter;
  readonly #lost: LostAndFound;
  readonly #underWay: UnderWay;
  readonly #staging: Staging;
  #isToTakeBack = false;
  #takingBack: Promise<void> | undefined;
  #isClosed = false;

  constructor(folder: string) {
    this.#folder = folder;
    this.#keeper = new BlobWriter(folder);
    this.#lost = new LostAndFound(folder);
    this.#underWay = new UnderWay(folder, this.#lost);
    this.#staging = new Staging(folder, this.#keeper, this.#underWay);
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
  stageBytes(bytes: Buffer): Promise<StagedBlob> {
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
  rehash(sha256: string, signal?: AbortSignal): Promise<string | undefined> {
    return digestOf(this.fileOf(sha256), signal);
  }

  /** Waits for what is being kept, and for what is being taken back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#keeper.close();
    await this.#takingBack;
  }

  /**
   * Deals with what a process before this one left, and reads no folder below `blobs/` for it: makes good what the
   * journal holds and a row names, and empties `tmp/`, where nothing was acknowledged. Blobs that the journal or a
   * marker knows and no row names are the leftovers of writes that were never acknowledged. Where the disk has no room,
   * all that stays as it is for the next start.
   */
  async recover(isNamed: (sha256: string) => boolean, { mayDelete, hasSpace }: Recovery): Promise<void> {
    await createFolder(join(this.#folder, 'blobs'));
    const marks = marksIn(await this.#emptyTemporary());
    await this.#lost.open();
    if (!hasSpace()) return;
    try {
      await this.#dealWithLeftovers(marks, isNamed, mayDelete);
    } catch (error) {
      if (!isNoSpace(error)) throw error;
      // What could not be written anew is in the journal still; its files are as the crash left them.
      await this.#emptyTemporary();
      return;
    }
    for (const name of await readdir(temporaryFolder(this.#folder)))
      await rm(join(temporaryFolder(this.#folder), name), { force: true });
    await this.#lost.takeBack(isNamed);
  }

  /** Removes all of `tmp/` but the markers; gives back their names. */
  async #emptyTemporary(): Promise<string[]> {
    const temporary = temporaryFolder(this.#folder);
    await createFolder(temporary);
    const markers: string[] = [];
    for (const name of await readdir(temporary)) {
      if (marksIn([name]).size > 0) markers.push(name);
      else await rm(join(temporary, name), { recursive: true, force: true });
    }
    return markers;
  }

  /** Makes good what the journal holds and a row names; deletes, or puts by, what the journal or a marker alone knows. */
  async #dealWithLeftovers(
    marks: ReturnType<typeof marksIn>,
    isNamed: (sha256: string) => boolean,
    mayDelete: boolean,
  ): Promise<void> {
    const left = new Set<string>();
    const leave = async (sha256: string) => {
      if (left.has(sha256)) return;
      left.add(sha256);
      if (mayDelete && !marks.get(sha256)?.includes('found')) await rm(this.fileOf(sha256), { force: true });
      else await this.#lost.put(sha256);
    };
    await recoverJournal(this.#folder, isNamed, async (blobs, folders) => {
      const unseen = blobs.filter(({ sha256 }) => !left.has(sha256));
      // Their files may be gone or cut short; what is not deleted is to be whole.
      if (!mayDelete) await rewriteBlobs(this.#folder, unseen, folders);
      for (const { sha256 } of unseen) await leave(sha256);
    });
    for (const sha256 of marks.keys()) if (!isNamed(sha256)) await leave(sha256);
  }

  /**
   * Tells the store of blobs what is committed from here on: so it knows what to do with blobs whose write is over, and
   * takes back what lies in `lost-and-found/` as soon as a row names it.
   */
  follow(rows: CommittedRows): void {
    this.#underWay.follow(rows);
    rows.onCommit(() => {
      if (!this.#lost.isEmpty && !this.#isClosed) this.#takeBackSoon(rows);
    });
  }

  /** What lies in `lost-and-found/`, by names. */
  get lostFiles(): LostFile[] {
    return this.#lost.list();
  }

  /**
   * Moves a blob to `lost-and-found/`; false where a row names it, or may yet, because a write of it is under way.
   *
   * @param found the digest of its bytes, or that they cannot be read.
   */
  async moveToLostAndFound(sha256: string, found: string): Promise<boolean> {
    return this.#underWay.isNobodys(sha256) && this.#lost.put(sha256, found);
  }

  /** Commits that come while it looks make it look once more. */
  #takeBackSoon(rows: CommittedRows): void {
    this.#isToTakeBack = true;
    this.#takingBack ??= (async () => {
      while (this.#isToTakeBack && !this.#isClosed) {
        this.#isToTakeBack = false;
        await this.#lost.takeBack((sha256) => rows.isNamed(sha256) === true);
      }
    })()
      // The next start tries again.
      .catch((error: unknown) => process.emitWarning(error instanceof Error ? error : String(error)))
      .finally(() => {
        this.#takingBack = undefined;
      });
  }
}
