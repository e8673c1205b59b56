import { join } from 'node:path';
import { systemClock } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import { countUnreadable } from '../../findings/sealed.ts';
import { openArchive } from '../../ledger/openArchive.ts';
import { rootAt } from '../../ledger/tree.ts';
import { databaseFile } from '../../store/files.ts';
import { openForReading, type ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes, blobRowsAfter, counter, currentDamageOf } from '../../store/sqlite/node/blobs.ts';
import { lastEntry } from '../../store/sqlite/node/ledger.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { assertOwnedByThisNode } from '../claim.ts';
import { KEY, RECORDS, STATE } from '../copyPaths.ts';
import { readIdentity } from '../keys/copyKeys.ts';
import { type BlobRow, restoreCopy } from '../restore.ts';
import { coverageSentence, type SignedCoverage } from '../signedList.ts';
import { type AroundPlace, openTarget } from '../targets/openTarget.ts';
import { CopyError, type CopyTarget, InvalidCopyError } from '../targets/target.ts';
import {
  type DrillFinding,
  type DrillInput,
  type DrillProgress,
  findingOf,
  NoRoomError,
} from './restoreDrill.ts';

/** The most objects of a sample, and their most bytes. */
const MAX_OBJECTS = 1_000;
const MAX_BYTES = 1_000_000_000;
/** There must be room for a sample of this size, or for all objects. */
const MIN_BYTES = 100_000_000;
const PAGE_ROWS = 1_000;
/** The records lie on the disk as files, then in a database with its indexes and its log. */
const ROOM_FOR_EACH_BYTE = 4;
const ROOM_FOR_ANY_ARCHIVE = 16_000_000;
const PROGRESS_EVERY_MS = 200;

interface DrillOptions {
  report: (progress: DrillProgress) => void;
  around?: AroundPlace | undefined;
}

/** Restores a copy, and compares what was restored with its archive. Usually in a thread of its own. */
export async function runDrill(input: DrillInput, options: DrillOptions): Promise<DrillFinding> {
  const archive = openForReading(databaseFile(input.archive));
  const drill = new Drill(input, archive, options.report);
  try {
    const target = await openTarget(input.address, { around: options.around });
    try {
      return await drill.run(target);
    } finally {
      await target.close();
    }
  } catch (error) {
    return findingOf(error, drill.needed);
  } finally {
    archive.close();
  }
}

class Drill {
  readonly #input: DrillInput;
  /** The archive with which the copy is compared. */
  readonly #archive: ReadDatabase;
  readonly #report: DrillOptions['report'];
  #needed = 0;

  constructor(input: DrillInput, archive: ReadDatabase, report: DrillOptions['report']) {
    this.#input = input;
    this.#archive = archive;
    this.#report = report;
  }

  /** The bytes that it needs, once they are known. */
  get needed(): number {
    return this.#needed;
  }

  async run(target: CopyTarget): Promise<DrillFinding> {
    const known = {
      store: { read: this.#archive },
      checkpoints: { key: { verifierKey: this.#input.verifierKey } },
    };
    const checkpoint = await assertOwnedByThisNode(known, this.#input.copy, target);
    if (!checkpoint) throw new CopyError(`The copy in ${target.name} is not complete yet. Sync it first.`);
    await this.#requireKeyFile(target);
    // The key must be in the copy, because this disk may be lost. Its passphrase is not kept, so the same key here is used.
    const identity = this.#input.copy.lacksKey ? undefined : await readIdentity(this.#input.archive);
    const room = await this.#roomForObjects(target);
    const folder = join(this.#input.folder, 'archive');
    const begun = performance.now();
    const objectsAt = { begun, ended: begun };
    let reportedAt = 0;
    const result = await restoreCopy({
      target,
      folder,
      clock: systemClock,
      identity,
      signal: new AbortController().signal,
      sample: (read) => {
        const chosen = this.#chooseSample(read, room);
        objectsAt.begun = objectsAt.ended = performance.now();
        return chosen;
      },
      progress: (done, total) => {
        objectsAt.ended = performance.now();
        if (done < total && objectsAt.ended - reportedAt < PROGRESS_EVERY_MS) return;
        reportedAt = objectsAt.ended;
        this.#report({ done, total });
      },
    });
    const all = await this.#compare(folder, target.name);
    const objectSeconds = (objectsAt.ended - objectsAt.begun) / 1_000;
    const recordSeconds = (performance.now() - begun) / 1_000 - objectSeconds;
    const { head, objects, bytes, missing, withheld, sealed, list, uncovered } = result;
    const lines = Object.values(head.counts).reduce((sum, counted) => sum + counted, 0);
    const restored = {
      entries: head.checkpoint.size,
      objects,
      bytes,
      ...all,
      records_per_second: rate(lines, recordSeconds),
      bytes_per_second: rate(bytes, objectSeconds),
      full_restore_seconds: Math.ceil(
        recordSeconds + objectSeconds * timesTheSample(all, { objects, bytes }),
      ),
    };
    const verdict = this.#verdictOn(target.name, {
      missing,
      objects,
      withheld,
      sealed,
      list,
      uncovered,
    });
    return { ...verdict, restored, needed_bytes: null };
  }

  /** @throws InvalidCopyError if the file of the key in the copy is not the one that was put there */
  async #requireKeyFile(target: CopyTarget): Promise<void> {
    const { keyFile } = this.#input.copy;
    if (keyFile === undefined || (await target.digestOf(KEY))?.sha256 === keyFile) return;
    throw new InvalidCopyError(
      `The key in ${target.name} is missing or damaged. Store it there again (Settings → Copies → Key).`,
    );
  }

  /** Returns the bytes that the objects may have. @throws NoRoomError if there is too little room for a drill */
  async #roomForObjects(target: CopyTarget): Promise<number> {
    let records = 0;
    for (const folder of [RECORDS, STATE])
      for await (const { bytes } of target.list(folder)) records += bytes;
    const forRecords = records * ROOM_FOR_EACH_BYTE + ROOM_FOR_ANY_ARCHIVE;
    this.#needed = forRecords + Math.min(MIN_BYTES, counter(this.#archive, 'blob_bytes'));
    this.#report({ needed: this.#needed });
    if (this.#needed > this.#input.room) throw NoRoomError.before(this.#needed, this.#input.room);
    return this.#input.room - forRecords;
  }

  /**
   * Chooses objects for which there is room: those that follow a random digest, which are as good as random ones. What is recorded as damaged cannot be expected, and what was given up since must not be restored.
   *
   * @throws NoRoomError if there is none, not even for the smallest
   */
  #chooseSample(read: ReadDatabase, room: number): BlobRow[] {
    const chosen = new Map<string, BlobRow>();
    let left = Math.min(MAX_BYTES, room);
    let smallest: BlobRow | undefined;
    const add = (row: BlobRow) => {
      if (currentDamageOf(read, row.sha256) !== undefined || isReleased(this.#archive, row.sha256)) return;
      if (smallest === undefined || row.bytes < smallest.bytes) smallest = row;
      if (row.bytes > left || chosen.has(row.sha256)) return;
      chosen.set(row.sha256, row);
      left -= row.bytes;
    };
    for (const row of this.#blobsFrom(read, this.#input.start)) {
      if (chosen.size >= MAX_OBJECTS) break;
      add(row);
    }
    if (chosen.size > 0 || smallest === undefined) return [...chosen.values()];
    if (smallest.bytes > room) throw NoRoomError.before(this.#needed + smallest.bytes, this.#input.room);
    return [smallest];
  }

  /** Yields all blobs in the order of their digests: those after `start`, then those before. */
  *#blobsFrom(read: ReadDatabase, start: string): Generator<BlobRow> {
    yield* blobsAfter(read, start);
    for (const row of start === '' ? [] : blobsAfter(read, '')) {
      if (row.sha256 > start) return;
      yield row;
    }
  }

  /**
   * Opens the restored archive as a node does, and compares its ledger and its objects with those of this one.
   *
   * @throws InvalidCopyError
   */
  async #compare(folder: string, name: string): Promise<{ all_objects: number; all_bytes: number }> {
    const { store } = await openArchive({ folder, clock: systemClock, warn: () => {} });
    try {
      const { read } = store;
      const size = lastEntry(read)?.seq ?? 0;
      if (!rootAt(read, size).equals(rootAt(this.#archive, size)))
        throw new InvalidCopyError(`The archive restored from ${name} has another ledger than this one.`);
      const all = { all_objects: 0, all_bytes: 0 };
      for (const { sha256, bytes } of blobsAfter(read, '')) {
        if (blobBytes(this.#archive, sha256) !== bytes)
          throw new InvalidCopyError(`The archive restored from ${name} has an object that this one lacks.`);
        all.all_objects += 1;
        all.all_bytes += bytes;
      }
      return all;
    } finally {
      await store.close();
    }
  }

  #verdictOn(
    name: string,
    { missing, objects, withheld, sealed, ...coverage }: Seen,
  ): Pick<DrillFinding, 'outcome' | 'sentence'> {
    // What this archive has given up or found lost since is known.
    const lost = missing.filter(
      (sha256) => !isReleased(this.#archive, sha256) && currentDamageOf(this.#archive, sha256) === undefined,
    );
    if (lost.length > 0) {
      const these = `${lost.length} of ${countOf(objects + missing.length, 'tested object')}`;
      const are = lost.length === 1 ? 'is' : 'are';
      const sentence = `${these} ${are} missing or damaged in ${name}, the first of them ${lost[0]}. Check the copy: what is damaged is sent again.`;
      return { outcome: 'damaged', sentence };
    }
    const uncovered = coverageSentence(coverage, { name });
    // An earlier version, or an archive without its private key, sent no list.
    const wasListed = coverage.list !== 'missing' || this.#input.copy.hasList;
    if (uncovered !== undefined && wasListed)
      return { outcome: 'damaged', sentence: `${uncovered} Check the copy: what is damaged is sent again.` };
    // What cannot be read here either is no fault of the copy.
    if (sealed > countUnreadable(this.#archive)) {
      const these = `${countOf(sealed, 'sealed finding is', 'sealed findings are')} encrypted in ${name}`;
      const why = this.#input.copy.lacksKey
        ? 'and the key is only on this disk. Store it in the copy (Settings → Copies → Key).'
        : 'and could not be decrypted with withheld.key of this data folder. Put the file back from a backup.';
      return { outcome: 'key_missing', sentence: `${these}, ${why}` };
    }
    const sentences = [`The archive can be restored from ${name}.`];
    if (withheld > 0)
      sentences[0] = `The archive can be restored from ${name}, without ${countOf(withheld, 'withheld object')}, because it has pages.`;
    if (uncovered !== undefined) sentences.push(uncovered, 'Sync the copy.');
    return { outcome: 'restored', sentence: sentences.join(' ') };
  }
}

interface Seen extends SignedCoverage {
  missing: readonly string[];
  objects: number;
  /** Objects that are not in the copy, because they are withheld. */
  withheld: number;
  /** Sealed findings that could not be decrypted. */
  sealed: number;
}

function* blobsAfter(read: ReadDatabase, start: string): Generator<BlobRow> {
  let after: string | undefined = start;
  while (after !== undefined) {
    const rows: BlobRow[] = blobRowsAfter(read, after, PAGE_ROWS);
    yield* rows;
    after = rows.at(-1)?.sha256;
  }
}

function rate(amount: number, seconds: number): number {
  return Math.round(amount / Math.max(seconds, 0.001));
}

/** How many times as long as the sample all objects take: by their number or by their bytes, whichever is more. */
function timesTheSample(
  all: { all_objects: number; all_bytes: number },
  { objects, bytes }: { objects: number; bytes: number },
): number {
  if (objects === 0) return 0;
  return Math.max(1, all.all_objects / objects, all.all_bytes / Math.max(1, bytes));
}
