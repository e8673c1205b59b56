import { createHash, hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import pLimit from 'p-limit';
import { syncFile, syncFileSystem, syncFolder } from '../store/blobs/durableFile.ts';
import { blobPath } from '../store/blobs/paths.ts';
import { objectPath } from './layout.ts';
import type { CopyTarget } from './targets/target.ts';

export interface RestoredObjects {
  objects: number;
  bytes: number;
  /** Objects that the copy does not hold intact. */
  missing: string[];
}

interface NamedObject {
  sha256: string;
  bytes: number;
}

/** Up to this size, an object is held in memory. */
const HELD_BYTES = 4_194_304;
const AT_ONCE = 16;

/**
 * Reads objects from a copy into a data folder that has no name yet, each verified. All of them
 * are on stable storage when this resolves. The folder gets its name after that, so a crash leaves no partial archive.
 *
 * @throws CopyError; the errors of the disk
 */
export async function restoreObjects(
  target: CopyTarget,
  folder: string,
  rows: readonly NamedObject[],
  { signal, progress }: { signal: AbortSignal; progress: (done: number, total: number) => void },
): Promise<RestoredObjects> {
  const result: RestoredObjects = { objects: 0, bytes: 0, missing: [] };
  const files: string[] = [];
  const limit = pLimit(AT_ONCE);
  const restoreOne = async (row: NamedObject) => {
    signal.throwIfAborted();
    const file = blobPath(folder, row.sha256);
    const stream = await target.read(objectPath(row.sha256), signal);
    if (stream && (await write(file, row, stream))) {
      files.push(file);
      result.objects += 1;
      result.bytes += row.bytes;
    } else result.missing.push(row.sha256);
    progress(result.objects + result.missing.length, rows.length);
  };
  try {
    await Promise.all(rows.map((row) => limit(() => restoreOne(row))));
  } catch (error) {
    limit.clearQueue();
    throw error;
  }
  await settle(folder, files);
  result.missing.sort();
  return result;
}

/** Returns false, and leaves no file, if the bytes do not have the digest. */
async function write(file: string, { sha256, bytes }: NamedObject, stream: Readable): Promise<boolean> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  if (bytes <= HELD_BYTES) {
    const content = await buffer(upTo(bytes, stream));
    if (hash('sha256', content, 'hex') !== sha256) return false;
    await writeFile(file, content, { mode: 0o600 });
    return true;
  }
  const digest = createHash('sha256');
  async function* hashed() {
    for await (const chunk of upTo(bytes, stream)) {
      digest.update(chunk);
      yield chunk;
    }
  }
  await pipeline(Readable.from(hashed(), { objectMode: false }), createWriteStream(file, { mode: 0o600 }));
  if (digest.digest('hex') === sha256) return true;
  await rm(file);
  return false;
}

/** Ends a stream soon after the number of bytes that it should have, so that a wrong one fills neither memory nor disk. */
async function* upTo(bytes: number, stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of stream) {
    yield chunk;
    read += chunk.length;
    if (read > bytes) return;
  }
}

async function settle(folder: string, files: readonly string[]): Promise<void> {
  if (await syncFileSystem(folder)) return;
  for (const file of files) await syncFile(file);
  const shards = new Set(files.map((file) => dirname(file)));
  const parents = new Set([...shards].map((shard) => dirname(shard)));
  for (const each of [...shards, ...parents]) await syncFolder(each);
  const [anyParent] = parents;
  if (anyParent !== undefined) await syncFolder(dirname(anyParent));
}
