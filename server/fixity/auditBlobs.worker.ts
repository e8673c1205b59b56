import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { DamageProblem } from '../../shared/ledger/fixity.ts';
import { answerParent } from '../runtime/threads.ts';
import { blobPath, databaseFile, isMissing, isUnreadable } from '../store/files.ts';
import { openForReading } from '../store/sqlite/engine/open.ts';
import { blobRow, blobRowsAfter, counter, currentDamageOf } from '../store/sqlite/node/blobs.ts';
import { offloadedBytes } from '../store/sqlite/node/offloadedObjects.ts';
import { isAbsent } from '../store/sqlite/node/peers.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { AuditSlice, AuditSliceInput } from './audit.ts';

/** A slice ends after this time, so that its findings are recorded soon. */
const SLICE_MS = 5_000;
/** A slice ends after this many findings, so that memory stays flat if everything is missing. */
const MAX_FINDINGS = 1_000;
const PAGE_ROWS = 1_000;
const PROGRESS_INTERVAL_BYTES = 16_777_216;

const input = workerData as AuditSliceInput;
const database = openForReading(databaseFile(input.folder));
const buffer = Buffer.allocUnsafe(1_048_576);
const sleeping = new Int32Array(new SharedArrayBuffer(4));
const started = performance.now();
const slice: AuditSlice = {
  position: input.after,
  isEnd: false,
  checked: 0,
  elsewhere: 0,
  released: counter(database, 'released_objects'),
  bytes: 0,
  findings: [],
};
let read = 0;
let reported = 0;

function hashFile(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const hash = createHash('sha256');
    for (;;) {
      const count = readSync(descriptor, buffer, 0, buffer.length, null);
      if (count === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, count));
      read += count;
      pause();
      if (read - reported >= PROGRESS_INTERVAL_BYTES) reportProgress();
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Sleeps until reading is back at the permitted rate. */
function pause(): void {
  if (input.bytesPerSecond === undefined) return;
  const ahead = (read / input.bytesPerSecond) * 1000 - (performance.now() - started);
  if (ahead > 0) Atomics.wait(sleeping, 0, 0, ahead);
}

function reportProgress(): void {
  reported = read;
  parentPort?.postMessage({ progress: read });
}

function hashBlob(sha256: string): { problem: DamageProblem | null; found: string | null } {
  try {
    const found = hashFile(blobPath(input.folder, sha256));
    return { problem: found === sha256 ? null : 'changed', found };
  } catch (error) {
    if (isMissing(error)) return { problem: 'missing', found: null };
    if (isUnreadable(error)) return { problem: 'unreadable', found: null };
    throw error;
  }
}

function check({ sha256, bytes }: { sha256: string; bytes: number }): void {
  let result = hashBlob(sha256);
  if (result.problem === 'missing' && offloadedBytes(database, sha256) !== undefined) {
    // Its bytes are in a copy; the checks of the copy read them back.
    slice.elsewhere += 1;
    slice.position = sha256;
    return;
  }
  // It may have been given up since its row was read.
  if (isReleased(database, sha256) || isAbsent(database, sha256)) return;
  // Read again, because the file may have been replaced by intact bytes while it was read.
  if (result.problem !== null) result = hashBlob(sha256);
  const isKnown = currentDamageOf(database, sha256) !== undefined;
  if (result.problem !== null || isKnown) slice.findings.push({ sha256, bytes, ...result });
  slice.checked += 1;
  slice.bytes += bytes;
  slice.position = sha256;
}

function* objects(): Generator<{ sha256: string; bytes: number }> {
  for (const sha256 of input.only ?? []) {
    const row = blobRow(database, sha256);
    if (row) yield row;
  }
  if (input.only) return;
  for (let after = input.after; ; ) {
    // Page by page: an open statement would keep the write-ahead log from being checkpointed.
    const rows = blobRowsAfter(database, after, PAGE_ROWS);
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.sha256;
  }
}

function run(): AuditSlice {
  for (const object of objects()) {
    const isOver =
      slice.bytes + object.bytes > (input.maxBytes ?? Number.POSITIVE_INFINITY) ||
      slice.findings.length >= MAX_FINDINGS ||
      performance.now() - started > SLICE_MS;
    if (isOver) return slice;
    check(object);
  }
  return { ...slice, isEnd: true };
}

await answerParent(run);
database.close();
