import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { BlobJournal } from './journal.ts';
import { type Mark, writeMarker } from './markers.ts';
import { ShardFolders } from './shardFolders.ts';
import { type Keeping, writeBlobBatch } from './writeBlobBatch.ts';

/** Bytes to be kept: in their file at once, or, small ones, by way of the journal, or there as long as it is short. */
export type RoundKeeping =
  | Keeping
  | (Keeping & { bytes: Uint8Array; by: 'journal' | 'either'; sha256: string });

export interface KeeperData {
  dataFolder: string;
}

/** A round of blobs; folders that blobs will come to; or to settle what is in the journal, and to end. */
export type KeeperTask = RoundKeeping[] | { shards: string[] } | 'end';

/** What became of each blob of a round: why it is not kept, or null, and how it was marked. */
export type RoundAnswer = {
  failure: { message: string; code: string | undefined } | null;
  mark: Mark | null;
}[];

const SETTLE_EVERY_MS = 10_000;

const { dataFolder } = workerData as KeeperData;
const folders = new ShardFolders();
const marks = new WeakMap<Keeping, Mark>();
const journal = new BlobJournal(dataFolder, folders, (blob) => {
  if (!blob.isShared) mark(blob, 'found');
});
const settling = setInterval(() => void settle(), SETTLE_EVERY_MS);

parentPort?.on('message', (task: KeeperTask) => {
  if (task === 'end') void end();
  else if ('shards' in task) prepare(task.shards);
  else void keep(task);
});

/** Makes folders ahead. One that cannot be made is asked for again by the blob that needs it, which is told why. */
function prepare(shards: readonly string[]): void {
  for (const shard of shards) {
    try {
      folders.make(shard);
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
    }
  }
}

function mark(keeping: Keeping, as: Mark): void {
  writeMarker(dataFolder, as, basename(keeping.target));
  marks.set(keeping, as);
}

async function keep(round: readonly RoundKeeping[]): Promise<void> {
  const isShort = journal.isShort;
  const goesByJournal = (keeping: RoundKeeping) => 'by' in keeping && (keeping.by === 'journal' || isShort);
  const journaled = round.filter((keeping) => 'by' in keeping).filter(goesByJournal);
  const others = round.filter((keeping) => !goesByJournal(keeping));
  const [ofJournal, ofOthers] = await Promise.all([
    journal.keep(journaled).catch((error: Error) => journaled.map(() => error)),
    writeBlobBatch(others, folders, undefined, (keeping) =>
      mark(keeping, !keeping.isShared && existsSync(keeping.target) ? 'found' : 'keeping'),
    ),
  ]);
  const answer: RoundAnswer = round.map((keeping) => {
    const failure = (goesByJournal(keeping) ? ofJournal : ofOthers).shift();
    return {
      failure: failure ? { message: failure.message, code: codeOf(failure) } : null,
      mark: marks.get(keeping) ?? null,
    };
  });
  parentPort?.postMessage(answer);
}

async function end(): Promise<void> {
  clearInterval(settling);
  await settle(0);
  parentPort?.close();
}

/** What cannot be settled now stays in the journal: it is tried again, at the latest when the node starts anew. */
async function settle(olderThanMs?: number): Promise<void> {
  try {
    await journal.settle(olderThanMs);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
