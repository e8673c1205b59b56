/**
 * Works on items that are taken from an iterator one after another, several at once. No more of them are in memory.
 *
 * @throws the first error, once no work is running any more; no further item is taken then
 */
export async function inParallel<Item>(
  items: Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const takeItems = async () => {
    try {
      for (let next = iterator.next(); !failure && !next.done; next = iterator.next()) await work(next.value);
    } catch (error) {
      failure ??= { error };
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takeItems));
  iterator.return?.();
  if (failure) throw failure.error;
}
