import { hash } from 'node:crypto';
import { closeSync, fdatasync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { NO_HASH } from '../../../shared/ledger/ledger.ts';
import { after } from '../../runtime/background.ts';
import { isMissing, writeFileDurably } from '../files.ts';
import type { ReadDatabase } from '../sqlite/engine/open.ts';
import { lastEntry } from '../sqlite/node/ledger.ts';

/** The last entry of the ledger: its number (0 where there is none) and its hash. */
export interface RecordedHead {
  seq: number;
  hash: string;
}

/** The head file cannot be read, so it is unknown whether the database holds everything that was acknowledged. */
export class HeadFileError extends Error {
  constructor(file: string) {
    super(
      `The file ${file}, which records the last ledger entry, is damaged, so it is unknown whether the database is complete. Restore it from a backup, or continue with this database under a new key: “strongroom serve --accept-rollback”.`,
    );
    this.name = 'HeadFileError';
  }
}

/** Each slot has its own disk block, so that a torn write in a power cut damages only one. */
const SLOT_BYTES = 4_096;
const SLOTS = 2;
const LINE = /^strongroom-head-1 (\d{16}) ([0-9a-f]{64}) ([0-9a-f]{16})\n/;
/** After a power cut the head on disk is at most this old. */
const SYNC_EVERY_MS = 2_000;

export function headFile(folder: string): string {
  return join(folder, 'head');
}

/**
 * Returns the newest head in the head file, or undefined if there is no file.
 *
 * @throws HeadFileError if no slot can be read
 */
export function readHeadFile(folder: string): RecordedHead | undefined {
  const slots = readSlots(folder);
  if (!slots) return undefined;
  const newest = newestOf(slots);
  if (!newest) throw new HeadFileError(headFile(folder));
  return newest;
}

/** Writes a head to a new head file, durably; replaces the file if there is one. */
async function createHeadFile(folder: string, head: RecordedHead): Promise<void> {
  const text = Array.from({ length: SLOTS }, () => lineOf(head).padEnd(SLOT_BYTES - 1)).join('\n');
  await writeFileDurably(headFile(folder), `${text}\n`, 0o600);
}

/**
 * Records the last ledger entry in a file beside the database. SQLite silently drops the end of a write-ahead log that
 * is damaged or cut off; the next opening compares the database with this file and notices the loss.
 *
 * A head is written after its commit is on stable storage and before the commit is acknowledged. The write goes to
 * the page cache, which survives the end of this process. It is synced a little later, in the background. So after a
 * power cut the head may be behind the database, but never ahead of it.
 */
class HeadFile {
  /** Undefined once it is closed. */
  #descriptor: number | undefined;
  readonly #warn: (error: unknown) => void;
  #last: RecordedHead;
  #slot: number;
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> = Promise.resolve();

  /** @param warn is called if a head cannot be written; its commit is still valid. */
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
    this.#timer ??= after(SYNC_EVERY_MS, () => this.#sync(), this.#warn).unref();
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

/** Returns the head in each slot, undefined for a slot that cannot be read; undefined if there is no file. */
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
  const isValid = line !== '' && checksumOf(line.slice(0, -(checksum?.length ?? 0) - 2)) === checksum;
  return isValid ? { seq: Number(seq), hash: entry } : undefined;
}

function newestOf(slots: readonly (RecordedHead | undefined)[]): RecordedHead | undefined {
  let newest: RecordedHead | undefined;
  for (const slot of slots) if (slot && slot.seq >= (newest?.seq ?? 0)) newest = slot;
  return newest;
}

/** Returns the head of the ledger in the database. */
export function headOf(database: ReadDatabase): RecordedHead {
  const last = lastEntry(database);
  return { seq: last?.seq ?? 0, hash: last?.hash ?? NO_HASH };
}

/** Opens the head file and writes the current head to it; creates it for a new archive, or if it does not exist. */
export async function openHead(
  folder: string,
  database: ReadDatabase,
  { isNew, warn }: { isNew: boolean; warn: Warn },
): Promise<HeadFile | undefined> {
  const report = (error: unknown) => warn({ error }, 'The head of the ledger could not be saved.');
  const head = headOf(database);
  try {
    if (isNew || readHeadFile(folder) === undefined) await createHeadFile(folder, head);
  } catch (error) {
    // On a full disk the archive can still be read.
    report(error);
    return undefined;
  }
  const file = new HeadFile(folder, report);
  file.record(head);
  return file;
}

/** Logs a message with its details. */
export type Warn = (details: object, message: string) => void;
