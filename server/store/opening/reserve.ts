import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../shared/problems.ts';

/** The space that SQLite and a node need to open an archive: the index of the log and a few small files. */
const RESERVE_BYTES = 1_048_576;

/** Returns the free bytes on the data folder's disk, for this user. */
export type FreeBytes = () => number;

/**
 * A file that reserves disk space. On a full disk not even a reader can open an SQLite database whose log has no index
 * yet. The file is then deleted, so that the archive can be read. Nothing is written until the disk has space to create
 * it again; otherwise the freed space would be used up and the next start would fail.
 */
export class Reserve {
  readonly #folder: string;
  readonly #freeBytes: FreeBytes;
  readonly #warn: (error: unknown) => void;
  #isHeld: boolean;
  #making: Promise<void> | undefined;

  /** @param warn is called if the file cannot be created although there is space. */
  constructor(folder: string, freeBytes: FreeBytes, warn: (error: unknown) => void) {
    this.#folder = folder;
    this.#freeBytes = freeBytes;
    this.#warn = warn;
    this.#isHeld = existsSync(reserveFile(folder));
  }

  /** Creates the file if it is missing and there is space; returns whether it exists or is being created. */
  readonly hold = (): boolean => {
    if (this.#isHeld || this.#making) return true;
    if (this.#freeBytes() < 2 * RESERVE_BYTES) return false;
    this.#making = this.#make()
      .catch((error: unknown) => {
        // There was space, so the cause is something else. Writing goes on without the reserve.
        this.#isHeld = true;
        this.#warn(error);
      })
      .finally(() => (this.#making = undefined));
    return true;
  };

  /** The free bytes without those that this file needs, whether or not it exists. */
  readonly freeBytes: FreeBytes = () =>
    this.hold() ? this.#freeBytes() : Math.max(0, this.#freeBytes() - RESERVE_BYTES);

  /** Returns why nothing may be written, or undefined. */
  readonly refusal = (): Problem | undefined => {
    if (this.hold()) return undefined;
    return new Problem(
      'disk_nearly_full',
      'The disk is full, so the archive can only be read. Free some space; writing then resumes automatically.',
    );
  };

  async #make(): Promise<void> {
    const temporary = `${reserveFile(this.#folder)}.tmp`;
    try {
      const handle = await open(temporary, 'w', 0o600);
      try {
        // Random bytes, because a file system could compress others.
        await handle.writeFile(randomBytes(RESERVE_BYTES));
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await rename(temporary, reserveFile(this.#folder));
      this.#isHeld = true;
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#making;
  }
}

/** Deletes the reserve file if the disk has too little space to open an archive. */
export function releaseReserve(folder: string, freeBytes: FreeBytes): void {
  if (freeBytes() < RESERVE_BYTES) rmSync(reserveFile(folder), { force: true });
}

function reserveFile(folder: string): string {
  return join(folder, 'reserve');
}
