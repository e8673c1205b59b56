import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import pLimit from 'p-limit';
import { retrievalsOfObject } from '../store/sqlite/collection/retrievals.ts';
import { blobRow } from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';
import { metadataPath, objectPath } from './layout.ts';
import { asSourceError } from './targets/readVerified.ts';
import { type CopyTarget, DamagedSourceError } from './targets/target.ts';

/** Up to this size an object is read into memory and sent in one piece. */
const WHOLE_UP_TO_BYTES = 4_194_304;
/** The large objects that are sent at once; each is sent in several parts at once. */
const PARALLEL_LARGE = 2;
/** The retrievals that an object's metadata lists; the records have all of them. */
const MAX_RETRIEVALS = 100;

/** What was sent. */
export interface SentObjects {
  sent: string[];
  bytes: number;
  /** Objects that are damaged on this disk and were not sent. */
  damaged: string[];
}

/**
 * Sends stored objects to a copy, each with its metadata. Each object is hashed while it is read, so that a damaged one
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
    const isLarge = (blobRow(store.read, sha256)?.bytes ?? 0) > WHOLE_UP_TO_BYTES;
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
  if (row.bytes > WHOLE_UP_TO_BYTES)
    await target.put(
      objectPath(sha256),
      { read: () => readObject(blobs, sha256), size: row.bytes, sha256 },
      options,
    );
  else await target.put(objectPath(sha256), { bytes: await readWhole(blobs, sha256) }, options);
  const retrievals = retrievalsOfObject(read, sha256).slice(0, MAX_RETRIEVALS);
  const metadata = Buffer.from(`${JSON.stringify({ ...row, retrievals })}\n`);
  await target.put(metadataPath(sha256), { bytes: metadata }, { type: 'application/json', signal });
  return row.bytes;
}

/** Reads an object from its file or, if it has left this disk, from another copy. The cache is not used. */
async function* readObject(blobs: Store['blobs'], sha256: string): AsyncGenerator<Uint8Array> {
  if (await blobs.away.isAway(sha256)) yield* blobs.away.stream(sha256);
  else yield* blobs.read(sha256);
}

/** @throws like `readVerified` */
async function readWhole(blobs: Store['blobs'], sha256: string): Promise<Buffer> {
  try {
    const isAway = await blobs.away.isAway(sha256);
    // Reading a file at once is several times as fast as a stream.
    const bytes = isAway ? await buffer(blobs.away.stream(sha256)) : await readFile(blobs.fileOf(sha256));
    if (hash('sha256', bytes, 'hex') === sha256) return bytes;
  } catch (cause) {
    throw asSourceError(cause, sha256);
  }
  throw new DamagedSourceError(sha256);
}
