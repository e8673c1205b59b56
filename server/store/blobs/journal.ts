import { closeSync, fdatasyncSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import { readFile, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFolder, syncFile, syncFolder } from './durableFile.ts';
import { isMissing } from './fileErrors.ts';
import { blobsIn, type JournaledBlob, recordOf } from './journalRecords.ts';
import { blobPath, journalFolder } from './paths.ts';
import { rewriteBlobs } from './rewriteBlobs.ts';
import type { ShardFolders } from './shardFolders.ts';

/** A blob on its way, by way of the journal, to the name that it is kept under. */
export interface JournaledKeeping extends JournaledBlob {
  /** A file in `tmp/` that is not there yet. */
  file: string;
  /** Their name in `blobs/`. */
  target: string;
  /** As a `Keeping` has it. */
  isShared?: boolean;
}

/** A file of the journal, and the files in `blobs/` that are not known to be on stable storage without it. */
interface Segment {
  file: string;
  /** Open for appending, or undefined once nothing more is added. */
  descriptor: number | undefined;
  bytes: number;
  lastAppended: number;
  targets: Set<string>;
  /**
   * Whether a sync of its files has failed. A later one may then succeed with nothing written: systems take what could
   * not be written for written once they have told of it. So those files are written anew.
   */
  isMistrusted: boolean;
}

/** A segment of this size takes no more. */
const SEGMENT_BYTES = 8_388_608;
/** Where so much is in the journal, the oldest of it is settled while more comes. */
const MUCH_UNSETTLED_BYTES = 8 * SEGMENT_BYTES;
/** As much is in the journal at the most, give or take a round: it is what a start after a crash reads. */
const MOST_UNSETTLED_BYTES = 16 * SEGMENT_BYTES;
/** By then the system has written the files by itself (Linux: after 30 s), and syncing them costs next to nothing. */
const SETTLE_AFTER_MS = 40_000;
const SYNCED_AT_ONCE = 8;

/**
 * The journal of small blobs. To sync each of a thousand small files, and the folders that lead to it, takes a disk far
 * longer than to write them. So what comes together is written here, one after the other, and synced once: then it is
 * kept. Each blob also gets its own file, at once, for whoever reads it. Later those files are synced as well (they are
 * "settled"), and the journal's own file is removed. After a crash between the two, `recoverJournal` makes good what is
 * missing.
 */
export class BlobJournal {
  readonly #dataFolder: string;
  readonly #folder: string;
  readonly #folders: ShardFolders;
  readonly #beforeReplacing: (blob: JournaledKeeping) => void;
  /** Oldest first; only the last may be open. */
  readonly #segments: Segment[] = [];
  #begun = 0;
  #settling: Promise<void> = Promise.resolve();
  #isRelieving = false;

  /** @param beforeReplacing is told of a blob whose name is taken, before what is there is replaced. */
  constructor(
    dataFolder: string,
    folders: ShardFolders,
    beforeReplacing: (blob: JournaledKeeping) => void = () => {},
  ) {
    this.#beforeReplacing = beforeReplacing;
    this.#dataFolder = dataFolder;
    this.#folder = journalFolder(dataFolder);
    this.#folders = folders;
  }

  /**
   * Puts blobs on stable storage together; when it resolves, each is there and has its file, or has an error in its
   * place, which is no other's.
   *
   * @throws whatever the disk says of the journal itself: then none is kept.
   */
  async keep(blobs: readonly JournaledKeeping[]): Promise<(Error | undefined)[]> {
    if (blobs.length === 0) return [];
    if (!this.isShort) this.#relieve();
    const isTooMuch = () => this.#hasUnsettled(MOST_UNSETTLED_BYTES);
    if (isTooMuch()) await this.#settleWhile(isTooMuch);
    const segment = this.#open ?? (await this.#begin());
    // From here on nothing waits, so that no segment is settled whose files are not all there.
    append(segment, blobs);
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

  /** Whether more can come before anything has to be settled. */
  get isShort(): boolean {
    return !this.#hasUnsettled(MUCH_UNSETTLED_BYTES);
  }

  /** Settles what is older than that, oldest first. What fails stays in the journal, which the next start reads. */
  async settle(olderThanMs = SETTLE_AFTER_MS): Promise<void> {
    const before = performance.now() - olderThanMs;
    await this.#settleWhile(({ lastAppended }) => lastAppended <= before);
  }

  /**
   * Gives a blob its file. It is written under its name at once: nobody reads it before a row names it, and what a crash
   * cuts short is in the journal. (In `tmp/` each new file would cost more, the more files its disk holds.)
   */
  #place(blob: JournaledKeeping): void {
    const { file, target, bytes } = blob;
    this.#folders.make(dirname(target));
    if (writeNew(target, bytes)) return;
    this.#beforeReplacing(blob);
    // Replacing a blob of this name heals one that was damaged; the bytes are the same by their digest.
    writeNew(file, bytes);
    renameSync(file, target);
  }

  /** Settles the oldest while more comes. What the disk says then is told where nothing can come any more. */
  #relieve(): void {
    if (this.#isRelieving) return;
    this.#isRelieving = true;
    void this.#settleWhile(() => this.#hasUnsettled(MUCH_UNSETTLED_BYTES))
      .catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error)) throw error;
      })
      .finally(() => {
        this.#isRelieving = false;
      });
  }

  /** One after the other, whoever asks: two would sync the same files. */
  #settleWhile(isToSettle: (segment: Segment) => boolean): Promise<void> {
    const settled = this.#settling.then(async () => {
      for (let [oldest] = this.#segments; oldest && isToSettle(oldest); [oldest] = this.#segments) {
        await this.#settleOldest(oldest);
        this.#segments.shift();
      }
    });
    this.#settling = settled.catch(() => {});
    return settled;
  }

  async #settleOldest(segment: Segment): Promise<void> {
    end(segment);
    if (segment.isMistrusted) await this.#rewriteBlobs(segment);
    else await this.#sync(segment);
    await unlink(segment.file);
  }

  async #sync(segment: Segment): Promise<void> {
    const targets = [...segment.targets];
    segment.isMistrusted = true;
    await inTurns(targets, (target) =>
      syncFile(target).catch((error: unknown) => {
        // Somebody took it away: that is not missed here, but where blobs are verified.
        if (!isMissing(error)) throw error;
      }),
    );
    await inTurns([...new Set(targets.map(dirname))], (folder) => this.#folders.sync(folder));
    segment.isMistrusted = false;
  }

  async #rewriteBlobs({ file, targets }: Segment): Promise<void> {
    const blobs = [...blobsIn(await readFile(file))];
    await rewriteBlobs(
      this.#dataFolder,
      blobs.filter(({ sha256 }) => targets.has(blobPath(this.#dataFolder, sha256))),
      this.#folders,
    );
  }

  #hasUnsettled(least: number): boolean {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0) >= least;
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
      isMistrusted: false,
    };
    this.#segments.push(segment);
    await syncFolder(this.#folder);
    return segment;
  }
}

/** Syncs a few at a time, so that what is to be kept meanwhile gets its turn at the disk. */
async function inTurns<Item>(items: readonly Item[], sync: (item: Item) => Promise<void>): Promise<void> {
  for (let first = 0; first < items.length; first += SYNCED_AT_ONCE)
    await Promise.all(items.slice(first, first + SYNCED_AT_ONCE).map(sync));
}

/** Writes blobs to the end of a segment and syncs it. */
function append(segment: Segment, blobs: readonly JournaledBlob[]): void {
  const { descriptor } = segment;
  if (descriptor === undefined) throw new Error('This segment of the journal takes no more.');
  const records = Buffer.concat(blobs.flatMap(recordOf));
  try {
    writeAll(descriptor, records);
    fdatasyncSync(descriptor);
  } catch (error) {
    // What was written of it may not be whole; nothing can come after that.
    end(segment);
    throw error;
  }
  segment.bytes += records.length;
  segment.lastAppended = performance.now();
  if (segment.bytes >= SEGMENT_BYTES) end(segment);
}

function end(segment: Segment): void {
  if (segment.descriptor !== undefined) closeSync(segment.descriptor);
  segment.descriptor = undefined;
}

/** Writes a file, unless there is one. One that cannot be written whole is removed. */
function writeNew(file: string, bytes: Uint8Array): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
  try {
    writeAll(descriptor, bytes);
  } catch (error) {
    unlinkSync(file);
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return true;
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
}
