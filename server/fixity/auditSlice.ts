import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import type { DamageProblem } from '../../shared/ledger/fixity.ts';
import { blobPath, databaseFile, isMissing, isUnreadable } from '../store/files.ts';
import { openForReading, type ReadDatabase } from '../store/sqlite/engine/open.ts';
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

/**
 * Re-hashes blobs in the order of their digests, for a few seconds at most. Only reads. Runs in a thread.
 *
 * @param report is called with the number of bytes read
 * @throws Error if the disk cannot be read
 */
export function auditSlice(input: AuditSliceInput, report: (bytes: number) => void): AuditSlice {
  const database = openForReading(databaseFile(input.folder));
  try {
    return new SliceAudit(database, input, report).run();
  } finally {
    database.close();
  }
}

class SliceAudit {
  readonly #database: ReadDatabase;
  readonly #input: AuditSliceInput;
  readonly #report: (bytes: number) => void;
  readonly #buffer = Buffer.allocUnsafe(1_048_576);
  readonly #sleeping = new Int32Array(new SharedArrayBuffer(4));
  readonly #started = performance.now();
  readonly #slice: AuditSlice;
  #read = 0;
  #reported = 0;

  constructor(database: ReadDatabase, input: AuditSliceInput, report: (bytes: number) => void) {
    this.#database = database;
    this.#input = input;
    this.#report = report;
    this.#slice = {
      position: input.after,
      isEnd: false,
      checked: 0,
      elsewhere: 0,
      released: counter(database, 'released_objects'),
      bytes: 0,
      findings: [],
    };
  }

  run(): AuditSlice {
    for (const object of this.#objects()) {
      const isOver =
        this.#slice.bytes + object.bytes > (this.#input.maxBytes ?? Number.POSITIVE_INFINITY) ||
        this.#slice.findings.length >= MAX_FINDINGS ||
        performance.now() - this.#started > SLICE_MS;
      if (isOver) return this.#slice;
      this.#check(object);
    }
    return { ...this.#slice, isEnd: true };
  }

  *#objects(): Generator<{ sha256: string; bytes: number }> {
    for (const sha256 of this.#input.only ?? []) {
      const row = blobRow(this.#database, sha256);
      if (row) yield row;
    }
    if (this.#input.only) return;
    for (let after = this.#input.after; ; ) {
      // Page by page: an open statement would keep the write-ahead log from being checkpointed.
      const rows = blobRowsAfter(this.#database, after, PAGE_ROWS);
      yield* rows;
      const last = rows.at(-1);
      if (!last) return;
      after = last.sha256;
    }
  }

  #check({ sha256, bytes }: { sha256: string; bytes: number }): void {
    const slice = this.#slice;
    let result = this.#hashBlob(sha256);
    if (result.problem === 'missing' && offloadedBytes(this.#database, sha256) !== undefined) {
      // Its bytes are in a copy; the checks of the copy read them back.
      slice.elsewhere += 1;
      slice.position = sha256;
      return;
    }
    // It may have been given up since its row was read.
    if (isReleased(this.#database, sha256) || isAbsent(this.#database, sha256)) return;
    // Read again, because the file may have been replaced by intact bytes while it was read.
    if (result.problem !== null) result = this.#hashBlob(sha256);
    const isKnown = currentDamageOf(this.#database, sha256) !== undefined;
    if (result.problem !== null || isKnown) slice.findings.push({ sha256, bytes, ...result });
    slice.checked += 1;
    slice.bytes += bytes;
    slice.position = sha256;
  }

  #hashBlob(sha256: string): { problem: DamageProblem | null; found: string | null } {
    try {
      const found = this.#hashFile(blobPath(this.#input.folder, sha256));
      return { problem: found === sha256 ? null : 'changed', found };
    } catch (error) {
      if (isMissing(error)) return { problem: 'missing', found: null };
      if (isUnreadable(error)) return { problem: 'unreadable', found: null };
      throw error;
    }
  }

  #hashFile(file: string): string {
    const descriptor = openSync(file, 'r');
    try {
      const hash = createHash('sha256');
      for (;;) {
        const count = readSync(descriptor, this.#buffer, 0, this.#buffer.length, null);
        if (count === 0) return hash.digest('hex');
        hash.update(this.#buffer.subarray(0, count));
        this.#read += count;
        this.#pause();
        if (this.#read - this.#reported >= PROGRESS_INTERVAL_BYTES) {
          this.#reported = this.#read;
          this.#report(this.#read);
        }
      }
    } finally {
      closeSync(descriptor);
    }
  }

  /** Sleeps until reading is back at the permitted rate. */
  #pause(): void {
    if (this.#input.bytesPerSecond === undefined) return;
    const ahead = (this.#read / this.#input.bytesPerSecond) * 1000 - (performance.now() - this.#started);
    if (ahead > 0) Atomics.wait(this.#sleeping, 0, 0, ahead);
  }
}
