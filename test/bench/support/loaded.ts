import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface Load {
  url: string;
  connections: number;
  seconds: number;
}

/** The result of one run of the client `load.ts`. */
export interface Loaded {
  requestsPerSecond: number;
  bytesPerSecond: number;
}

const CLIENT = fileURLToPath(new URL('load.ts', import.meta.url));

/** Requests one URL over several connections for some seconds, from a separate process. */
export async function load({ url, connections, seconds }: Load): Promise<Loaded> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    CLIENT,
    url,
    String(connections),
    String(seconds),
  ]);
  const result = JSON.parse(stdout) as { requests: number; bytes: number; seconds: number };
  return {
    requestsPerSecond: result.requests / result.seconds,
    bytesPerSecond: result.bytes / result.seconds,
  };
}
