import { createHash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { objectsOf, type RecordedRetrieval } from '../../shared/collection/retrieval.ts';
import {
  DUMP_KINDS,
  dumpLines,
  dumpLinesBetween,
  dumpLinesOfEntry,
  recordingEntries,
} from '../dump/kinds/kinds.ts';
import { dumpHeader } from '../dump/restoreDump.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { databaseFile, temporaryFolder } from '../store/files.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import { lastEntry, proofsState } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import type { CopyServices } from './claim.ts';
import type { Payload } from './targets/target.ts';

/** A file of records as a copy holds it: in memory, or in a file if it is large. */
interface CopiedRecords {
  payload: Payload;
  sha256: string;
  /** Deletes the file, if there is one. */
  discard: () => Promise<void>;
}

/** The state that no ledger entry records, as of the newest entry at that time. */
export interface CopiedState extends CopiedRecords {
  size: number;
  /** The signed checkpoint. */
  note: string;
  /** The timestamps and cosignatures until then; see `proofsState`. */
  proofs: string;
}

/** Records up to this size are held in memory. A batch of retrievals can have gigabytes. */
const HELD_BYTES = 4_194_304;
/** The objects that are named to the caller at once. */
const OBJECTS_AT_ONCE = 1_000;
/** After so many bytes, the event loop gets a turn. Each line counts as some bytes more. */
const TURN_BYTES = 1_048_576;
const LINE_COST = 2_048;

/**
 * Makes the file of records of the entries `first` to `last`.
 *
 * @param onObjects is called with the digests of the objects that the records name, before the result is returned. A digest
 * can be named more than once.
 */
export async function readRecords(
  store: Pick<Store, 'read' | 'folder' | 'randomHex'>,
  { first, last }: { first: number; last: number },
  onObjects: (digests: string[]) => Promise<void>,
): Promise<CopiedRecords> {
  const spool = Spool.in(store);
  try {
    let objects = new Set<string>();
    for (const { line, objects: named } of recordLines(store.read, first, last)) {
      await spool.append(line);
      for (const sha256 of named) objects.add(sha256);
      if (objects.size < OBJECTS_AT_ONCE) continue;
      await onObjects([...objects]);
      objects = new Set();
    }
    await onObjects([...objects]);
    return await spool.finish();
  } catch (error) {
    await spool.discard();
    throw error;
  }
}

/** Reads what can change, and signs the checkpoint, from one snapshot. @throws the errors of `Checkpoints.sign` */
export async function readState({ store, checkpoints }: CopyServices): Promise<CopiedState> {
  const snapshot = await openSnapshot(databaseFile(store.folder));
  const spool = Spool.in(store);
  try {
    const size = lastEntry(snapshot)?.seq ?? 0;
    const header = await dumpHeader(snapshot, store.clock, checkpoints);
    const { checkpoint: note } = JSON.parse(header) as { checkpoint: string };
    await spool.append(header);
    for (const kind of STATE_KINDS) for (const line of dumpLines(snapshot, kind)) await spool.append(line);
    const proofs = proofsState(snapshot);
    snapshot.exec('COMMIT');
    return { ...(await spool.finish()), size, note, proofs };
  } catch (error) {
    await spool.discard();
    throw error;
  } finally {
    snapshot.close();
  }
}

/** The kinds of lines that no ledger entry records. They can change, so they are in the file of the state. */
const STATE_KINDS = [
  'source',
  'round',
  'event_noise',
  'case',
  'object_absent',
  'joined_file',
  'timestamp',
  'cosignature',
  'witnessed_log',
  'witness_refusal',
] as const;

/** The kinds of lines that ledger entries record, except entries and retrievals, which have numbers of their own. */
const RECORD_KINDS = DUMP_KINDS.filter(
  (kind) => kind !== 'entry' && kind !== 'retrieval' && !(STATE_KINDS as readonly string[]).includes(kind),
);

/** A line of a file of records, and what it names. */
interface RecordLine {
  line: string;
  /** The digests of the stored objects that the record names. */
  objects: string[];
}

/**
 * Yields the lines of the ledger entries `first` to `last`: each entry, then what it records. After the line of a batch
 * come the retrievals that it covers. The lines are those of a dump. Each is read when its turn comes, because a line can
 * have megabytes, and no query stays open in between, because it would keep the connection at an old state.
 */
export function* recordLines(database: ReadDatabase, first: number, last: number): Generator<RecordLine> {
  const kindsOf = new Map<number, string[]>();
  for (const kind of RECORD_KINDS)
    for (const entry of new Set(recordingEntries(database, kind, first, last)))
      kindsOf.set(entry, [...(kindsOf.get(entry) ?? []), kind]);
  for (let entry = first; entry <= last; entry += 1) {
    for (const line of dumpLinesOfEntry(database, 'entry', entry)) yield { line, objects: [] };
    // A mirrored pack has two: the pack, and its provenance.
    for (const kind of kindsOf.get(entry) ?? [])
      for (const line of dumpLinesOfEntry(database, kind, entry)) {
        yield { line, objects: kind === 'pack' ? filesOf(line) : [] };
        if (kind === 'retrieval_batch') yield* retrievalLines(database, line);
      }
  }
}

function filesOf(pack: string): string[] {
  const { record } = JSON.parse(pack) as { record: { files: { sha256: string }[] } };
  return record.files.map(({ sha256 }) => sha256);
}

/** The number of retrievals read at once. */
const RETRIEVALS_AT_ONCE = 100;

function* retrievalLines(database: ReadDatabase, batch: string): Generator<RecordLine> {
  const covered = JSON.parse(batch) as { first: number; last: number };
  for (let first = covered.first; first <= covered.last; first += RETRIEVALS_AT_ONCE) {
    const last = Math.min(covered.last, first + RETRIEVALS_AT_ONCE - 1);
    const retrievals = [...dumpLinesBetween(database, 'retrieval', first, last)];
    for (const line of retrievals) {
      const retrieval = JSON.parse(line) as RecordedRetrieval;
      yield { line, objects: objectsOf(retrieval) };
    }
  }
}

/** Lines that are hashed and, from a size on, written to a file. Between them, the event loop gets its turns. */
class Spool {
  readonly #file: string;
  readonly #hash = createHash('sha256');
  #held: Buffer[] = [];
  #heldBytes = 0;
  #size = 0;
  #sinceTurn = 0;
  #handle: FileHandle | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  static in({ folder, randomHex }: Pick<Store, 'folder' | 'randomHex'>): Spool {
    return new Spool(join(temporaryFolder(folder), `records-${randomHex(16)}`));
  }

  async append(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    this.#hash.update(bytes);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    this.#size += bytes.length;
    this.#sinceTurn += bytes.length + LINE_COST;
    if (this.#heldBytes > HELD_BYTES) await this.#flush();
    if (this.#sinceTurn < TURN_BYTES) return;
    this.#sinceTurn = 0;
    await yieldToEventLoop();
  }

  async #flush(): Promise<void> {
    this.#handle ??= await open(this.#file, 'wx', 0o600);
    const bytes = Buffer.concat(this.#held);
    [this.#held, this.#heldBytes] = [[], 0];
    await this.#handle.appendFile(bytes);
  }

  async finish(): Promise<CopiedRecords> {
    const sha256 = this.#hash.digest('hex');
    const discard = () => this.discard();
    if (!this.#handle) return { payload: { bytes: Buffer.concat(this.#held) }, sha256, discard };
    await this.#flush();
    await this.#close();
    return { payload: { file: this.#file, size: this.#size, sha256 }, sha256, discard };
  }

  async #close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async discard(): Promise<void> {
    await this.#close();
    if (this.#size > HELD_BYTES) await rm(this.#file, { force: true });
  }
}
