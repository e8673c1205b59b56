import { dirname } from 'node:path';
import pLimit from 'p-limit';
import { syncFile, syncFileSystem, syncFolder } from '../store/blobs/durableFile.ts';
import { blobPath } from '../store/blobs/paths.ts';
import { objectPath } from './copyPaths.ts';
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
  const limit = pLimit(target.concurrency);
  const restoreOne = async (row: NamedObject) => {
    signal.throwIfAborted();
    const file = blobPath(folder, row.sha256);
    if (await target.fetch(objectPath(row.sha256), { file, ...row }, signal)) {
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

async function settle(folder: string, files: readonly string[]): Promise<void> {
  if (await syncFileSystem(folder)) return;
  for (const file of files) await syncFile(file);
  const shards = new Set(files.map((file) => dirname(file)));
  const parents = new Set([...shards].map((shard) => dirname(shard)));
  for (const each of [...shards, ...parents]) await syncFolder(each);
  const [anyParent] = parents;
  if (anyParent !== undefined) await syncFolder(dirname(anyParent));
}
