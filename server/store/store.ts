import { randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { GIGABYTE } from '../../shared/limits.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { type Clock, instantOf } from '../../shared/values/clock.ts';
import { BlobStore } from './blobs/blobStore.ts';
import { createFolder, databaseFile, restrictFolder, restrictNewFiles } from './files.ts';
import { type FolderLock, FolderPresence, lockFolder } from './opening/folderLock.ts';
import { headOf, openHead, type RecordedHead, type Warn } from './opening/headFile.ts';
import {
  asDamagedDatabaseError,
  checkHead,
  hasDatabase,
  LOCK_SETTING,
  type OpeningCheck,
} from './opening/inspectFolder.ts';
import { finishArrival, requireHere } from './opening/movedFolder.ts';
import {
  OpenedResources,
  openDatabase,
  openWriter,
  Reserve,
  releaseReserve,
} from './opening/openDatabase.ts';
import type { ReadDatabase, WriteDatabase } from './sqlite/engine/open.ts';
import { WriteAheadLog } from './sqlite/engine/writeAheadLog.ts';
import type { Writer } from './sqlite/engine/writer.ts';
import { blobBytes, bytesHere, releasedBytes } from './sqlite/node/blobs.ts';
import { lastEntry } from './sqlite/node/ledger.ts';
import { offloadedBytes } from './sqlite/node/offloadedObjects.ts';
import { writeSetting } from './sqlite/node/owner.ts';
import { finishRelease, isReleased, unfinishedReleases } from './sqlite/node/withheld.ts';

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
  /** Whether the time jumped ahead, so that nothing is written, and by how much; and the owner's word that it is right. */
  ahead: { readonly ms: number; confirm: () => void };
  /** Random lowercase hex digits for an id. */
  randomHex: (digits: number) => string;
  /** The bytes of all blobs on this disk that rows name. Read anew after each commit. */
  heldBytes: () => number;
  /** Free bytes on the data folder's disk, for this user. */
  freeBytes: () => number;
  /** The size of the write-ahead log in bytes. */
  logBytes: () => number;
  /** Empties the write-ahead log; see `Checkpointer.empty`. */
  emptyLog: () => Promise<boolean>;
  /** Why nothing can be written any more, or undefined. */
  failure: () => Error | undefined;
  /** Whether a write failed so that nothing more is written until the archive is opened again. */
  hasFailed: () => boolean;
  /** Whether the folder is still there. */
  presence: FolderPresence;
  /** The last entry of the ledger that is on stable storage. Does not read the database. */
  head: () => RecordedHead;
  /** Waits for pending writes, then closes. */
  close: () => Promise<void>;
}

/** A store without the operations that write. */
export type ReadStore = Omit<Store, 'write' | 'writeInSteps' | 'emptyLog'>;

export interface StoreConfig {
  folder: string;
  clock: Clock;
  /** Returns that many random bytes; tests seed it. */
  random?: (bytes: number) => Buffer;
  /** Receives warnings for the owner's log. */
  warn?: Warn | undefined;
  /** Checks the folder before anything is changed. The default compares the database with the head file. */
  check?: OpeningCheck;
  /** Whether the archive was there a moment ago: no other is created in its place. */
  mustExist?: boolean | undefined;
}

/**
 * Opens a data folder and creates it if it does not exist. Takes the lock and checks the folder. Only then migrates the
 * schema, recovers from a crash and begins to write.
 *
 * @throws MovedFolderError, UnfinishedMoveError, MissingDatabaseError, FolderInUseError, NewerDatabaseError,
 * UnreleasedDatabaseError, DamagedDatabaseError, and the errors of `check`; nothing was changed then. Also any error of the file system.
 */
export async function openStore(config: StoreConfig): Promise<Store> {
  const { folder } = config;
  restrictNewFiles();
  requireHere(folder);
  // Before the lock file is created: a folder that lost its database must stay unchanged.
  // A folder with a database is not created, because it may vanish in this moment.
  const mustExist = hasDatabase(folder) || config.mustExist;
  if (!mustExist) await createFolder(folder);
  const opened = new OpenedResources();
  // Added first, so that it is released last.
  const lock = opened.add(lockFolder(folder), ({ release }) => release());
  try {
    await restrictFolder(folder);
    return await openLocked({ ...config, mustExist }, lock, opened);
  } catch (error) {
    opened.closeAll();
    throw asDamagedDatabaseError(databaseFile(folder), error);
  }
}

/** Opens a data folder whose lock is taken. If it throws, the caller closes what was opened. */
async function openLocked(
  {
    folder,
    clock,
    random = randomBytes,
    warn = (_, message) => process.emitWarning(message),
    check = checkHead,
    mustExist,
  }: StoreConfig,
  lock: FolderLock,
  opened: OpenedResources,
): Promise<Store> {
  await finishArrival(folder);
  const freeBytes = () => freeBytesOf(folder);
  const blobs = new BlobStore(folder);
  releaseReserve(folder, freeBytes);
  const { database, read, inspection } = await openDatabase(folder, {
    check,
    lock,
    opened,
    freeBytes,
    mustExist,
  });
  const presence = new FolderPresence(folder);
  const reserve = new Reserve(folder, freeBytes, (error) =>
    warn({ error }, 'The file that reserves disk space could not be created.'),
  );
  const isGivenUp = (sha256: string) => isReleased(read, sha256);
  const isReferenced = (sha256: string) => blobBytes(read, sha256) !== undefined && !isGivenUp(sha256);
  await blobs.offloaded.open((sha256) => offloadedBytes(read, sha256));
  await blobs.recover(isReferenced, {
    mayDelete: inspection.isComplete,
    hasSpace: reserve.hold,
    isReleased: isGivenUp,
  });
  const log = opened.add(new WriteAheadLog(databaseFile(folder)), (file) => file.close());
  // A killed node may have committed without a sync. Sync now, because readers see those commits from here on.
  await log.settle(database);
  await finishReleases(database, blobs, reserve.hold);
  if (reserve.hold()) recordLock(database, lock, inspection.lockId);
  else warn({}, 'The disk is full: the archive can be read, but nothing is written until space is freed.');
  const head = await openHead(folder, database, { isNew: inspection.change !== undefined, warn });
  const steady = steadyClock(clock, database, warn);
  let lastHead = headOf(database);
  const { writer, checkpointer } = openWriter(
    { folder, database, read, log },
    {
      refusal: () => presence.refusal() ?? reserve.refusal() ?? steady.refusal(),
      onDurable: () => {
        lastHead = headOf(database);
        head?.record(lastHead);
      },
      warn,
    },
  );
  const heldBytes = readHeldBytes(read, writer);
  blobs.follow({
    isReferenced: (sha256) => (writer.failure ? undefined : isReferenced(sha256)),
    isReleased: isGivenUp,
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
    ahead: steady.ahead,
    randomHex: (digits) => random(digits / 2).toString('hex'),
    heldBytes,
    freeBytes: reserve.freeBytes,
    logBytes: () => log.bytes,
    emptyLog: () => checkpointer.empty(),
    failure: () => writer.failure ?? presence.refusal() ?? reserve.refusal() ?? steady.refusal(),
    hasFailed: () => writer.failure !== undefined,
    presence,
    head: () => lastHead,
    close: async () => {
      try {
        await blobs.close();
        await writer.drained();
        await checkpointer.close();
        await head?.close();
        await reserve.close();
      } finally {
        // Else the lock would be held until the process ends.
        opened.closeAll({ isAway: presence.isAway });
      }
    },
  };
}

/** Returns a function that reads the bytes of all blobs on this disk once after each commit. */
function readHeldBytes(read: ReadDatabase, writer: Writer): () => number {
  let held: number | undefined;
  writer.onCommit(() => (held = undefined));
  return () => (held ??= bytesHere(read));
}

function freeBytesOf(folder: string): number {
  // The synchronous call takes microseconds; a thread would take much longer.
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Releases that are finished in one transaction when the archive is opened. */
const RELEASES_AT_ONCE = 500;

/**
 * Removes the bytes of releases that a process recorded before it ended. On a full disk they are removed too, and looked
 * for again at the next start.
 */
async function finishReleases(
  database: WriteDatabase,
  blobs: BlobStore,
  hasSpace: () => boolean,
): Promise<void> {
  for (;;) {
    const digests = unfinishedReleases(database, RELEASES_AT_ONCE);
    for (const sha256 of digests) await blobs.remove(sha256);
    if (digests.length === 0 || !hasSpace()) return;
    database.transaction(() => {
      for (const sha256 of digests) finishRelease(database, sha256);
    })();
  }
}

/** Records the lock file's identity in the database, so that removing the file is noticed. */
function recordLock(database: WriteDatabase, lock: FolderLock, known: string | undefined): void {
  if (lock.id !== known) writeSetting(database, LOCK_SETTING, lock.id);
}

/** Smaller corrections of the machine's clock are not reported. */
const REPORT_FROM_MS = 1_000;

/** A jump ahead by more than this needs the owner's word, because times in the ledger never go back. */
const MAX_JUMP_MS = 86_400_000;

/**
 * A clock that never goes backwards, whatever the machine's clock does. Its instants are never before an earlier one or
 * before the last entry of the ledger. A machine clock that is behind is reported once.
 *
 * A machine clock that was set ahead while the program ran is not followed until the owner confirms it. It is known by the
 * time since the machine started. The clock at the opening is trusted, and so is a machine that slept.
 */
class MonotonicClock {
  readonly #clock: Clock;
  readonly #lastRecordedAt: () => string | undefined;
  readonly #reportAhead: (aheadMs: number) => void;
  /** The time at which the machine started, as the clock had it when it was last trusted. */
  #startedAt: number;
  #isAheadReported = false;
  readonly ahead: Store['ahead'];
  readonly #reportBehind: (behindMs: number) => void;
  #latest: number;
  #isReported = false;

  /** @param lastRecordedAt returns the time of the last entry, if any. */
  constructor(
    clock: Clock,
    lastRecordedAt: () => string | undefined,
    report: { behind: (behindMs: number) => void; ahead: (aheadMs: number) => void },
  ) {
    this.#clock = clock;
    this.#lastRecordedAt = lastRecordedAt;
    const latest = lastRecordedAt();
    this.#latest = latest === undefined ? 0 : Date.parse(latest);
    this.#reportBehind = report.behind;
    this.#reportAhead = report.ahead;
    this.#startedAt = clock.now() - this.#uptime();
    const aheadMs = () => this.#aheadMs();
    this.ahead = {
      get ms() {
        return aheadMs();
      },
      confirm: () => {
        this.#startedAt = clock.now() - this.#uptime();
      },
    };
  }

  /** Why nothing may be recorded at this time, or undefined. */
  refusal(): Problem | undefined {
    return this.#aheadMs() === 0 ? undefined : clockAhead();
  }

  #uptime(): number {
    return this.#clock.uptime?.() ?? this.#clock.now();
  }

  /** How far the machine's clock jumped ahead, if that is too far to be followed; else 0. */
  #aheadMs(): number {
    const now = this.#clock.now();
    const jump = now - this.#uptime() - this.#startedAt;
    const last = jump > MAX_JUMP_MS ? this.#lastRecordedAt() : undefined;
    const isAhead = last !== undefined && now - Date.parse(last) > MAX_JUMP_MS;
    if (isAhead && !this.#isAheadReported) this.#reportAhead(jump);
    this.#isAheadReported = isAhead;
    return isAhead ? jump : 0;
  }

  /** The current time in ISO 8601; the latest recorded instant while the machine's clock is behind it. */
  instant(): string {
    const now = this.#clock.now() - this.#aheadMs();
    if (now >= this.#latest) {
      this.#latest = now;
      this.#isReported = false;
    } else if (!this.#isReported && this.#latest - now >= REPORT_FROM_MS) {
      this.#isReported = true;
      this.#reportBehind(this.#latest - now);
    }
    return instantOf(this.#latest);
  }

  /** How far the machine's clock is behind the latest recorded instant, in milliseconds; 0 if it is not behind. */
  get behindMs(): number {
    const behind = this.#latest - this.#clock.now();
    return behind >= REPORT_FROM_MS ? behind : 0;
  }
}

const CLOCK_AHEAD =
  'The clock of this machine jumped ahead by more than a day, so nothing is recorded: times in the ledger never go back. Correct the clock, or confirm it on the page Overview or with POST /manage/clock.';

function clockAhead(): Problem {
  return new Problem('clock_ahead', CLOCK_AHEAD);
}

/** Returns a clock that is never before the last entry of the ledger. */
function steadyClock(clock: Clock, database: ReadDatabase, warn: Warn): MonotonicClock {
  const lastRecordedAt = () => lastEntry(database)?.at;
  const steady = new MonotonicClock(clock, lastRecordedAt, {
    behind: (behindMs) =>
      warn(
        { behind_ms: behindMs },
        'The clock of this machine is behind the last recorded time. Correct it. Until then, new records get the last recorded time.',
      ),
    ahead: (aheadMs) => warn({ ahead_ms: aheadMs }, CLOCK_AHEAD),
  });
  if (lastRecordedAt() !== undefined) steady.instant();
  return steady;
}

/** Returns a random number from 0 to 1, both inclusive. */
export function randomFraction({ randomHex }: Pick<Store, 'randomHex'>): number {
  return Number.parseInt(randomHex(8), 16) / 0xffffffff;
}

/** The limit that keeps more bytes from being stored. */
export type StorageLimit = 'data_cap_reached' | 'disk_nearly_full';

/** Returns how many bytes are stored, free and given up, with the owner's two limits. */
export function measureStorage(
  store: Pick<Store, 'read' | 'heldBytes' | 'freeBytes'>,
  limits: Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>,
): StorageSpace {
  return {
    held_bytes: store.heldBytes(),
    ...releasedBytes(store.read),
    cap_bytes: Math.round(limits.data_cap_gb * GIGABYTE),
    free_bytes: store.freeBytes(),
    min_free_bytes: Math.round(limits.min_free_disk_gb * GIGABYTE),
    no_room: reachedStorageLimit(store, limits, 0),
  };
}

interface StorageSpace {
  held_bytes: number;
  /** Absent if nothing was given up. */
  released_objects?: number;
  released_bytes?: number;
  cleaning?: boolean;
  cap_bytes: number;
  free_bytes: number;
  min_free_bytes: number;
  no_room: StorageLimit | null;
}

/** Returns which of the owner's two limits would be exceeded by storing `bytes` more bytes, or null. */
export function reachedStorageLimit(
  store: Pick<Store, 'heldBytes' | 'freeBytes'>,
  limits: Pick<Settings, 'data_cap_gb' | 'min_free_disk_gb'>,
  bytes: number,
): StorageLimit | null {
  const held = store.heldBytes();
  const cap = limits.data_cap_gb * GIGABYTE;
  if (held + bytes > cap || held >= cap) return 'data_cap_reached';
  if (store.freeBytes() - bytes < limits.min_free_disk_gb * GIGABYTE) return 'disk_nearly_full';
  return null;
}
