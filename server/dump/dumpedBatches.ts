import { GrowingTree } from '../ledger/merkle.ts';
import type { RetrievalBatch } from '../store/sqlite/collection/retrievalBatches.ts';
import { DumpError } from './dumpFile.ts';

/** What entries cover which retrievals: told before the retrievals, which are then held against it one by one. */
export class DumpedBatches {
  readonly #batches: RetrievalBatch[] = [];
  /** The one that retrievals are held against. */
  #current = 0;
  #tree = new GrowingTree();
  #firstLine = 0;
  #lastLine = 0;

  add(batch: RetrievalBatch, line: number): void {
    if (batch.last < batch.first || batch.first <= (this.#batches.at(-1)?.last ?? 0))
      throw new DumpError('it covers retrievals that the batch before it covers, or none.', line);
    this.#batches.push(batch);
  }

  /** Takes the next retrieval, whose leaf was recomputed. */
  take(id: number, leaf: Buffer, line: number): void {
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
        `the retrievals ${first} to ${last}${lines} were altered: they are not what entry ${ledger_entry} recorded.`,
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
      `Retrieval ${batch.first + this.#tree.size} is missing in the dump; entry ${batch.ledger_entry} covers it.`,
    );
  }
}
