import { closeSync, existsSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Problem } from '../../../../shared/problems.ts';
import { syncFolder } from '../../blobs/durableFile.ts';
import { dataSync, type SyncFile } from '../../blobs/writeBlobBatch.ts';
import { openForReading, type ReadDatabase, statement, type WriteDatabase } from './open.ts';

/**
 * The write-ahead log as a file that is synced without holding the event loop. SQLite appends what is committed to it
 * (`synchronous=NORMAL`); with `FULL` SQLite would sync it too, inside the commit
 * (https://sqlite.org/pragma.html#pragma_synchronous). SQLite takes no lock on this file, so that to close a descriptor
 * of it lets none of its locks go (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export class WriteAheadLog {
  readonly #databaseFile: string;
  readonly #file: string;
  readonly #syncFile: SyncFile;
  #descriptor: number | undefined;

  constructor(databaseFile: string, syncFile: SyncFile = dataSync) {
    this.#databaseFile = databaseFile;
    this.#syncFile = syncFile;
    this.#file = `${databaseFile}-wal`;
  }

  /** How long it is; what was copied into the database file counts until the log is begun anew. */
  get bytes(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Resolves when everything that is committed now is on stable storage. Once it failed, nothing is known of that. */
  async sync(): Promise<void> {
    if (this.#descriptor === undefined) {
      // The connection that writes keeps the file where it is until it is closed.
      this.#descriptor = openSync(this.#file, process.platform === 'win32' ? 'r+' : 'r');
      await syncFolder(dirname(this.#file));
    }
    try {
      await this.#syncFile(this.#descriptor);
    } catch (error) {
      writeFileSync(markOf(this.#databaseFile), '');
      throw error;
    }
  }

  /**
   * Puts on stable storage what a node before this one committed, and is not known to have synced. Where a sync failed, a
   * later one may succeed with nothing written; so all of it is then copied into the database file.
   */
  async settle(database: WriteDatabase): Promise<void> {
    if (existsSync(markOf(this.#databaseFile))) database.pragma('wal_checkpoint(TRUNCATE)');
    await this.sync();
    rmSync(markOf(this.#databaseFile), { force: true });
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** This file is there from a sync of the log that failed until a node is started again. */
function markOf(databaseFile: string): string {
  return `${databaseFile}-unsettled`;
}

/**
 * Readers that come after a sync that failed cannot find out by a sync of their own: it may succeed with nothing written.
 *
 * @throws Problem `storage_failed` where it is not known whether all that is committed is on stable storage
 */
export function requireSynced(databaseFile: string): void {
  if (!existsSync(markOf(databaseFile))) return;
  throw new Problem(
    'storage_failed',
    'The disk failed while the node was writing, so it is not known what was stored. Check the disk, then start the node again.',
  );
}

/**
 * Opens a reading connection with a snapshot begun: all that is read over it is of one moment and on stable storage.
 * Without the sync it might see what was committed a moment ago and is lost if the power goes.
 *
 * @throws Problem as `requireSynced`
 */
export async function openSnapshot(file: string, options?: { isMapped?: boolean }): Promise<ReadDatabase> {
  const database = openForReading(file, options);
  const log = new WriteAheadLog(file);
  try {
    beginSnapshot(database);
    await log.sync();
    requireSynced(file);
    return database;
  } catch (error) {
    database.close();
    throw error;
  } finally {
    log.close();
  }
}

/** Begins a snapshot, or none: a deferred transaction has none before its first read, which may fail. */
export function beginSnapshot(database: ReadDatabase): void {
  statement(database, 'BEGIN').run();
  try {
    statement(database, 'SELECT 1 FROM sqlite_schema LIMIT 1').get();
  } catch (error) {
    if (database.inTransaction) statement(database, 'ROLLBACK').run();
    throw error;
  }
}

export function endSnapshot(database: ReadDatabase): void {
  statement(database, 'COMMIT').run();
}
