import { rm } from 'node:fs/promises';
import pLimit from 'p-limit';
import type { OffloadResult } from '../../../shared/node/copy.ts';
import { Problem } from '../../../shared/problems.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { JobRun } from '../../runtime/jobs.ts';
import { setObjectUnchecked } from '../../store/sqlite/node/copies.ts';
import {
  type Candidate,
  forgetOffloaded,
  insertOffloaded,
  notRemoved,
  type OffloadRule,
  offloadCandidates,
  setRemoved,
} from '../../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../../store/store.ts';
import { objectPath } from '../copyPaths.ts';
import type { CopyTarget } from '../targets/target.ts';
import { hashPieces, type PieceDigests } from './copyReader.ts';

export interface OffloadRun extends JobRun {
  rule: OffloadRule;
  /** No object leaves while the objects on this disk take no more than this. */
  keepBytes: number;
  /** Opens a copy to be read, once. @throws CopyError */
  open: (copy: string) => Promise<CopyTarget>;
}

const PAGE = 1_000;
/** The objects that are recorded in one transaction. */
const BATCH = 64;

/**
 * Offloads objects. Each is read back from a copy and hashed. Then it is recorded as offloaded, and only once
 * that is on stable storage its file is deleted. After a crash between the two, the file is deleted by the next run, after
 * the copy was read back again.
 *
 * @throws CopyError; the signal's reason. What left until then is recorded.
 */
export async function offloadObjects(store: Store, run: OffloadRun): Promise<OffloadResult> {
  const result: OffloadResult = { objects: 0, bytes: 0, refused: 0 };
  await removeLeftFiles(store, run);
  for (let after = ''; ; ) {
    const { last, candidates } = offloadCandidates(store.read, run.rule, after, PAGE);
    if (last === undefined) return result;
    for (let first = 0; first < candidates.length; first += BATCH) {
      run.signal.throwIfAborted();
      const excess = store.heldBytes() - run.keepBytes;
      const batch = fitting(candidates.slice(first, first + BATCH), excess);
      if (batch.length === 0) return result;
      await offloadBatch(store, run, batch, result);
      run.progress(result.objects, null);
    }
    after = last;
    await yieldToEventLoop();
  }
}

/** Returns as many objects as must leave for this number of bytes. */
function fitting(candidates: readonly Candidate[], excess: number): Candidate[] {
  let left = excess;
  return candidates.filter(({ bytes }) => {
    if (left <= 0) return false;
    left -= bytes;
    return true;
  });
}

async function offloadBatch(
  store: Store,
  run: OffloadRun,
  batch: readonly Candidate[],
  result: OffloadResult,
): Promise<void> {
  const read = await readBack(run, batch);
  const wrong = batch.filter(({ sha256 }, index) => read[index]?.sha256 !== sha256);
  const at = store.instant();
  const left = await store.write((database) => {
    for (const { sha256, copy } of wrong) setObjectUnchecked(database, copy, sha256);
    return batch.filter(({ sha256, copy }, index) => {
      const digests = read[index];
      return digests?.sha256 === sha256 && insertOffloaded(database, copy, { ...digests, at });
    });
  });
  await deleteFiles(
    store,
    left.map(({ sha256 }) => sha256),
  );
  result.refused += wrong.length;
  result.objects += left.length;
  result.bytes += left.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function readBack(
  { open, signal }: OffloadRun,
  batch: readonly Candidate[],
): Promise<(PieceDigests | undefined)[]> {
  const limit = pLimit(READS_AT_ONCE);
  const readOne = async ({ sha256, copy }: Candidate) => {
    signal.throwIfAborted();
    const stream = await (await open(copy)).read(objectPath(sha256), signal);
    return stream && hashPieces(stream);
  };
  try {
    return await Promise.all(batch.map((candidate) => limit(() => readOne(candidate))));
  } catch (error) {
    limit.clearQueue();
    throw error;
  }
}

const READS_AT_ONCE = 8;

/** Deletes the files of objects that are recorded as offloaded. */
async function deleteFiles(store: Store, digests: readonly string[]): Promise<void> {
  const { offloaded } = store.blobs;
  for (const sha256 of digests)
    await offloaded.exclusively(sha256, async () => {
      // An upload may have brought it back meanwhile.
      if (offloaded.bytesOf(sha256) !== undefined) await rm(store.blobs.fileOf(sha256), { force: true });
    });
  if (digests.length > 0) await store.write((database) => setRemoved(database, digests));
}

/** Deletes files that an interrupted run left, if the copy still holds the object; otherwise it stays here. */
async function removeLeftFiles(store: Store, { signal }: OffloadRun): Promise<void> {
  for (let left = notRemoved(store.read, BATCH); left.length > 0; left = notRemoved(store.read, BATCH)) {
    for (const sha256 of left) {
      signal.throwIfAborted();
      if (await isElsewhere(store, sha256)) await deleteFiles(store, [sha256]);
      else await stay(store, sha256);
    }
  }
}

/** @throws Problem `copy_unreachable`; the file then stays */
async function isElsewhere({ blobs }: Store, sha256: string): Promise<boolean> {
  try {
    return (await hashPieces(blobs.offloaded.stream(sha256))).sha256 === sha256;
  } catch (error) {
    if (error instanceof Problem && error.code === 'blob_damaged') return false;
    throw error;
  }
}

async function stay(store: Store, sha256: string): Promise<void> {
  const { offloaded } = store.blobs;
  await offloaded.exclusively(sha256, async () => {
    const isOffloaded = await offloaded.isOffloaded(sha256);
    await store.write((database) =>
      isOffloaded ? setRemoved(database, [sha256]) : forgetOffloaded(database, sha256),
    );
  });
}
