import { readFile } from 'node:fs/promises';
import { end, type ServedNode, serveNode } from '../../support/cli.ts';

/** A node in a process of its own, asked as its owner, whose limits on writes are out of the way. */
export interface OwnerNode {
  url: string;
  /** Bytes of memory that the process holds now. */
  resident(): Promise<number>;
  /** The most that it ever held. */
  peakResident(): Promise<number>;
  /** Milliseconds of processor time that all its threads have taken. */
  cpuTime(): Promise<number>;
  /** Headers that make a request the owner's. */
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

/** As Linux counts it. */
async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
}

/** Linux counts in hundredths of a second: fields 14 and 15 of `stat`, of which the second may hold spaces. */
async function cpuTimeOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
