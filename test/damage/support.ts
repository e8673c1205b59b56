import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect, vi } from 'vitest';
import { main } from '../../server/cli/main.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import { packForm, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { end, type ServedNode, serveNode } from '../support/cli.ts';
import { openTestNode, temporaryFolder } from '../support/node.ts';

/** An archive whose node was killed, so that its last write is only in the log. */
export interface KilledArchive {
  folder: string;
  /** A copy of the database before its second pack. */
  olderDatabase: string;
  packs: Pack[];
  /** The checkpoint over both packs, if one was published. */
  checkpoint: string | undefined;
}

/** Adds a pack and closes the node; adds a second pack and kills the node. */
export async function killedArchive({ isSigned }: { isSigned: boolean }): Promise<KilledArchive> {
  const folder = join(await temporaryFolder(), 'data');
  const olderDatabase = join(await temporaryFolder(), 'older.db');
  const first = await openTestNode({ dataFolder: folder });
  const packs = [await uploadNewPack(first, sampleRecord({ title: 'first' }), filesOf('first'))];
  await first.close();
  await cp(join(folder, 'strongroom.db'), olderDatabase);
  const second = await serveNode(folder);
  packs.push(await addPackTo(second, 'second'));
  const checkpoint = isSigned
    ? await (await fetch(new URL('/api/ledger/checkpoint', second.url))).text()
    : undefined;
  await end(second, 'SIGKILL');
  return { folder, olderDatabase, packs, checkpoint };
}

const filesOf = (title: string) => ({ 'a.txt': `The bytes of the ${title} pack.` });

export async function addPackTo(node: ServedNode, title: string): Promise<Pack> {
  const headers = { Authorization: `Bearer ${await readFile(node.token_file, 'utf8')}` };
  const body = packForm(sampleRecord({ title }), filesOf(title));
  const answer = await fetch(new URL('/api/packs', node.url), { method: 'POST', body, headers });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Pack;
}

/** Copies a data folder for a test to damage. */
export async function copyOf(folder: string): Promise<string> {
  const copy = join(await temporaryFolder(), 'data');
  await mkdir(copy);
  await cp(folder, copy, { recursive: true });
  return copy;
}

/** Files that are created when a database is opened for reading. */
const CREATED_BY_READERS = /^(lock|strongroom\.db-shm)$/;

/** Returns the digest of each file in a folder, by its path. */
export async function digestsIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const digests: Record<string, string> = {};
  for (const file of files.sort()) {
    const path = relative(folder, file);
    if (CREATED_BY_READERS.test(path)) continue;
    digests[path] = createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
  }
  return digests;
}

/** Runs a command in this process and returns its exit code and output. */
export async function run(...args: string[]): Promise<{ code: number; output: string }> {
  let output = '';
  const capture = (text: unknown) => {
    output += String(text);
    return true;
  };
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation(capture),
  );
  try {
    return { code: await main(args), output };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** A page of a list. */
export interface List<Item> {
  items: Item[];
  total: number;
}

/** Returns the key that `strongroom key` prints. */
export async function keyOf(folder: string): Promise<string> {
  return (await run('key', '--data', folder)).output.trim();
}

/** Returns the paths of all stored blobs. */
export async function blobFiles(folder: string): Promise<string[]> {
  return Object.keys(await digestsIn(join(folder, 'blobs')));
}
