import pLimit from 'p-limit';
import { objectFacts } from '../collection/timeline/objects.ts';
import { hasObject } from '../store/sqlite/collection/retrievals.ts';
import { blobBytes, blobRow } from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';
import type { SentFile } from './copyFiles.ts';
import { metadataPath, objectPath } from './copyPaths.ts';
import { type CopyTarget, DamagedSourceError } from './targets/target.ts';

/**
 * Splits a list of objects into batches, so that an interruption costs little. A batch is full when it reaches one of these
 * limits, so a large object is a batch of its own.
 */
export function* inBatches(
  read: Store['read'],
  digests: readonly string[],
  limits: { objects: number; bytes: number },
): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const sha256 of digests) {
    batch.push(sha256);
    bytes += blobBytes(read, sha256) ?? 0;
    if (batch.length < limits.objects && bytes < limits.bytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** An object above this size counts as large. */
const LARGE_ABOVE_BYTES = 4_194_304;
/** The large objects that are sent at once; each may be sent in several parts at once. */
const PARALLEL_LARGE = 2;
/** The retrievals that an object's metadata lists; the records have all of them. */
const MAX_RETRIEVALS = 100;

/** What was sent. */
interface SentObjects {
  sent: string[];
  bytes: number;
  /** Objects that are damaged on this disk and were not sent. */
  damaged: string[];
}

/**
 * Sends stored objects to a copy. Each object is hashed while it is read, so that a damaged one
 * never reaches the copy. Memory is bounded by the target's concurrency.
 *
 * @throws CopyError
 */
export async function sendObjects(
  store: Pick<Store, 'read' | 'blobs'>,
  target: CopyTarget,
  digests: readonly string[],
  { signal, onBytes }: { signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<SentObjects> {
  const small = pLimit(target.concurrency);
  const large = pLimit(PARALLEL_LARGE);
  const result: SentObjects = { sent: [], bytes: 0, damaged: [] };
  const abort = new AbortController();
  const combined = AbortSignal.any([signal, abort.signal]);
  const sendOne = async (sha256: string) => {
    combined.throwIfAborted();
    try {
      const bytes = await sendObject(store, target, sha256, combined);
      result.sent.push(sha256);
      result.bytes += bytes;
      onBytes(bytes);
    } catch (error) {
      if (!(error instanceof DamagedSourceError)) throw error;
      result.damaged.push(sha256);
    }
  };
  const all = digests.map((sha256) => {
    const isLarge = (blobRow(store.read, sha256)?.bytes ?? 0) > LARGE_ABOVE_BYTES;
    return (isLarge ? large : small)(() => sendOne(sha256));
  });
  try {
    await Promise.all(all);
  } catch (error) {
    abort.abort();
    await Promise.allSettled(all);
    throw error;
  }
  return result;
}

async function sendObject(
  { read, blobs }: Pick<Store, 'read' | 'blobs'>,
  target: CopyTarget,
  sha256: string,
  signal: AbortSignal,
): Promise<number> {
  const row = blobRow(read, sha256);
  if (!row) throw new DamagedSourceError(sha256);
  // Archived pages must not run when a web server shows the copy, so no object gets a type of its own.
  const options = { type: 'application/octet-stream', signal };
  const { offloaded } = blobs;
  const sendFrom = (isOffloaded: boolean) => {
    // If it is in another copy, the cache is not used.
    const source = isOffloaded ? { read: () => offloaded.stream(sha256) } : { file: blobs.fileOf(sha256) };
    return target.put(objectPath(sha256), { ...source, size: row.bytes, sha256 }, options);
  };
  const wasOffloaded = await offloaded.isOffloaded(sha256);
  try {
    await sendFrom(wasOffloaded);
  } catch (error) {
    // It may have left this disk, or come back, since then.
    const isOffloaded = await offloaded.isOffloaded(sha256);
    if (!(error instanceof DamagedSourceError) || isOffloaded === wasOffloaded) throw error;
    await sendFrom(isOffloaded);
  }
  return row.bytes;
}

/**
 * Returns what is known of an object that was retrieved, as a node answers it; undefined if it never was. Whether it is
 * intact is not in it: that cannot be said in advance. Of a pack's file, the record of the pack says everything.
 */
export function metadataOf(read: Store['read'], sha256: string): Omit<SentFile, 'sha256'> | undefined {
  if (!hasObject(read, sha256)) return undefined;
  const facts = objectFacts(read, sha256);
  const retrievals = facts.retrievals.slice(0, MAX_RETRIEVALS);
  const bytes = Buffer.from(`${JSON.stringify({ ...facts, retrievals })}\n`);
  return { path: metadataPath(sha256), payload: { bytes }, type: 'application/json' };
}
