import { hash } from 'node:crypto';
import { closeSync, fdatasync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../blobs/durableFile.ts';
import { isMissing } from '../blobs/fileErrors.ts';

/** The last entry of the ledger: its number (0 where there is none) and its hash. */
export interface RecordedHead {
  seq: number;
  hash: string;
}

/** The kept head cannot be read, so nobody can say whether the database holds all that was acknowledged. */
export class HeadFileError extends Error {
  constructor(file: string) {
    super(
      `The file ${file}, which says how far the ledger went, is damaged, so it is not known whether the database is whole. Put it back from a backup, or go on with what the database holds and a new key: “strongroom serve --accept-rollback”.`,
    );
    this.name = 'HeadFileError';
  }
}

/** Each slot lies in a block of its own: what tears one when the power goes leaves the other. */
const SLOT_BYTES = 4_096;
const SLOTS = 2;
const LINE = /^strongroom-head-1 (\d{16}) ([0-9a-f]{64}) ([0-9a-f]{16})\n/;
/** A disk that forgets all at once still has a head that is at most this old. */
const SYNC_EVERY_MS = 2_000;

export function headFile(folder: string): string {
  return join(folder, 'head');
}

/**
 * The head that was kept last, or undefined where none was.
 *
 * @throws HeadFileError where none of its slots can be read
 */
export function readHeadFile(folder: string): RecordedHead | undefined {
  const slots = readSlots(folder);
  if (!slots) return undefined;
  const newest = newestOf(slots);
  if (!newest) throw new HeadFileError(headFile(folder));
  return newest;
}

/** Keeps a head in a new file, durably; what was kept before is replaced. */
export async function createHeadFile(folder: string, head: RecordedHead): Promise<void> {
  const text = Array.from({ length: SLOTS }, () => lineOf(head).padEnd(SLOT_BYTES - 1)).join('\n');
  await writeFileDurably(headFile(folder), `${text}\n`, 0o600);
}

/**
 * Remembers, beside the database, how far the ledger went. SQLite takes a log whose end is missing or damaged for one
 * that ends earlier, and says nothing: whoever opens the database next compares it with this.
 *
 * A head is written once its commit is on stable storage, and before anybody hears of the commit. The write goes to the
 * system alone, which keeps it when this process is killed; the disk is asked a little later, and not waited for. So
 * when the power goes, the head may be behind the database; it is never ahead of it.
 */
export class HeadFile {
  /** Undefined once it is closed. */
  #descriptor: number | undefined;
  readonly #warn: (error: unknown) => void;
  #last: RecordedHead;
  #slot: number;
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> = Promise.resolve();

  /** @param warn hears that a head could not be kept: the commit that it is of holds all the same. */
  constructor(folder: string, warn: (error: unknown) => void) {
    const slots = readSlots(folder) ?? [];
    const newest = newestOf(slots);
    if (!newest) throw new HeadFileError(headFile(folder));
    this.#last = newest;
    this.#slot = slots.indexOf(newest);
    this.#warn = warn;
    this.#descriptor = openSync(headFile(folder), 'r+');
  }

  record(head: RecordedHead): void {
    if (this.#descriptor === undefined || head.seq === this.#last.seq) return;
    const slot = (this.#slot + 1) % SLOTS;
    try {
      writeSync(this.#descriptor, lineOf(head), slot * SLOT_BYTES, 'latin1');
    } catch (error) {
      this.#warn(error);
      return;
    }
    this.#slot = slot;
    this.#last = head;
    this.#timer ??= setTimeout(() => this.#sync(), SYNC_EVERY_MS).unref();
  }

  #sync(): void {
    this.#timer = undefined;
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#syncing = new Promise((resolve) => {
      fdatasync(descriptor, (error) => {
        if (error) this.#warn(error);
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#syncing;
    if (this.#timer) this.#sync();
    await this.#syncing;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function lineOf({ seq, hash: entry }: RecordedHead): string {
  const text = `strongroom-head-1 ${String(seq).padStart(16, '0')} ${entry}`;
  return `${text} ${checksumOf(text)}\n`;
}

function checksumOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16);
}

/** What each slot holds, undefined where it cannot be read; undefined where there is no file. */
function readSlots(folder: string): (RecordedHead | undefined)[] | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(headFile(folder));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  return Array.from({ length: SLOTS }, (_, slot) => readSlot(bytes.toString('latin1', slot * SLOT_BYTES)));
}

function readSlot(text: string): RecordedHead | undefined {
  const [line = '', seq = '', entry = '', checksum] = LINE.exec(text) ?? [];
  const isRight = line !== '' && checksumOf(line.slice(0, -(checksum?.length ?? 0) - 2)) === checksum;
  return isRight ? { seq: Number(seq), hash: entry } : undefined;
}

function newestOf(slots: readonly (RecordedHead | undefined)[]): RecordedHead | undefined {
  let newest: RecordedHead | undefined;
  for (const slot of slots) if (slot && slot.seq >= (newest?.seq ?? 0)) newest = slot;
  return newest;
}
