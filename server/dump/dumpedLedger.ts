import { ENTRY_TYPES, type EntryType, type LedgerEntry, NO_HASH } from '../../shared/ledger/ledger.ts';
import type { Checkpoint } from '../ledger/checkpoint.ts';
import { entryText, hashOf } from '../ledger/entry.ts';
import { GrowingTree, leafHash } from '../ledger/merkle.ts';
import { DumpError } from './dumpFile.ts';

const DIGEST_BYTES = 32;

/**
 * The ledger entries of a dump. Each is checked when it is read and then takes 42 bytes of memory. After the last entry,
 * they are compared with the signed checkpoint; the lines that follow are checked against these entries.
 */
export class DumpedLedger {
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
          `it is of another ledger: the first ${this.size} entries have another root.`,
          line,
        );
  }

  /** Called after the last entry. */
  requireSigned({ size, root }: Checkpoint): void {
    if (size !== this.size || !this.#tree.root().equals(root))
      throw new DumpError('The entries in the dump are not those that its checkpoint was signed over.');
    const [ahead] = this.#expected.values();
    if (ahead) throw new DumpError('it is of more entries than the dump has.', ahead[0]?.line);
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
