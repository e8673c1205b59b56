import { GrowingTree } from '../ledger/merkle.ts';
import type { RetrievalBatch } from '../store/sqlite/collection/retrievalBatches.ts';
import { DumpError } from './dumpFile.ts';

/** The batches of retrievals that ledger entries cover. They precede the retrievals, which are compared with them. */
export class DumpedBatches {
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
