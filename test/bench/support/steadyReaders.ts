import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const READERS = fileURLToPath(new URL('readers.ts', import.meta.url));

/** Asks for addresses every so many milliseconds, from a process of its own, as long as some work goes on. */
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
