import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GIGABYTE, MEGABYTE } from '../../../shared/limits.ts';
import type { RestoreDrill } from '../../../shared/node/copy.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { LIST } from '../../../shared/proof/ledger/fileList.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { DumpError } from '../../dump/dumpFile.ts';
import { every } from '../../runtime/background.ts';
import type { JobRun } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { runWorker } from '../../runtime/threads.ts';
import { workerUrl } from '../../runtime/workerUrl.ts';
import { isNoSpace, temporaryFolder } from '../../store/files.ts';
import { filesOfList } from '../../store/sqlite/node/copiedFiles.ts';
import { type CopyRow, holdsWithheldKey, setDrilled } from '../../store/sqlite/node/copies.ts';
import type { Store } from '../../store/store.ts';
import type { CopyServices } from '../claim.ts';
import { sentDigest } from '../copyFiles.ts';
import { KEY } from '../copyPaths.ts';
import { readCredentials, type TargetAddress } from '../targets/openTarget.ts';
import { CopyError, InvalidCopyError } from '../targets/target.ts';

interface DrillServices extends Pick<CopyServices, 'store' | 'checkpoints'> {
  settings: () => Pick<Settings, 'min_free_disk_gb'>;
  log: Log;
  /** Runs a drill in this thread, in which tests let places fail; in one of its own if undefined. */
  runHere?:
    | ((input: DrillInput, report: (progress: DrillProgress) => void) => Promise<DrillFinding>)
    | undefined;
}

/** How often the disk is looked at while a drill fills it. */
const ROOM_POLL_MS = 1_000;

/**
 * Restores a copy into a temporary folder of this archive: all records, and a sample of the objects. The archive there is
 * opened, verified and compared with this one, then removed. All of it happens in a thread, which reads this archive and
 * the copy and writes neither. If the process is killed, the next start removes the folder.
 *
 * @throws the signal's reason, once nothing is left; nothing is recorded then
 */
export async function drillCopy(
  services: DrillServices,
  copy: CopyRow,
  { signal, progress }: JobRun,
): Promise<RestoreDrill> {
  const { store, log } = services;
  const at = store.instant();
  const folder = join(temporaryFolder(store.folder), `restore-drill-${store.randomHex(16)}`);
  let finding: DrillFinding;
  try {
    await mkdir(folder, { mode: 0o700 });
    const input = await inputOf(services, copy, folder);
    finding = await runInThread(services, input, { signal, progress });
  } catch (error) {
    if (signal.aborted) throw error;
    log.error({ error, copy: copy.id }, 'A restore drill could not be finished');
    const why = error instanceof Error ? error.message : String(error);
    const sentence = `The restore test could not be finished: ${why}`;
    finding = { outcome: 'failed', sentence, restored: null, needed_bytes: null };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  const drill = { at, ...finding };
  await store.write((database) => setDrilled(database, copy.id, drill));
  return drill;
}

async function inputOf(services: DrillServices, copy: CopyRow, folder: string): Promise<DrillInput> {
  const { store, checkpoints } = services;
  const { id, target, endpoint, region, owner_token } = copy;
  const credentials = (await readCredentials(store.folder))[id];
  return {
    archive: store.folder,
    verifierKey: checkpoints.key.verifierKey,
    folder,
    address: { target, endpoint, region, ...credentials },
    copy: {
      owner_token,
      lacksKey: !holdsWithheldKey(copy),
      keyFile: copy.kept_key === null ? undefined : sentDigest(store.read, id, KEY),
      hasList: filesOfList(store.read, id).some(({ path }) => path === LIST),
    },
    room: roomOf(services),
    start: store.randomHex(64),
  };
}

/** The bytes that may be written before the disk has only those that the settings keep free. */
function roomOf({
  store,
  settings,
}: { store: Pick<Store, 'freeBytes'> } & Pick<DrillServices, 'settings'>): number {
  return store.freeBytes() - settings().min_free_disk_gb * GIGABYTE;
}

/** Ends the thread if the disk fills up, also through what others write. @throws the signal's reason */
async function runInThread(
  services: DrillServices,
  input: DrillInput,
  { signal, progress }: JobRun,
): Promise<DrillFinding> {
  const full = new AbortController();
  let needed = 0;
  const look = () => {
    // Until the need is known, and if there is too little room from the start, the thread says so itself.
    const hasBegun = needed > 0 && needed <= input.room;
    if (hasBegun && roomOf(services) < 0) full.abort(NoRoomError.during(needed));
  };
  const watch = every(ROOM_POLL_MS, look);
  const onProgress = (reported: DrillProgress) => {
    if ('needed' in reported) needed = reported.needed;
    else progress(reported.done, reported.total);
    look();
  };
  try {
    if (services.runHere) return await services.runHere(input, onProgress);
    return await runWorker<DrillFinding, DrillProgress>(workerUrl('drill', import.meta.url), input, {
      signal: AbortSignal.any([signal, full.signal]),
      onProgress,
    });
  } catch (error) {
    return findingOf(error, needed);
  } finally {
    clearInterval(watch);
  }
}

/** What the thread of a drill is given. */
export interface DrillInput {
  /** The data folder of this archive, which is only read. */
  archive: string;
  verifierKey: string;
  /** The folder for what is restored. The caller removes it. */
  folder: string;
  address: TargetAddress;
  copy: {
    owner_token: string;
    /** Whether the copy does not hold the key that decrypts sealed findings. */
    lacksKey: boolean;
    /** The digest of its file of the key; undefined if it has none. */
    keyFile: string | undefined;
    /** Whether it was sent a signed list of its files. */
    hasList: boolean;
  };
  /** The bytes that may be written. */
  room: number;
  /** A random digest, at which the sample begins. */
  start: string;
}

/** What the thread reports: how many bytes it needs, then how many objects of its sample it has read. */
export type DrillProgress = { needed: number } | { done: number; total: number };

/** What a drill found. */
export type DrillFinding = Omit<RestoreDrill, 'at'>;

/** There is too little room for a drill. */
export class NoRoomError extends Error {
  readonly needed: number;

  constructor(needed: number, why: string) {
    super(`A restore test needs ${megabytes(needed)} on the disk of this archive. ${why} Free some space.`);
    this.name = 'NoRoomError';
    this.needed = needed;
  }

  /** Before anything is restored. */
  static before(needed: number, room: number): NoRoomError {
    const why = `There are ${megabytes(Math.max(0, room))} to spare, beyond what the settings keep free.`;
    return new NoRoomError(needed, why);
  }

  /** While it is restored. */
  static during(needed: number): NoRoomError {
    return new NoRoomError(needed, 'The disk filled up during the test, so it was ended.');
  }
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / MEGABYTE).toLocaleString('en-US')} MB`;
}

/** Returns what an error says of the copy. `needed` is the room that the drill needs. @throws any other error */
export function findingOf(error: unknown, needed: number): DrillFinding {
  if (isNoSpace(error) || errorCode(error) === 'SQLITE_FULL')
    return findingOf(NoRoomError.during(needed), needed);
  const found = (outcome: DrillFinding['outcome'], sentence: string): DrillFinding => ({
    outcome,
    sentence,
    restored: null,
    needed_bytes: null,
  });
  if (error instanceof NoRoomError) return { ...found('no_room', error.message), needed_bytes: error.needed };
  if (error instanceof InvalidCopyError) {
    const advice = error.cause instanceof DumpError ? ' Check the copy: what is damaged is sent again.' : '';
    return found('damaged', `${error.message}${advice}`);
  }
  if (error instanceof CopyError) return found('unreachable', error.message);
  throw error;
}
