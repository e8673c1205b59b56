/** Lets other work of this process run, so that long work in batches does not hold the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
