import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Load {
  url: string;
  connections: number;
  seconds: number;
}

/** What one run of the client in `load.ts` saw. */
export interface Loaded {
  requestsPerSecond: number;
  bytesPerSecond: number;
}

const CLIENT = fileURLToPath(new URL('load.ts', import.meta.url));

/** Asks for one address over several connections for a while, from a process of its own. */
export async function load({ url, connections, seconds }: Load): Promise<Loaded> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    CLIENT,
    url,
    String(connections),
    String(seconds),
  ]);
  const told = JSON.parse(stdout) as { requests: number; bytes: number; seconds: number };
  return { requestsPerSecond: told.requests / told.seconds, bytesPerSecond: told.bytes / told.seconds };
}
