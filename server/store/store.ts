import { randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import type { Clock } from '../../shared/clock.ts';
import { NO_HASH } from '../../shared/ledger.ts';
import { BlobStore } from './blobs/blobStore.ts';
import { createFolder } from './blobs/durableFile.ts';
import { databaseFile } from './blobs/paths.ts';
import { MonotonicClock } from './monotonicClock.ts';
import { hasDatabase } from './opening/existingArchive.ts';
import { type FolderLock, lockFolder, requireUnopened } from './opening/folderLock.ts';
import { createHeadFile, HeadFile, readHeadFile } from './opening/headFile.ts';
import {
  asDamagedDatabaseError,
  checkHead,
  inspectFolder,
  type Judge,
  LOCK_SETTING,
} from './opening/inspectFolder.ts';
import { Reserve, releaseReserve } from './opening/reserve.ts';
import { Checkpointer } from './sqlite/engine/checkpointer.ts';
import { DurableCommit } from './sqlite/engine/durableCommit.ts';
import { migrate } from './sqlite/engine/migrate.ts';
import {
  openForReading,
  openForWriting,
  type ReadDatabase,
  type WriteDatabase,
} from './sqlite/engine/open.ts';
import { WriteAheadLog } from './sqlite/engine/writeAheadLog.ts';
import { Writer } from './sqlite/engine/writer.ts';
import { blobBytes } from './sqlite/node/blobs.ts';
import { lastEntry } from './sqlite/node/ledger.ts';
import { writeSetting } from './sqlite/node/settings.ts';

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
  /** Now, as answers and rows write it; never before the last that it gave or the ledger holds. */
  instant: () => string;
  /** How far the machine's clock is behind that, in milliseconds. */
  clockBehindMs: () => number;
  /** Random lowercase hex digits for an id. */
  randomHex: (digits: number) => string;
  /** Bytes that are free for this user on the data folder's disk. */
  freeBytes: () => number;
  /** How long the write-ahead log is. */
  logBytes: () => number;
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
  /** Hears what the owner should know and nobody else is told. */
  warn?: Warn | undefined;
  /** Looks at what is there before anything is changed; unless said otherwise, whether the head is there. */
  judge?: Judge;
}

/** A sentence for the log, and what belongs to it. */
export type Warn = (details: object, sentence: string) => void;

/**
 * Opens a data folder, made if it is not there: takes the lock, judges what is there, and only then brings the schema up
 * to date, makes good what a crash left and begins to write.
 *
 * @throws MissingDatabaseError, FolderInUseError, NewerDatabaseError, DamagedDatabaseError; what the judge throws; then
 * nothing was changed. Whatever the disk says.
 */
export async function openStore({
  folder,
  clock,
  random = randomBytes,
  warn = (_, sentence) => process.emitWarning(sentence),
  judge = checkHead,
}: StoreConfig): Promise<Store> {
  // Asked before even the lock is made: a folder without its database stays as it is.
  hasDatabase(folder);
  await createFolder(folder);
  const lock = lockFolder(folder);
  // Closed in the reverse order, also where a later step fails; the lock goes last.
  const opened = [lock.release];
  const closeAll = () => {
    for (const close of opened.splice(0).reverse()) close();
  };
  const freeBytes = () => {
    // Answered from the file system's memory in microseconds; a thread would cost many times that.
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  const blobs = new BlobStore(folder);
  try {
    releaseReserve(folder, freeBytes);
    const { isWhole, isNew, change, lockId } = await inspectFolder(folder, judge);
    if (!isNew && lockId !== lock.id) requireUnopened(folder);
    const database = openForWriting(databaseFile(folder));
    opened.push(() => database.close());
    migrate(database);
    if (change) database.transaction(change).immediate(database);
    const read = openForReading(databaseFile(folder));
    opened.push(() => read.close());
    const reserve = new Reserve(folder, freeBytes, (error) =>
      warn({ error }, 'The file that keeps some room free could not be made.'),
    );
    const isNamed = (sha256: string) => blobBytes(read, sha256) !== undefined;
    await blobs.recover(isNamed, { mayDelete: isWhole, hasSpace: reserve.hold });
    const log = new WriteAheadLog(databaseFile(folder));
    opened.push(() => log.close());
    // A node that was killed may have committed what it never synced; it is shown from here on.
    await log.settle(database);
    if (reserve.hold()) rememberLock(database, lock, lockId);
    else warn({}, 'The disk is full: the archive can be read, and nothing is written until there is room.');
    const head = await openHead(folder, database, { isNew: change !== undefined, warn });
    const lastRecordedAt = lastEntry(database)?.at;
    const steady = new MonotonicClock(clock, lastRecordedAt, (behindMs) =>
      warn(
        { behind_ms: behindMs },
        'The clock is behind what is recorded; set it right. Until it has caught up, everything bears the last time that was recorded.',
      ),
    );
    if (lastRecordedAt !== undefined) steady.instant();
    const durable = new DurableCommit(database, read, log);
    const checkpointer = new Checkpointer(databaseFile(folder));
    const writer = new Writer(database, durable, {
      room: () => checkpointer.room(),
      refusal: reserve.refusal,
      onDurable: () => head?.record(headOf(database)),
      warn: (error) => warn({ error }, 'What hears of commits has failed.'),
    });
    writer.onCommit(checkpointer.committed);
    // Between turns of the event loop only a change in steps is in a transaction; what it wrote is not to be seen yet,
    // and neither is what is committed and not yet on stable storage.
    const latest = () => (database.inTransaction || durable.hasUnsyncedCommit ? read : database);
    blobs.follow({
      isNamed: (sha256) => (writer.failure ? undefined : blobBytes(latest(), sha256) !== undefined),
      onCommit: (listener) => writer.onCommit(listener),
    });
    return {
      folder,
      read,
      latest,
      write: (change, options) => writer.write(change, options),
      writeInSteps: (change) => writer.writeInSteps(change),
      onCommit: (listener) => writer.onCommit(listener),
      beforeCommit: (change) => writer.beforeCommit(change),
      blobs,
      clock,
      instant: () => steady.instant(),
      clockBehindMs: () => steady.behindMs,
      randomHex: (digits) => random(digits / 2).toString('hex'),
      freeBytes: reserve.freeBytes,
      logBytes: () => log.bytes,
      failure: () => writer.failure ?? reserve.refusal(),
      close: async () => {
        await blobs.close();
        await writer.drained();
        await checkpointer.close();
        await head?.close();
        await reserve.close();
        closeAll();
      },
    };
  } catch (error) {
    closeAll();
    throw asDamagedDatabaseError(databaseFile(folder), error);
  }
}

function headOf(database: ReadDatabase) {
  const last = lastEntry(database);
  return { seq: last?.seq ?? 0, hash: last?.hash ?? NO_HASH };
}

/** Opens the head file and keeps in it how far the ledger goes; made where there is none, or where a new one begins. */
async function openHead(
  folder: string,
  database: ReadDatabase,
  { isNew, warn }: { isNew: boolean; warn: Warn },
): Promise<HeadFile | undefined> {
  const tell = (error: unknown) => warn({ error }, 'The head of the ledger could not be kept.');
  const head = headOf(database);
  try {
    if (isNew || readHeadFile(folder) === undefined) await createHeadFile(folder, head);
  } catch (error) {
    // On a full disk; what is there can be read all the same.
    tell(error);
    return undefined;
  }
  const file = new HeadFile(folder, tell);
  file.record(head);
  return file;
}

/** Remembers the lock file in the database, where whoever removes it cannot change that. */
function rememberLock(database: WriteDatabase, lock: FolderLock, known: string | undefined): void {
  if (lock.id !== known) writeSetting(database, LOCK_SETTING, lock.id);
}
