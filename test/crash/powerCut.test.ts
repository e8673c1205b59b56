import { readdir, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import type { CollectionResult } from '../../shared/collection/collection.ts';
import type { Event } from '../../shared/collection/event.ts';
import type { ObjectMetadata } from '../../shared/collection/retrieval.ts';
import { sampleRecord } from '../support/archive/packs.ts';
import { end, type ServedNode, serveNode } from '../support/cli.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

const SOURCES = 12;
const PACKS = 12;

let running: ServedNode | undefined;
afterEach(async () => {
  if (running) await end(running, 'SIGKILL');
  running = undefined;
  await closeTestNodes();
  await closeScriptedWebs();
});

async function asOwner(node: ServedNode, method: string, path: string, body: object): Promise<unknown> {
  const token = await readFile(node.token_file, 'utf8');
  const answer = await fetch(new URL(path, node.url), {
    method,
    body: JSON.stringify(body),
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  });
  expect(answer.ok).toBe(true);
  return answer.json();
}

/** Returns the paths of all blobs. */
async function blobFiles(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, 'blobs'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Deletes or truncates files that were never synced under their own name, as a power cut may do. */
async function losePower(folder: string, count: number): Promise<void> {
  const files = await blobFiles(folder);
  expect(files).toHaveLength(count);
  for (const [index, file] of files.entries()) await (index % 2 === 0 ? rm(file) : truncate(file, 0));
}

test('every object of an answered round is intact after a power cut that lost or truncated its file', async () => {
  const web = await ScriptedWeb.open();
  const folder = await temporaryFolder();
  running = await serveNode(folder);
  await asOwner(running, 'PATCH', '/manage/settings', { per_host_pause_ms: 0, per_host_concurrency: 10 });
  for (let number = 0; number < SOURCES; number += 1) {
    web.script(`/${number}`, page(`<title>Page ${number}</title>${'words '.repeat(200)}`));
    await asOwner(running, 'POST', '/manage/sources', { url: web.url(`/${number}`) });
  }
  const round = (await asOwner(running, 'POST', '/manage/collections?wait=true', {})) as CollectionResult;
  expect(round.changed).toBe(SOURCES);
  await end(running, 'SIGKILL');
  running = undefined;

  await losePower(folder, SOURCES);

  const node = await openTestNode({ dataFolder: folder });
  const { items } = (await (await node.fetch('/api/events')).json()) as { items: Event[] };
  expect(items).toHaveLength(SOURCES);
  for (const { sha256 } of items) {
    const metadata = (await (await node.fetch(`/archive/${sha256}/metadata`)).json()) as ObjectMetadata;
    expect(metadata.retrievals.map(({ intact }) => intact)).toEqual([true]);
  }
  expect(await readdir(join(folder, 'journal'))).toEqual([]);
});

test('every acknowledged small pack is intact after a power cut that lost or truncated its files', async () => {
  const folder = await temporaryFolder();
  running = await serveNode(folder);
  const { url, token_file } = running;
  const headers = { Authorization: `Bearer ${await readFile(token_file, 'utf8')}` };
  const uploads = Array.from({ length: PACKS }, async (_, number) => {
    const form = new FormData();
    form.append('record', JSON.stringify(sampleRecord({ title: `Pack ${number}` })));
    form.append('files', new Blob([`data ${number}\n`.repeat(1_000)]), 'data.csv');
    const answer = await fetch(`${url}/api/packs`, { method: 'POST', body: form, headers });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as Pack).id;
  });
  const ids = await Promise.all(uploads);
  await end(running, 'SIGKILL');
  running = undefined;
  await losePower(folder, PACKS);

  const node = await openTestNode({ dataFolder: folder });
  for (const id of ids) {
    const verification = await (await node.fetch(`/api/packs/${id}/verify`)).json();
    expect(verification).toMatchObject({ id, ok: true });
  }
  expect(await readdir(join(folder, 'journal'))).toEqual([]);
});
