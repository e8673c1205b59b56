import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { BlobJournal } from './journal.ts';
import { type Mark, writeMarker } from './markers.ts';
import { ShardFolders } from './shardFolders.ts';
import { type BlobWrite, writeBlobBatch } from './writeBlobBatch.ts';

/** A blob to write: to its own file, to the journal, or to the journal only while that is short. */
export type BlobWriteRequest =
  | BlobWrite
  | (BlobWrite & { bytes: Uint8Array; by: 'journal' | 'either'; sha256: string });

export interface WriterData {
  dataFolder: string;
}

/** A batch of blobs to write, folders to create ahead, or the order to flush the journal and end. */
export type WorkerTask = BlobWriteRequest[] | { shards: string[] } | 'end';

/** For each blob of a batch: why it was not written, or null, and the marker that was written for it. */
export type BatchResult = {
  failure: { message: string; code: string | undefined } | null;
  mark: Mark | null;
}[];

const FLUSH_EVERY_MS = 10_000;

const { dataFolder } = workerData as WriterData;
const folders = new ShardFolders();
const marks = new WeakMap<BlobWrite, Mark>();
const journal = new BlobJournal(dataFolder, folders, (blob) => {
  if (!blob.isShared) mark(blob, 'found');
});
const flushing = setInterval(() => void flush(), FLUSH_EVERY_MS);

parentPort?.on('message', (task: WorkerTask) => {
  if (task === 'end') void end();
  else if ('shards' in task) prepare(task.shards);
  else void writeAll(task);
});

/** Creates folders ahead. An error is ignored here: the blob that needs the folder tries again and reports it. */
function prepare(shards: readonly string[]): void {
  for (const shard of shards) {
    try {
      folders.make(shard);
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
    }
  }
}

function mark(write: BlobWrite, as: Mark): void {
  writeMarker(dataFolder, as, basename(write.target));
  marks.set(write, as);
}

async function writeAll(batch: readonly BlobWriteRequest[]): Promise<void> {
  const { hasCapacity } = journal;
  const usesJournal = (write: BlobWriteRequest) => 'by' in write && (write.by === 'journal' || hasCapacity);
  const journaled = batch.filter((write) => 'by' in write).filter(usesJournal);
  const others = batch.filter((write) => !usesJournal(write));
  const [journalErrors, otherErrors] = await Promise.all([
    journal.append(journaled).catch((error: Error) => journaled.map(() => error)),
    writeBlobBatch(others, folders, undefined, (write) =>
      mark(write, !write.isShared && existsSync(write.target) ? 'found' : 'keeping'),
    ),
  ]);
  const results: BatchResult = batch.map((write) => {
    const failure = (usesJournal(write) ? journalErrors : otherErrors).shift();
    return {
      failure: failure ? { message: failure.message, code: errorCode(failure) } : null,
      mark: marks.get(write) ?? null,
    };
  });
  parentPort?.postMessage(results);
}

async function end(): Promise<void> {
  clearInterval(flushing);
  await flush(0);
  parentPort?.close();
}

/** Flushes the journal. What cannot be flushed stays in it and is tried again, at the latest at the next start. */
async function flush(olderThanMs?: number): Promise<void> {
  try {
    await journal.flush(olderThanMs);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}
