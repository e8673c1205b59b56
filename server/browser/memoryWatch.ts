import { readFile } from 'node:fs/promises';
import { errorCode } from '../../shared/values/errorCode.ts';
import { every } from '../runtime/background.ts';
import { type BrowserConnection, ignoringLateErrors } from './protocol.ts';

const EVERY_MS = 500;
/** What the processes of a browser may hold together. Two ordinary pages take less than a third. */
const MAX_BYTES = 3_000_000_000;
/** Linux counts memory in pages. */
const PAGE_BYTES = 4_096;

/**
 * Ends the largest process of a browser while its processes hold too much memory together: a page can fill memory with
 * what no limit of the script engine counts, in many frames. The page of that process counts as crashed; others go on.
 * Linux only, where the whole system would suffer; elsewhere the limits of the engine remain.
 *
 * @returns a function that ends watching
 */
export function watchMemory(connection: BrowserConnection, maxBytes = MAX_BYTES): () => void {
  if (process.platform !== 'linux') return () => {};
  let isChecking = false;
  const timer = every(EVERY_MS, async () => {
    if (isChecking) return;
    isChecking = true;
    try {
      await ignoringLateErrors(check(connection, maxBytes));
    } finally {
      isChecking = false;
    }
  });
  timer.unref();
  return () => clearInterval(timer);
}

async function check(connection: BrowserConnection, maxBytes: number): Promise<void> {
  const { processInfo } = await connection.send<{ processInfo: { id: number }[] }>(
    'SystemInfo.getProcessInfo',
  );
  const processes = await Promise.all(processInfo.map(async ({ id }) => ({ id, bytes: await resident(id) })));
  const total = processes.reduce((sum, { bytes }) => sum + bytes, 0);
  const [largest] = processes.toSorted((left, right) => right.bytes - left.bytes);
  if (total > maxBytes && largest) kill(largest.id);
}

/** The memory that a process alone holds, in bytes; 0 if it has ended. */
async function resident(pid: number): Promise<number> {
  try {
    const [, pages = 0, shared = 0] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ').map(Number);
    return (pages - shared) * PAGE_BYTES;
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(error) ?? '')) return 0;
    throw error;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
