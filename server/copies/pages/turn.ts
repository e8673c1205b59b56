/** Yields to the event loop between the batches of long work. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
