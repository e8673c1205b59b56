import { z } from 'zod';
import type { StudyStatus } from '../../shared/archive/study.ts';
import type { EventType } from '../../shared/collection/event.ts';
import type { SourceState } from '../../shared/collection/source.ts';
import { ENTRY_TYPES, type EntryType, type LedgerEntry, NO_HASH } from '../../shared/ledger/ledger.ts';
import { countOf } from '../../shared/values/counts.ts';
import { isHttpUrl } from '../../shared/values/text.ts';
import type { Checkpoint } from '../ledger/checkpoint.ts';
import { entryText, hashOf } from '../ledger/entry.ts';
import { isOwnRecord } from '../ledger/nodeKey.ts';
import { GrowingTree, leafHash } from '../ledger/tree.ts';
import type { RetrievalBatch } from '../store/sqlite/collection/retrievalBatches.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import { type DumpedRows, restoreRow } from '../store/sqlite/node/dumpedRows.ts';
import { EventTable, NumberTable } from './compactTables.ts';
import { DumpError } from './dumpFile.ts';

/*
 * A kind of lines in a dump, described once: where its rows are, which values a line may have, how a line is checked
 * against the earlier ones, and how it is restored. Values have the same rules as in a request; all fields are required
 * and no others are allowed.
 */

export interface DumpKind {
  rows: DumpedRows;
  schema: z.ZodType;
  /** The value that must grow from line to line. */
  order: (value: never) => number | string;
  /** Checks a line against the earlier lines. @throws DumpError; Problem if a record is invalid */
  check: (archive: DumpedArchive, value: never, line: number) => void;
  restore: (database: WriteDatabase, value: never) => void;
}

type Check<Value> = (archive: DumpedArchive, value: Value, line: number) => void;

type Rows = Omit<DumpedRows, 'members' | 'order'> & Partial<Pick<DumpedRows, 'members' | 'order'>>;

interface Description<Schema extends z.ZodType> {
  schema: Schema;
  /** A table whose columns are the members of the schema, or more. The order is that of the ledger by default. */
  rows: string | Rows;
  check?: Check<z.output<Schema>>;
  /** By default, a line is inserted as a row unchanged. */
  restore?: (database: WriteDatabase, value: z.output<Schema>) => void;
}

/** A kind of lines that no entry of this ledger covers. */
export function kind<Schema extends z.ZodType>({
  schema,
  order,
  rows,
  check = () => {},
  restore,
}: Description<Schema> & { order: (value: z.output<Schema>) => number | string }): DumpKind {
  const given = typeof rows === 'string' ? { from: rows } : rows;
  const dumped = { members: membersOf(schema), order: 'ledger_entry', ...given };
  return {
    rows: dumped,
    schema,
    order,
    check,
    restore: restore ?? ((database, value) => restoreRow(database, dumped, value)),
  };
}

/** A kind of lines that ledger entries record: the line's digest must be that of the entry. */
export function recorded<Schema extends z.ZodType<{ ledger_entry: number }>>({
  types,
  digest,
  check = () => {},
  ...description
}: Description<Schema> & {
  types: readonly EntryType[];
  digest: (value: z.output<Schema>, archive: DumpedArchive, line: number) => string;
}): DumpKind {
  return kind({
    ...description,
    order: ({ ledger_entry }) => ledger_entry,
    check: (archive, value, line) => {
      archive.ledger.addRecord(value.ledger_entry, types, digest(value, archive, line), line);
      check(archive, value, line);
    },
  });
}

function membersOf(schema: z.ZodType): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape).filter((name) => name !== 'kind') : [];
}

/** A line of one kind, with no other fields. */
export function line<Kind extends string, Shape extends z.core.$ZodLooseShape>(kind: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(kind), ...shape });
}

export const number = z.int().min(1);
export const count = z.int().min(0);
export const flag = z.union([z.literal(0), z.literal(1)]);
export const httpUrl = z.string().refine(isHttpUrl, 'An absolute http or https URL is required.');

/** A source of a dump, with the values that later lines must lead to. */
export interface DumpedSource {
  key: number;
  id: string;
  url: string;
  line: number;
  /** The values in the source's own line. */
  declared: { revision: number; last_sha256: string | null; last_event_type: EventType | null };
  /** The values that result from the lines after it: of the newest version, which has an event. */
  found: { revision: number; last_sha256: string | null; last_event_type: EventType | null };
  /**
   * The newest objects that this node retrieved, newest first. A 304 names one of them again: what a person had the node
   * fetch while a check waited for its 304 is no version, and was recorded before it.
   */
  retrieved: string[];
}

/** The state of a source by the last event that this node observed. */
const STATE_AFTER: Record<EventType | 'none', SourceState> = {
  none: 'new',
  first_seen: 'available',
  changed: 'available',
  recovered: 'available',
  unavailable: 'unavailable',
  disappeared: 'gone',
};

export function stateAfter(event: EventType | null): SourceState {
  return STATE_AFTER[event ?? 'none'];
}

/** What was read from a dump so far: only what later lines may refer to. */
export class DumpedArchive {
  /** The verifier key of the archive. */
  readonly key: string;
  readonly ledger = new DumpedLedger();
  readonly batches = new DumpedBatches();
  readonly nodes = new Set<string>();
  readonly studies = new Map<string, StudyStatus>();
  readonly packs = new Set<string>();
  /** The item of each comment. */
  readonly comments = new Map<string, string>();
  /** The target of each finding; undefined once it is superseded, and for a withdrawal. */
  readonly findings = new Map<string, string | undefined>();
  /** The entries of the sealed findings that were revealed. */
  readonly revealed = new Set<number>();
  readonly cases = new Set<string>();
  readonly sources = new Map<number, DumpedSource>();
  readonly sourceKeys = new Map<string, number>();
  readonly rounds = new Set<number>();
  /** The source of each retrieval. */
  readonly retrievals = new NumberTable();
  /** The source of each page capture or hand-in whose parts were read, and of each whose own line was. */
  readonly parts = new Map<string, number>();
  readonly pages = new Map<string, number>();
  readonly events = new EventTable();
  /** Damages without a restoration: the digest of the object by the number of the ledger entry. */
  readonly damages = new Map<number, string>();
  /** The ledger entries of withholdings that no later line ended. */
  readonly withheld = new Set<number>();
  readonly released = new Set<string>();
  /** The keys of the logs that this node witnesses. */
  readonly witnessed = new Map<string, string>();

  constructor(key: string) {
    this.key = key;
  }

  source(key: number | undefined, line: number): DumpedSource {
    const source = key === undefined ? undefined : this.sources.get(key);
    if (!source) throw new DumpError('it names a source that no earlier line defines.', line);
    return source;
  }

  /** Called at the end. Parts belong to page captures, or to what was handed in. */
  requirePages(): void {
    const [lost] = new Set(this.parts.keys()).difference(new Set(this.pages.keys()));
    if (lost !== undefined)
      throw new DumpError(`The record ${lost} is missing from the dump; retrievals are parts of it.`);
  }

  /** Called at the end. The values in the line of each source must be those that its later lines lead to. */
  requireSourceStates(): void {
    for (const { line, declared, found } of this.sources.values()) {
      if (declared.revision !== found.revision)
        throw new DumpError('its revision is not the newest one of this source.', line);
      if (declared.last_sha256 !== found.last_sha256)
        throw new DumpError('its last_sha256 is not that of its newest version.', line);
      if (declared.last_event_type !== found.last_event_type)
        throw new DumpError('its last_event_type is not that of its last event.', line);
    }
  }
}

/** @throws DumpError if the condition is false */
export function requireThat(condition: boolean, sentence: string, line: number): asserts condition {
  if (!condition) throw new DumpError(sentence, line);
}

const DIGEST_BYTES = 32;

/**
 * The ledger entries of a dump. Each is checked when it is read and then takes 42 bytes of memory. After the last entry,
 * they are compared with the signed checkpoint; the lines that follow are checked against these entries.
 */
class DumpedLedger {
  #digests = Buffer.alloc(DIGEST_BYTES * 1_024);
  #times = new Float64Array(1_024);
  #types = Buffer.alloc(1_024);
  /** 1 for an entry whose record was read. */
  #hasRecord = Buffer.alloc(1_024);
  readonly #tree = new GrowingTree();
  #hash = NO_HASH;
  size = 0;
  /** The line of the first entry. */
  #firstLine = 2;
  /** The roots that the ledger must have had at some sizes, with the lines that say so. */
  readonly #expected = new Map<number, { root: string; line: number }[]>();

  add(entry: LedgerEntry, line: number): void {
    const expected = this.size + 1;
    if (entry.seq !== expected) throw new DumpError(`entry ${expected} is missing before it.`, line);
    if (entry.prev !== this.#hash || entry.hash !== hashOf(entry))
      throw new DumpError(`entry ${entry.seq} was altered: its hash or its link is wrong.`, line);
    if (this.size === this.#types.length) this.#grow();
    this.#digests.write(entry.digest, this.size * DIGEST_BYTES, 'hex');
    this.#times[this.size] = Date.parse(entry.at);
    this.#types[this.size] = ENTRY_TYPES.indexOf(entry.type);
    if (isOwnRecord(entry)) this.#hasRecord[this.size] = 1;
    this.#tree.append(leafHash(entryText(entry)));
    this.#hash = entry.hash;
    this.size = expected;
    if (expected === 1) this.#firstLine = line;
    this.#compareRoot();
  }

  /** Requires that the ledger had this root, in hex, at a size. Called before the first entry. */
  expectRoot(size: number, root: string, line: number): void {
    this.#expected.set(size, [...(this.#expected.get(size) ?? []), { root, line }]);
    if (size === 0) this.#compareRoot();
  }

  #compareRoot(): void {
    const expected = this.#expected.get(this.size);
    if (!expected) return;
    this.#expected.delete(this.size);
    const found = this.#tree.root().toString('hex');
    for (const { root, line } of expected)
      if (root !== found)
        throw new DumpError(
          `it belongs to another ledger: the first ${countOf(this.size, 'entry has', 'entries have')} another root.`,
          line,
        );
  }

  /** Called after the last entry. */
  requireSigned({ size, root }: Checkpoint): void {
    if (size !== this.size || !this.#tree.root().equals(root))
      throw new DumpError('The entries in the dump are not those that its checkpoint was signed over.');
    const [ahead] = this.#expected.values();
    if (ahead) throw new DumpError('it covers more entries than the dump has.', ahead[0]?.line);
  }

  typeOf(seq: number): EntryType | undefined {
    return seq <= this.size ? ENTRY_TYPES[this.#types[seq - 1] ?? -1] : undefined;
  }

  /** The time of an entry, in milliseconds since the epoch. */
  timeOf(seq: number): number | undefined {
    return this.#times[seq - 1];
  }

  digestOf(seq: number): string {
    return this.#digests.toString('hex', (seq - 1) * DIGEST_BYTES, seq * DIGEST_BYTES);
  }

  /** Adds the record of an entry. It must have the entry's type and digest, and be the only one. */
  addRecord(seq: number, types: readonly EntryType[], digest: string, line: number): void {
    const type = this.typeOf(seq);
    if (type === undefined || !types.includes(type))
      throw new DumpError(`entry ${seq} is not of this kind.`, line);
    if (this.#hasRecord[seq - 1] === 1) throw new DumpError(`entry ${seq} already has a record.`, line);
    if (this.digestOf(seq) !== digest)
      throw new DumpError(`it was altered: it differs from what entry ${seq} recorded.`, line);
    this.#hasRecord[seq - 1] = 1;
  }

  /** Called at the end. */
  requireAllRecords(): void {
    const at = this.#hasRecord.subarray(0, this.size).indexOf(0);
    if (at < 0) return;
    throw new DumpError(
      `the record of entry ${at + 1} (${this.typeOf(at + 1)}) is missing from the dump.`,
      at + this.#firstLine,
    );
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    times.set(this.#times);
    this.#times = times;
    this.#digests = Buffer.concat([this.#digests, Buffer.alloc(this.#digests.length)]);
    this.#types = Buffer.concat([this.#types, Buffer.alloc(this.#types.length)]);
    this.#hasRecord = Buffer.concat([this.#hasRecord, Buffer.alloc(this.#hasRecord.length)]);
  }
}

/** The batches of retrievals that ledger entries cover. They precede the retrievals, which are compared with them. */
class DumpedBatches {
  readonly #batches: RetrievalBatch[] = [];
  /** The index of the batch that the next retrieval belongs to. */
  #current = 0;
  #tree = new GrowingTree();
  #firstLine = 0;
  #lastLine = 0;

  add(batch: RetrievalBatch, line: number): void {
    if (batch.last < batch.first || batch.first <= (this.#batches.at(-1)?.last ?? 0))
      throw new DumpError('it covers no retrievals, or some that the previous batch covers.', line);
    this.#batches.push(batch);
  }

  /** Adds the next retrieval, with its recomputed leaf. */
  addRetrieval(id: number, leaf: Buffer, line: number): void {
    const batch = this.#batches[this.#current];
    const expected = batch ? batch.first + this.#tree.size : undefined;
    if (batch === undefined || expected === undefined || id < expected)
      throw new DumpError(`retrieval ${id} is covered by no entry of the ledger.`, line);
    if (id > expected) throw new DumpError(`retrieval ${expected} is missing before it.`, line);
    if (this.#tree.size === 0) this.#firstLine = line;
    this.#lastLine = line;
    this.#tree.append(leaf);
    if (id === batch.last) this.#close(batch);
  }

  #close({ first, last, root, ledger_entry }: RetrievalBatch): void {
    if (this.#tree.root().toString('hex') !== root) {
      const lines = first === last ? '' : ` (lines ${this.#firstLine} to ${this.#lastLine})`;
      throw new DumpError(
        `the retrievals ${first} to ${last}${lines} were altered: they differ from what entry ${ledger_entry} recorded.`,
        this.#lastLine,
      );
    }
    this.#current += 1;
    this.#tree = new GrowingTree();
  }

  /** Called at the end. */
  requireComplete(): void {
    const batch = this.#batches[this.#current];
    if (!batch) return;
    throw new DumpError(
      `Retrieval ${batch.first + this.#tree.size} is missing from the dump; entry ${batch.ledger_entry} covers it.`,
    );
  }
}
