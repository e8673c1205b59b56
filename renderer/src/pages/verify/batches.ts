/** Small files are given to a worker together: a message for each would take longer than hashing it. */
const BATCH_FILES = 32;
const BATCH_BYTES = 4_194_304;

/** Groups files into batches that end at either limit. A larger file is a batch of its own. */
export function* batchesOf<Item extends { file: File }>(files: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const one of files) {
    if (batch.length >= BATCH_FILES || (batch.length > 0 && bytes + one.file.size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(one);
    bytes += one.file.size;
  }
  if (batch.length > 0) yield batch;
}
