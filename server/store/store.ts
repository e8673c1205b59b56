import { randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { NO_HASH } from '../../shared/ledger/ledger.ts';
import type { Clock } from '../../shared/values/clock.ts';
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
  LOCK_SETTING,
  type OpeningCheck,
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
import { blobBytes, bytesHere } from './sqlite/node/blobs.ts';
import { lastEntry } from './sqlite/node/ledger.ts';
import { offloadedBytes } from './sqlite/node/offloadedObjects.ts';
import { writeSetting } from './sqlite/node/settings.ts';

/** An open data folder. The services read and write through it. */
export interface Store {
  readonly folder: string;
  /** A connection that sees only what is committed and on stable storage. */
  readonly read: ReadDatabase;
  readonly write: Writer['write'];
  /** Like `write`, for a change that would block the event loop for too long. */
  readonly writeInSteps: Writer['writeInSteps'];
  /** Calls a listener after each commit; returns a function that removes it. */
  readonly onCommit: Writer['onCommit'];
  /** Runs a change inside each transaction, right before its commit; returns a function that removes it. */
  readonly beforeCommit: Writer['beforeCommit'];
  readonly blobs: BlobStore;
  readonly clock: Clock;
  /** The current time in ISO 8601; never before an earlier result or the last entry of the ledger. */
  instant: () => string;
  /** How far the machine's clock is behind `instant`, in milliseconds. */
  clockBehindMs: () => number;
  /** Random lowercase hex digits for an id. */
  randomHex: (digits: number) => string;
  /** The bytes of all blobs on this disk that rows name. Read anew after each commit. */
  heldBytes: () => number;
  /** Free bytes on the data folder's disk, for this user. */
  freeBytes: () => number;
  /** The size of the write-ahead log in bytes. */
  logBytes: () => number;
  /** Why nothing can be written any more, or undefined. */
  failure: () => Error | undefined;
  /** Waits for pending writes, then closes. */
  close: () => Promise<void>;
}

/** A store without the operations that write. */
export type ReadStore = Omit<Store, 'write' | 'writeInSteps'>;

export interface StoreConfig {
  folder: string;
  clock: Clock;
  /** Returns that many random bytes; tests seed it. */
  random?: (bytes: number) => Buffer;
  /** Receives warnings for the owner's log. */
  warn?: Warn | undefined;
  /** Checks the folder before anything is changed. The default compares the database with the head file. */
  check?: OpeningCheck;
}

/** Logs a message with its details. */
export type Warn = (details: object, message: string) => void;

/**
 * Opens a data folder and creates it if it does not exist. Takes the lock and checks the folder. Only then migrates the
 * schema, recovers from a crash and begins to write.
 *
 * @throws MissingDatabaseError, FolderInUseError, NewerDatabaseError, DamagedDatabaseError, and the errors of `check`;
 * nothing was changed then. Also any error of the file system.
 */
export async function openStore({
  folder,
  clock,
  random = randomBytes,
  warn = (_, message) => process.emitWarning(message),
  check = checkHead,
}: StoreConfig): Promise<Store> {
  // Before the lock file is created: a folder that lost its database must stay unchanged.
  hasDatabase(folder);
  await createFolder(folder);
  const lock = lockFolder(folder);
  // Closed in reverse order, also if a later step fails. The lock is released last.
  const opened = [lock.release];
  const closeAll = () => {
    for (const close of opened.splice(0).reverse()) close();
  };
  const freeBytes = () => {
    // The synchronous call takes microseconds; a thread would take much longer.
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  const blobs = new BlobStore(folder);
  try {
    releaseReserve(folder, freeBytes);
    const { isComplete, isNew, change, lockId } = await inspectFolder(folder, check);
    if (!isNew && lockId !== lock.id) requireUnopened(folder);
    const database = openForWriting(databaseFile(folder));
    opened.push(() => database.close());
    migrate(database);
    if (change) database.transaction(change).immediate(database);
    const read = openForReading(databaseFile(folder));
    opened.push(() => read.close());
    const reserve = new Reserve(folder, freeBytes, (error) =>
      warn({ error }, 'The file that reserves disk space could not be created.'),
    );
    const isReferenced = (sha256: string) => blobBytes(read, sha256) !== undefined;
    await blobs.away.open((sha256) => offloadedBytes(read, sha256));
    await blobs.recover(isReferenced, { mayDelete: isComplete, hasSpace: reserve.hold });
    const log = new WriteAheadLog(databaseFile(folder));
    opened.push(() => log.close());
    // A killed node may have committed without a sync. Sync now, because readers see those commits from here on.
    await log.settle(database);
    if (reserve.hold()) recordLock(database, lock, lockId);
    else warn({}, 'The disk is full: the archive can be read, but nothing is written until space is freed.');
    const head = await openHead(folder, database, { isNew: change !== undefined, warn });
    const lastRecordedAt = lastEntry(database)?.at;
    const steady = new MonotonicClock(clock, lastRecordedAt, (behindMs) =>
      warn(
        { behind_ms: behindMs },
        'The clock of this machine is behind the last recorded time. Correct it. Until then, new records get the last recorded time.',
      ),
    );
    if (lastRecordedAt !== undefined) steady.instant();
    const durable = new DurableCommit(database, read, log);
    const checkpointer = new Checkpointer(databaseFile(folder), (error) =>
      warn({ error }, 'The write-ahead log could not be checkpointed.'),
    );
    const writer = new Writer(database, durable, {
      whenReady: () => checkpointer.whenReady(),
      refusal: reserve.refusal,
      onDurable: () => head?.record(headOf(database)),
      warn: (error, message) => warn({ error }, message),
    });
    writer.onCommit(checkpointer.committed);
    let heldBytes: number | undefined;
    writer.onCommit(() => (heldBytes = undefined));
    blobs.follow({
      isReferenced: (sha256) => (writer.failure ? undefined : isReferenced(sha256)),
      onCommit: (listener) => writer.onCommit(listener),
    });
    return {
      folder,
      read,
      write: (change, options) => writer.write(change, options),
      writeInSteps: (change) => writer.writeInSteps(change),
      onCommit: (listener) => writer.onCommit(listener),
      beforeCommit: (change) => writer.beforeCommit(change),
      blobs,
      clock,
      instant: () => steady.instant(),
      clockBehindMs: () => steady.behindMs,
      randomHex: (digits) => random(digits / 2).toString('hex'),
      heldBytes: () => (heldBytes ??= bytesHere(read)),
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

/** Opens the head file and writes the current head to it; creates it for a new archive, or if it does not exist. */
async function openHead(
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

/** Records the lock file's identity in the database, so that removing the file is noticed. */
function recordLock(database: WriteDatabase, lock: FolderLock, known: string | undefined): void {
  if (lock.id !== known) writeSetting(database, LOCK_SETTING, lock.id);
}
