import { closeSync, fdatasyncSync, openSync, renameSync, unlinkSync } from 'node:fs';
import { readFile, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { createFolder, syncFile, syncFolder } from './durableFile.ts';
import { isMissing } from './fileErrors.ts';
import { type JournaledBlob, journalRecord, parseJournal } from './journalRecords.ts';
import { blobPath, journalFolder } from './paths.ts';
import { rewriteBlobs } from './rewriteBlobs.ts';
import type { ShardFolders } from './shardFolders.ts';
import { writeAllSync } from './writeAllSync.ts';

/** The write of one blob through the journal. */
export interface JournaledWrite extends JournaledBlob {
  /** A temporary file in `tmp/` that does not exist yet. */
  file: string;
  /** The final file in `blobs/`. */
  target: string;
  /** See `BlobWrite`. */
  isShared?: boolean;
}

/** A file of the journal, and the files in `blobs/` that it is needed for until they are synced. */
interface Segment {
  file: string;
  /** Open for appending, or undefined once the segment is closed. */
  descriptor: number | undefined;
  bytes: number;
  lastAppended: number;
  targets: Set<string>;
  /**
   * Whether a sync of its targets has failed. The system reports a write error once and then treats the pages as clean,
   * so a later sync may succeed although nothing was written. Such targets are rewritten.
   */
  hasFailedSync: boolean;
}

/** A segment of this size is closed. */
const SEGMENT_BYTES = 8_388_608;
/** From this size on, the oldest segments are flushed in the background. */
const BACKGROUND_FLUSH_BYTES = 8 * SEGMENT_BYTES;
/** The maximum size, up to one batch more: a start after a crash reads all of it. */
const MAX_JOURNAL_BYTES = 16 * SEGMENT_BYTES;
/** Linux writes dirty pages after 30 s by itself; syncing a file after that costs almost nothing. */
const FLUSH_AFTER_MS = 40_000;
const SYNCED_AT_ONCE = 8;

/**
 * A journal of small blobs. Syncing a thousand small files and their folders takes a disk much longer than writing them.
 * So a batch of blobs is appended here and synced once; then it is durable. Each blob also gets its own file at once,
 * for reading. Those files are synced later ("flushed"), and the segment of the journal is deleted. After a crash before
 * that, `recoverJournal` writes the files again.
 */
export class BlobJournal {
  readonly #dataFolder: string;
  readonly #folder: string;
  readonly #folders: ShardFolders;
  readonly #beforeReplacing: (blob: JournaledWrite) => void;
  /** Oldest first; only the last may be open. */
  readonly #segments: Segment[] = [];
  #begun = 0;
  #flushing: Promise<void> = Promise.resolve();
  #isFlushingInBackground = false;

  /** @param beforeReplacing is called before an existing file is replaced. */
  constructor(
    dataFolder: string,
    folders: ShardFolders,
    beforeReplacing: (blob: JournaledWrite) => void = () => {},
  ) {
    this.#beforeReplacing = beforeReplacing;
    this.#dataFolder = dataFolder;
    this.#folder = journalFolder(dataFolder);
    this.#folders = folders;
  }

  /**
   * Appends a batch of blobs. When it resolves, each blob is on stable storage and has its own file, or has its own
   * error at its index.
   *
   * @throws an error of the journal file itself; then none of the blobs is durable.
   */
  async append(blobs: readonly JournaledWrite[]): Promise<(Error | undefined)[]> {
    if (blobs.length === 0) return [];
    if (!this.hasCapacity) this.#flushInBackground();
    const isFull = () => this.#holds(MAX_JOURNAL_BYTES);
    if (isFull()) await this.#flushWhile(isFull);
    const segment = this.#open ?? (await this.#begin());
    // No await from here on, so that no segment is flushed before all of its targets exist.
    appendTo(segment, blobs);
    return blobs.map((blob) => {
      try {
        this.#place(blob);
        segment.targets.add(blob.target);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error));
      }
    });
  }

  /** Whether more can be appended without flushing. */
  get hasCapacity(): boolean {
    return !this.#holds(BACKGROUND_FLUSH_BYTES);
  }

  /** Flushes segments older than that, oldest first. A segment that fails stays; the next start recovers it. */
  async flush(olderThanMs = FLUSH_AFTER_MS): Promise<void> {
    const before = performance.now() - olderThanMs;
    await this.#flushWhile(({ lastAppended }) => lastAppended <= before);
  }

  /**
   * Writes a blob's own file, directly under its final name: nobody reads it before a row references it, and after a
   * crash an incomplete file is in the journal. (Creating files in `tmp/` gets slower with the number of files on the
   * disk.)
   */
  #place(blob: JournaledWrite): void {
    const { file, target, bytes } = blob;
    this.#folders.make(dirname(target));
    if (writeNew(target, bytes)) return;
    this.#beforeReplacing(blob);
    // The digest is the same, so replacing the file can only repair it.
    writeNew(file, bytes);
    renameSync(file, target);
  }

  /** Flushes the oldest segments. Disk errors are ignored here: `append` reports them once the journal is full. */
  #flushInBackground(): void {
    if (this.#isFlushingInBackground) return;
    this.#isFlushingInBackground = true;
    void this.#flushWhile(() => this.#holds(BACKGROUND_FLUSH_BYTES))
      .catch((error: unknown) => {
        if (errorCode(error) === undefined) throw error;
      })
      .finally(() => {
        this.#isFlushingInBackground = false;
      });
  }

  /** Runs one flush at a time; concurrent flushes would sync the same files. */
  #flushWhile(isDue: (segment: Segment) => boolean): Promise<void> {
    const flushed = this.#flushing.then(async () => {
      for (let [oldest] = this.#segments; oldest && isDue(oldest); [oldest] = this.#segments) {
        await this.#flushSegment(oldest);
        this.#segments.shift();
      }
    });
    this.#flushing = flushed.catch(() => {});
    return flushed;
  }

  async #flushSegment(segment: Segment): Promise<void> {
    close(segment);
    if (segment.hasFailedSync) await this.#rewriteBlobs(segment);
    else await this.#sync(segment);
    await unlink(segment.file);
  }

  async #sync(segment: Segment): Promise<void> {
    const targets = [...segment.targets];
    segment.hasFailedSync = true;
    await inChunks(targets, (target) =>
      syncFile(target).catch((error: unknown) => {
        // The file was removed from outside; audits report that.
        if (!isMissing(error)) throw error;
      }),
    );
    await inChunks([...new Set(targets.map(dirname))], (folder) => this.#folders.sync(folder));
    segment.hasFailedSync = false;
  }

  async #rewriteBlobs({ file, targets }: Segment): Promise<void> {
    const blobs = [...parseJournal(await readFile(file))];
    await rewriteBlobs(
      this.#dataFolder,
      blobs.filter(({ sha256 }) => targets.has(blobPath(this.#dataFolder, sha256))),
      this.#folders,
    );
  }

  #holds(minBytes: number): boolean {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0) >= minBytes;
  }

  get #open(): Segment | undefined {
    const last = this.#segments.at(-1);
    return last?.descriptor === undefined ? undefined : last;
  }

  async #begin(): Promise<Segment> {
    await createFolder(this.#folder);
    this.#begun += 1;
    const file = join(this.#folder, `${Date.now()}-${this.#begun}`);
    const descriptor = openSync(file, 'wx', 0o600);
    const segment = {
      file,
      descriptor,
      bytes: 0,
      lastAppended: performance.now(),
      targets: new Set<string>(),
      hasFailedSync: false,
    };
    this.#segments.push(segment);
    await syncFolder(this.#folder);
    return segment;
  }
}

/** Syncs a few items at a time, so that new blobs can be written in between. */
async function inChunks<Item>(items: readonly Item[], sync: (item: Item) => Promise<void>): Promise<void> {
  for (let first = 0; first < items.length; first += SYNCED_AT_ONCE)
    await Promise.all(items.slice(first, first + SYNCED_AT_ONCE).map(sync));
}

/** Appends blobs to a segment and syncs it. */
function appendTo(segment: Segment, blobs: readonly JournaledBlob[]): void {
  const { descriptor } = segment;
  if (descriptor === undefined) throw new Error('This segment of the journal is closed.');
  const records = Buffer.concat(blobs.flatMap(journalRecord));
  try {
    writeAllSync(descriptor, records);
    fdatasyncSync(descriptor);
  } catch (error) {
    // The last record may be incomplete, and reading stops there, so nothing may follow it.
    close(segment);
    throw error;
  }
  segment.bytes += records.length;
  segment.lastAppended = performance.now();
  if (segment.bytes >= SEGMENT_BYTES) close(segment);
}

function close(segment: Segment): void {
  if (segment.descriptor !== undefined) closeSync(segment.descriptor);
  segment.descriptor = undefined;
}

/** Writes a new file; returns false if it exists. A file that cannot be written completely is removed. */
function writeNew(file: string, bytes: Uint8Array): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    writeAllSync(descriptor, bytes);
  } catch (error) {
    unlinkSync(file);
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return true;
}
