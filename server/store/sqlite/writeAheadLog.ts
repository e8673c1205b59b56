import { closeSync, fdatasync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '../blobs/durableFile.ts';
import { openForReading, type ReadDatabase, statement } from './open.ts';

/**
 * The write-ahead log as a file that is synced without holding the event loop. SQLite appends what is committed to it
 * (`synchronous=NORMAL`); with `FULL` SQLite would sync it too, inside the commit
 * (https://sqlite.org/pragma.html#pragma_synchronous). SQLite takes no lock on this file, so that to close a descriptor
 * of it lets none of its locks go (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export class WriteAheadLog {
  readonly #file: string;
  #descriptor: number | undefined;

  constructor(databaseFile: string) {
    this.#file = `${databaseFile}-wal`;
  }

  /** Resolves when everything that is committed now is on stable storage. Once it failed, nothing is known of that. */
  async sync(): Promise<void> {
    if (this.#descriptor === undefined) {
      // The connection that writes keeps the file where it is until it is closed.
      this.#descriptor = openSync(this.#file, process.platform === 'win32' ? 'r+' : 'r');
      await syncFolder(dirname(this.#file));
    }
    await dataSynced(this.#descriptor);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function dataSynced(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) =>
    fdatasync(descriptor, (error) => (error ? reject(error) : resolve())),
  );
}

/**
 * Opens a reading connection with a snapshot begun: all that is read over it is of one moment and on stable storage.
 * Without the sync it might see what was committed a moment ago and is lost if the power goes.
 */
export async function openSnapshot(file: string, options?: { isMapped?: boolean }): Promise<ReadDatabase> {
  const database = openForReading(file, options);
  const log = new WriteAheadLog(file);
  try {
    beginSnapshot(database);
    await log.sync();
    return database;
  } catch (error) {
    database.close();
    throw error;
  } finally {
    log.close();
  }
}

/** Begins a snapshot: a deferred transaction has none before its first read. */
export function beginSnapshot(database: ReadDatabase): void {
  statement(database, 'BEGIN').run();
  statement(database, 'SELECT 1 FROM sqlite_schema LIMIT 1').get();
}

export function endSnapshot(database: ReadDatabase): void {
  statement(database, 'COMMIT').run();
}
