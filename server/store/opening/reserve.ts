import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../shared/problems.ts';

/** What SQLite and a node need to open an archive: the index of its log, a few small files. */
export const RESERVE_BYTES = 1_048_576;

/** Bytes that are free for this user on the data folder's disk. */
export type FreeBytes = () => number;

/**
 * A file that only takes up room. On a disk that is full to its last byte not even a reader can open an SQLite database
 * whose log has no index yet; so this file gives its room back then, and the archive can be read. Until the disk has
 * room to make it again, nothing is written: what it gave back would be gone, and the next start would fail.
 */
export class Reserve {
  readonly #folder: string;
  readonly #freeBytes: FreeBytes;
  readonly #warn: (error: unknown) => void;
  #isHeld: boolean;
  #making: Promise<void> | undefined;

  /** @param warn hears why it could not be made although there is room. */
  constructor(folder: string, freeBytes: FreeBytes, warn: (error: unknown) => void) {
    this.#folder = folder;
    this.#freeBytes = freeBytes;
    this.#warn = warn;
    this.#isHeld = existsSync(reserveFile(folder));
  }

  /** Makes the file where there is none and enough room; whether there is one, or it is being made. */
  readonly hold = (): boolean => {
    if (this.#isHeld || this.#making) return true;
    if (this.#freeBytes() < 2 * RESERVE_BYTES) return false;
    this.#making = this.#make()
      .catch((error: unknown) => {
        // There was room, so something else is in the way; the archive is not to wait for that.
        this.#isHeld = true;
        this.#warn(error);
      })
      .finally(() => (this.#making = undefined));
    return true;
  };

  /** Bytes that are free for others than this file, whether or not it holds its own. */
  readonly freeBytes: FreeBytes = () =>
    this.hold() ? this.#freeBytes() : Math.max(0, this.#freeBytes() - RESERVE_BYTES);

  /** Why nothing may be written, or undefined. */
  readonly refusal = (): Problem | undefined => {
    if (this.hold()) return undefined;
    return new Problem(
      'disk_nearly_full',
      'The disk is full, so the archive can only be read. Make room on it; the node goes on by itself.',
    );
  };

  async #make(): Promise<void> {
    const temporary = `${reserveFile(this.#folder)}.tmp`;
    try {
      const handle = await open(temporary, 'w', 0o600);
      try {
        // Bytes that no file system can store in less room.
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

/** Gives the room of the reserve back where the disk has too little to open an archive. */
export function releaseReserve(folder: string, freeBytes: FreeBytes): void {
  if (freeBytes() < RESERVE_BYTES) rmSync(reserveFile(folder), { force: true });
}

function reserveFile(folder: string): string {
  return join(folder, 'reserve');
}
