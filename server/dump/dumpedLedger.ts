import { ENTRY_TYPES, type EntryType, type LedgerEntry, NO_HASH } from '../../shared/ledger.ts';
import type { Checkpoint } from '../ledger/checkpoint.ts';
import { entryText, hashOf } from '../ledger/entry.ts';
import { GrowingTree, leafHash } from '../ledger/merkle.ts';
import { DumpError } from './dumpFile.ts';

const DIGEST_BYTES = 32;

/**
 * The entries of a dump: each is checked as it comes, and then of each is known what it recorded, in 42 bytes. Once they
 * are all there, they are those that the checkpoint was signed over, so what follows is judged by nothing else.
 */
export class DumpedLedger {
  #digests = Buffer.alloc(DIGEST_BYTES * 1_024);
  #times = new Float64Array(1_024);
  #types = Buffer.alloc(1_024);
  /** 1 for an entry whose record was seen. */
  #seen = Buffer.alloc(1_024);
  readonly #tree = new GrowingTree();
  #hash = NO_HASH;
  size = 0;

  add(entry: LedgerEntry, line: number): void {
    const expected = this.size + 1;
    if (entry.seq !== expected) throw new DumpError(`entry ${expected} is missing before it.`, line);
    if (entry.prev !== this.#hash || entry.hash !== hashOf(entry))
      throw new DumpError(`entry ${entry.seq} was altered: its hash or its link does not hold.`, line);
    if (this.size === this.#types.length) this.#grow();
    this.#digests.write(entry.digest, this.size * DIGEST_BYTES, 'hex');
    this.#times[this.size] = Date.parse(entry.at);
    this.#types[this.size] = ENTRY_TYPES.indexOf(entry.type);
    this.#tree.append(leafHash(entryText(entry)));
    this.#hash = entry.hash;
    this.size = expected;
  }

  /** Called when all entries are there. */
  requireSigned({ size, root }: Checkpoint): void {
    if (size === this.size && this.#tree.root().equals(root)) return;
    throw new DumpError('The entries in the dump are not those that its checkpoint was signed over.');
  }

  typeOf(seq: number): EntryType | undefined {
    return seq <= this.size ? ENTRY_TYPES[this.#types[seq - 1] ?? -1] : undefined;
  }

  /** When an entry was written, as milliseconds. */
  timeOf(seq: number): number | undefined {
    return this.#times[seq - 1];
  }

  digestOf(seq: number): string {
    return this.#digests.toString('hex', (seq - 1) * DIGEST_BYTES, seq * DIGEST_BYTES);
  }

  /** Takes the record of an entry: it must be of its type, be what was recorded, and be the only one. */
  take(seq: number, types: readonly EntryType[], digest: string, line: number): void {
    const type = this.typeOf(seq);
    if (type === undefined || !types.includes(type))
      throw new DumpError(`entry ${seq} recorded nothing of this kind.`, line);
    if (this.#seen[seq - 1] === 1) throw new DumpError(`entry ${seq} has a record already.`, line);
    if (this.digestOf(seq) !== digest)
      throw new DumpError(`it was altered: it is not what entry ${seq} recorded.`, line);
    this.#seen[seq - 1] = 1;
  }

  /** Called at the end. The entries begin with the second line. */
  requireAllRecords(): void {
    const at = this.#seen.subarray(0, this.size).indexOf(0);
    if (at < 0) return;
    throw new DumpError(
      `what entry ${at + 1} (${this.typeOf(at + 1)}) recorded is missing in the dump.`,
      at + 2,
    );
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    times.set(this.#times);
    this.#times = times;
    this.#digests = Buffer.concat([this.#digests, Buffer.alloc(this.#digests.length)]);
    this.#types = Buffer.concat([this.#types, Buffer.alloc(this.#types.length)]);
    this.#seen = Buffer.concat([this.#seen, Buffer.alloc(this.#seen.length)]);
  }
}
