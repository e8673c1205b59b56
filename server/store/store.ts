import { randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { type Clock, instantOf } from '../../shared/clock.ts';
import { BlobStore } from './blobs/blobStore.ts';
import { createFolder } from './blobs/durableFile.ts';
import { databaseFile } from './blobs/paths.ts';
import { lockFolder } from './folderLock.ts';
import { blobBytes } from './sqlite/blobs.ts';
import { Checkpointer } from './sqlite/checkpointer.ts';
import { DurableCommit } from './sqlite/durableCommit.ts';
import { migrate } from './sqlite/migrate.ts';
import { openForReading, openForWriting, type ReadDatabase } from './sqlite/open.ts';
import { WriteAheadLog } from './sqlite/writeAheadLog.ts';
import { Writer } from './sqlite/writer.ts';

/** The data folder, open: what the services read and write through. */
export interface Store {
  readonly folder: string;
  /** Sees what is committed and on stable storage, and nothing else. */
  readonly read: ReadDatabase;
  /**
   * The same, by the connection that writes: what it wrote last is at hand there, where `read` fetches it anew after each
   * commit. For the few looks that come before a write; never to be iterated, because nothing can be written meanwhile.
   */
  latest: () => ReadDatabase;
  readonly write: Writer['write'];
  /** The same for a change that takes longer than the event loop may be held. */
  readonly writeInSteps: Writer['writeInSteps'];
  /** Calls a listener after each commit; gives back how to stop that. */
  readonly onCommit: Writer['onCommit'];
  /** Makes a change inside each transaction, right before its commit; gives back how to stop that. */
  readonly beforeCommit: Writer['beforeCommit'];
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** Now, as answers and rows write it. */
  instant: () => string;
  /** Random lowercase hex digits for an id. */
  randomHex: (digits: number) => string;
  /** Bytes that are free for this user on the data folder's disk. */
  freeBytes: () => number;
  /** Why nothing is written any more, or undefined. */
  failure: () => Error | undefined;
  /** Waits for what is being written, then closes. */
  close: () => Promise<void>;
}

export interface StoreConfig {
  folder: string;
  clock: Clock;
  /** Gives that many random bytes; tests seed it. */
  random?: (bytes: number) => Buffer;
}

/**
 * Opens a data folder, made if it is not there: takes the lock, brings the schema up to date, empties `tmp/` and sweeps
 * blobs that no row names.
 *
 * @throws FolderInUseError, NewerDatabaseError; whatever the disk says.
 */
export async function openStore({ folder, clock, random = randomBytes }: StoreConfig): Promise<Store> {
  await createFolder(folder);
  // Closed in the reverse order, also where a later step fails; the lock goes last.
  const opened = [lockFolder(folder)];
  const closeAll = () => {
    for (const close of opened.splice(0).reverse()) close();
  };
  const blobs = new BlobStore(folder);
  try {
    const database = openForWriting(databaseFile(folder));
    opened.push(() => database.close());
    migrate(database);
    const read = openForReading(databaseFile(folder));
    opened.push(() => read.close());
    const isNamed = (sha256: string) => blobBytes(read, sha256) !== undefined;
    await blobs.recover(isNamed);
    await blobs.sweep(isNamed);
    const log = new WriteAheadLog(databaseFile(folder));
    opened.push(() => log.close());
    // A node that was killed may have committed what it never synced; it is shown from here on.
    await log.settle(database);
    const durable = new DurableCommit(database, read, log);
    const checkpointer = new Checkpointer(databaseFile(folder));
    const writer = new Writer(database, durable, { room: () => checkpointer.room() });
    writer.onCommit(checkpointer.committed);
    return {
      folder,
      read,
      // Between turns of the event loop only a change in steps is in a transaction; what it wrote is not to be seen yet,
      // and neither is what is committed and not yet on stable storage.
      latest: () => (database.inTransaction || durable.isUnsettled ? read : database),
      write: (change, options) => writer.write(change, options),
      writeInSteps: (change) => writer.writeInSteps(change),
      onCommit: (listener) => writer.onCommit(listener),
      beforeCommit: (change) => writer.beforeCommit(change),
      blobs,
      clock,
      instant: () => instantOf(clock.now()),
      randomHex: (digits) => random(digits / 2).toString('hex'),
      freeBytes: () => {
        // Answered from the file system's memory in microseconds; a thread would cost many times that.
        const { bavail, bsize } = statfsSync(folder);
        return bavail * bsize;
      },
      failure: () => writer.failure,
      close: async () => {
        await blobs.close();
        await writer.drained();
        await checkpointer.close();
        closeAll();
      },
    };
  } catch (error) {
    closeAll();
    throw error;
  }
}
