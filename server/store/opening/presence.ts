import { statSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { databaseFile } from '../files.ts';

/** Errors of a disk that is there and takes no more bytes, and of a process with too many open files. */
const SAYS_NOTHING = new Set<string | undefined>([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
]);

/**
 * Whether the data folder is still the one that was opened: its disk may be pulled out, or another one mounted in its place.
 * SQLite then goes on with its open files, and every other file is missing or another one.
 *
 * Once it was found to be away, it stays away for this opening, because what was done meanwhile may have seen no files. It is
 * opened again when it is back.
 */
export class FolderPresence {
  readonly #folder: string;
  readonly #id: string | undefined;
  #isAway = false;

  /** Call it right after the database was opened: no other file can have its identity then. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#id = identityOf(databaseFile(folder));
    // It vanished while it was opened.
    this.#isAway = this.#id === undefined;
  }

  /** Asks the file system, which takes microseconds. */
  get isAway(): boolean {
    return (this.#isAway ||= identityOf(databaseFile(this.#folder)) !== this.#id);
  }

  /** Why nothing may be written, or undefined. */
  readonly refusal = (): Problem | undefined => (this.isAway ? folderAway() : undefined);

  /**
   * Writes and removes a small file, after other writes have failed: the folder of a disk that was pulled out can stay
   * listed.
   */
  async tryWriting(): Promise<void> {
    const file = join(this.#folder, 'disk-test');
    let handle: FileHandle | undefined;
    try {
      handle = await open(file, 'w', 0o600);
      await handle.writeFile('test');
      await handle.sync();
    } catch (error) {
      this.#isAway ||= !SAYS_NOTHING.has(errorCode(error));
    } finally {
      // The disk is away or full; the file is replaced by the next test.
      await handle?.close().catch(() => {});
      await rm(file, { force: true }).catch(() => {});
    }
  }
}

/** The refusal of every request and every write while the disk of the data folder is away. */
export function folderAway(): Problem {
  return new Problem(
    'data_folder_away',
    'Connect the disk with the data folder of this archive again, and Strongroom continues by itself. What was acknowledged is on that disk, and nothing is written anywhere else.',
    { headers: { 'Retry-After': '2' } },
  );
}

function identityOf(file: string): string | undefined {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  } catch {
    // A disk that was pulled out can answer with any error.
    return undefined;
  }
}
