import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { NodeConfig } from '../../../server/config.ts';
import type { SettingsChange } from '../../../shared/node/settings.ts';
import { type Files, packForm } from '../archive/packs.ts';
import { ManualClock } from '../manualClock.ts';
import { openTestNode, type TestNode } from '../node.ts';

export interface Refusal {
  code: string;
  limit?: string;
  resets_at?: string;
}

/** Opens a node shared for contributions, with these limits. */
export async function openSharedNode(
  limits: SettingsChange,
  config: Partial<NodeConfig> = {},
): Promise<TestNode> {
  // The clock stands still, so that no hour ends during a test.
  const node = await openTestNode({ clock: new ManualClock(), ...config });
  // The free space of the test machine's disk does not matter.
  await node.sendJson('PATCH', '/manage/settings', { min_free_disk_gb: 0, ...limits });
  await node.sendJson('PUT', '/manage/sharing', { mode: 'contribute', require_invitation: false });
  return node;
}

let nodesMade = 0;

/** Creates a tree node with a unique path as a visitor. */
export function write(node: TestNode, body?: unknown): Promise<Response> {
  nodesMade += 1;
  return node.fetch('/api/nodes', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body ?? { path: `n${nodesMade}`, title: 'A node' }),
  });
}

/** Uploads a pack as a visitor. */
export function upload(node: TestNode, record: unknown, files: Files): Promise<Response> {
  return node.fetch('/api/packs', { method: 'POST', body: packForm(record, files) });
}

/** The same upload without an announced length. */
export async function uploadStreamed(node: TestNode, record: unknown, files: Files): Promise<Response> {
  const whole = new Response(packForm(record, files));
  return node.fetch('/api/packs', {
    method: 'POST',
    headers: { 'Content-Type': whole.headers.get('Content-Type') ?? '' },
    body: whole.body,
    duplex: 'half',
  } as RequestInit);
}

/** Returns the statuses of all responses, sorted. */
export async function statuses(answers: Promise<Response>[]): Promise<number[]> {
  return (await Promise.all(answers)).map(({ status }) => status).sort((left, right) => left - right);
}

/** Returns the problem document of a refused write. */
export async function refusalOf(response: Response): Promise<Refusal> {
  return (await response.json()) as Refusal;
}

/** Returns the number of the ledger’s entries. */
export async function ledgerSize(node: TestNode): Promise<number> {
  const { head } = (await (await node.fetch('/api/ledger')).json()) as { head: { seq: number } };
  return head.seq;
}

/** Returns all files in `tmp/` and `blobs/`. */
export async function storedFiles(node: TestNode): Promise<string[]> {
  const found = await Promise.all(
    ['tmp', 'blobs'].map((name) =>
      readdir(join(node.dataFolder, name), { recursive: true, withFileTypes: true }),
    ),
  );
  return found.flat().flatMap((entry) => (entry.isFile() ? [entry.name] : []));
}

/** Reads the data about visitors directly from the database. */
export function visitorsOf(node: TestNode) {
  const database = new Database(join(node.dataFolder, 'strongroom.db'), { readonly: true });
  try {
    const today = database.prepare('SELECT day, key FROM write_day').get() as { day: string; key: string };
    const counts = database.prepare('SELECT who, writes FROM write_counts ORDER BY who').all();
    return { ...today, counts: counts as { who: string; writes: number }[] };
  } finally {
    database.close();
  }
}

/** Returns one file of this many bytes. */
export function ofBytes(bytes: number, digit = 'x'): Files {
  return { 'data.bin': digit.repeat(bytes) };
}
