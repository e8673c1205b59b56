import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const READERS = fileURLToPath(new URL('readers.ts', import.meta.url));

/** Requests URLs at this interval, from a separate process, while some work runs. Returns the response times. */
export async function readDuring(
  urls: readonly string[],
  everyMs: number,
  work: () => Promise<unknown>,
): Promise<number[][]> {
  const child = spawn(process.execPath, [READERS, String(everyMs), ...urls], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    await work();
  } finally {
    child.stdin.end();
  }
  return JSON.parse(await text(child.stdout)) as number[][];
}
