import { readFile } from 'node:fs/promises';
import { end, type ServedNode, serveNode } from '../../support/cli.ts';

/** A node in its own process, used as its owner, with its write limits raised. */
export interface OwnerNode {
  url: string;
  /** The resident memory of the process, in bytes. */
  resident(): Promise<number>;
  /** The peak resident memory, in bytes. */
  peakResident(): Promise<number>;
  /** The processor time of all threads, in milliseconds. */
  cpuTime(): Promise<number>;
  /** Headers with the owner's token. */
  headers: Record<string, string>;
  stop(): Promise<void>;
}

const AMPLE = { site_writes_per_hour: 1_000_000, site_gb_per_day: 1_000, data_cap_gb: 1_000 };

export async function startNode(dataFolder: string): Promise<OwnerNode> {
  const served: ServedNode = await serveNode(dataFolder);
  const headers = { Authorization: `Bearer ${await readFile(served.token_file, 'utf8')}` };
  const answer = await fetch(`${served.url}/manage/settings`, {
    method: 'PATCH',
    body: JSON.stringify(AMPLE),
    headers: { ...headers, 'Content-Type': 'application/json' },
  });
  if (!answer.ok) throw new Error(`The settings were refused: ${await answer.text()}`);
  return {
    url: served.url,
    headers,
    resident: () => memoryOf(served.pid, 'VmRSS'),
    peakResident: () => memoryOf(served.pid, 'VmHWM'),
    cpuTime: () => cpuTimeOf(served.pid),
    stop: async () => void (await end(served, 'SIGTERM')),
  };
}

/** Reads a value from `/proc/<pid>/status`. */
export async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
}

/** Reads fields 14 and 15 of `/proc/<pid>/stat`, in hundredths of a second. Field 2 may contain spaces. */
async function cpuTimeOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
