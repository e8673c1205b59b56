import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** How often the load is looked at. */
const LOOK_EVERY_MS = 2_000;
/** The node is idle if its event loop was active for less than this in that time. */
const IDLE_ACTIVE_MS = 60;
/** A collection stops the node for some hundredths of a second, so there is at most one in this many looks (a minute). */
const LOOKS_BETWEEN = 30;
/** The stop grows with the heap. A larger one, such as that of a long timeline, is left to V8. */
const MAX_HEAP_BYTES = 67_108_864;

/**
 * Collects garbage once when the node becomes idle after it started or worked, and returns the freed memory to the
 * system. V8 collects only while something is allocated, so a node at rest would keep the garbage of its last work.
 * Does nothing where `gc` is not exposed. Returns a function that stops it.
 *
 * @param activeMs returns for how long the event loop was active so far
 * @param heapBytes returns the size of the heap that is in use
 */
export function collectWhenIdle(
  gc = globalThis.gc,
  activeMs = () => performance.eventLoopUtilization().active,
  heapBytes = () => getHeapStatistics().used_heap_size,
): () => void {
  if (!gc) return () => {};
  let before = activeMs();
  let hasWorked = true;
  let looks = LOOKS_BETWEEN;
  const timer = setInterval(() => {
    const isIdle = activeMs() - before < IDLE_ACTIVE_MS;
    hasWorked ||= !isIdle;
    looks += 1;
    if (isIdle && hasWorked && looks >= LOOKS_BETWEEN) {
      hasWorked = false;
      looks = 0;
      // Only this kind makes V8 shrink the space for new objects.
      if (heapBytes() <= MAX_HEAP_BYTES) gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    }
    before = activeMs();
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}
