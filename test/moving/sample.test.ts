import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { serveArchive } from '../../electron/openArchive.ts';
import { placeToOpen } from '../../electron/sample/sample.ts';
import { checkMove } from '../../server/moving/archivePlace.ts';
import {
  beginSample,
  completeSample,
  hasSample,
  removeSample,
  sampleFolder,
} from '../../server/moving/sampleFolder.ts';
import type { RunningNode } from '../../server/node.ts';
import { createLog } from '../../server/runtime/log.ts';
import { closeTestNodes, IDLE, openTestNode, temporaryFolder } from '../support/node.ts';
import { createPageKey, openLink, prove } from '../support/ownerPage.ts';

afterEach(closeTestNodes);

type Json = Record<string, unknown> & { items: Record<string, unknown>[]; total: number };

/** An app without a window, whose archives are opened one after another. */
async function startApp(own: string) {
  const ended = Promise.withResolvers<void>();
  const opened: { node: RunningNode; isSample: boolean }[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  const served = serveArchive({
    own,
    port: 0,
    ...IDLE,
    log: createLog('silent'),
    ended: ended.promise,
    onLeftOver: (error) => {
      throw error;
    },
    onOpen: (node, isSample) => {
      opened.push({ node, isSample });
      waiting.shift()?.resolve();
    },
  });
  const next = async () => {
    const seen = opened.length;
    const arrival = Promise.withResolvers<void>();
    waiting.push(arrival);
    await Promise.race([arrival.promise, served]);
    const now = opened[seen];
    if (!now) throw new Error('No other archive was opened.');
    return now;
  };
  const first = await next();
  const ask = async (path: string, init: RequestInit = {}) => {
    const { node } = opened.at(-1) ?? first;
    const token = await readFile(node.tokenFile, 'utf8');
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${token}`);
    const response = await fetch(new URL(path, node.url), { ...init, headers });
    return { status: response.status, json: (await response.json()) as Json };
  };
  return {
    first,
    next,
    ask,
    end: () => {
      ended.resolve();
      return served;
    },
  };
}

/** Opens the link of an answer, and returns what the browser is then. */
async function sessionAfter(url: string, path: unknown): Promise<unknown> {
  const node = { fetch: (to: string, init?: RequestInit) => fetch(new URL(to, url), init) };
  const { code } = await openLink(node, new URL(String(path), url).href);
  const { headers } = await prove(node, { key: createPageKey(), origin: url, code });
  return (await node.fetch('/api/session', { headers })).json();
}

/** The packs of the sample, the newest first. */
const PACKS = ['pk_55aa20af18bb61c00aa1', 'pk_2a20b19fc86f10d84118', 'pk_da03cec7890f625b2781'];

test('an app opens the sample at the same address, and removes it with all that was added to it', async () => {
  const parent = await temporaryFolder();
  const own = join(parent, 'archive');
  const app = await startApp(own);
  const { url } = app.first.node;
  const kept = await app.ask('/api/nodes', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ path: 'mine', title: 'Mine' }),
  });
  expect(kept.status).toBe(201);
  expect((await app.ask('/api/session')).json).toMatchObject({ owner: true, sample: 'offered' });
  const visitor = (await (await fetch(new URL('/api/session', url))).json()) as Json;
  expect(visitor).not.toHaveProperty('sample');
  expect((await app.ask('/manage/sample', { method: 'DELETE' })).json).toMatchObject({ code: 'not_found' });

  const opening = app.next();
  const opened = await app.ask('/manage/sample', { method: 'POST' });
  expect(opened.status).toBe(200);
  const sample = await opening;
  expect(sample).toMatchObject({ isSample: true, node: { url, dataFolder: `${own} sample` } });
  expect(await sessionAfter(url, opened.json.sign_in)).toMatchObject({ owner: true, sample: 'open' });

  const packs = (await app.ask('/api/packs')).json;
  // The same on every machine, in the order in which they are made.
  expect(packs.items.map(({ id }) => id)).toEqual(PACKS);
  expect(packs.items.map(({ tag }) => tag)).toEqual(['report-only', 'replicable', 'replicable']);
  const events = (await app.ask('/api/events')).json.items;
  expect(events.filter(({ event_type }) => event_type === 'first_seen')).toHaveLength(2);
  expect(events.filter(({ event_type }) => event_type === 'changed')).toHaveLength(4);
  const sources = (await app.ask('/api/sources')).json.items;
  expect(sources).toHaveLength(2);
  expect(sources.every(({ paused, captures_only }) => paused && captures_only)).toBe(true);
  const [listed] = (await app.ask('/api/cases')).json.items;
  const shown = (await app.ask(`/api/cases/${String(listed?.id)}`)).json;
  expect(shown.items.map(({ kind }) => kind)).toEqual(['event', 'pack', 'pack', 'event']);
  expect((await app.ask('/api/nodes/mine')).status).toBe(404);
  const verified = await app.ask('/api/ledger/verify');
  expect(verified.json).toMatchObject({ ok: true });
  expect((await app.ask('/manage/sample', { method: 'POST' })).json).toMatchObject({ code: 'not_found' });
  expect((await stat(`${own} sample/blobs`)).isDirectory()).toBe(true);

  const leaving = app.next();
  const left = await app.ask('/manage/sample', { method: 'DELETE' });
  expect(left.status).toBe(200);
  expect(await leaving).toMatchObject({ isSample: false, node: { url, dataFolder: own } });
  expect(await sessionAfter(url, left.json.sign_in)).toMatchObject({ owner: true, sample: 'offered' });
  expect((await app.ask('/api/nodes/mine')).status).toBe(200);
  expect((await app.ask('/api/packs')).json.total).toBe(0);
  expect(await readdir(parent)).toEqual(['archive']);
  await app.end();
});

test('a start opens a complete sample, and removes one that was not finished or was given up', async () => {
  const own = join(await temporaryFolder(), 'archive');
  const app = await startApp(own);
  const opening = app.next();
  await app.ask('/manage/sample', { method: 'POST' });
  await opening;
  await app.end();

  const again = await startApp(own);
  expect(again.first.isSample).toBe(true);
  // As if the process were killed after the answer.
  await again.ask('/manage/sample', { method: 'DELETE' });
  await again.end();
  expect(hasSample(own)).toBe(false);

  await beginSample(own);
  await writeFile(join(sampleFolder(own), 'strongroom.db'), '');
  const last = await startApp(own);
  expect(last.first.isSample).toBe(false);
  expect(existsSync(sampleFolder(own))).toBe(false);
  await last.end();
});

test('what a process leaves that ends between two steps is removed, and keeps no sample from being made', async () => {
  const own = join(await temporaryFolder(), 'archive');
  const folder = sampleFolder(own);
  // Right before the mark is written, or after it was removed.
  await mkdir(folder);
  await writeFile(join(folder, 'sample.json.tmp'), '{"sam');
  await beginSample(own);
  await completeSample(own);
  expect(hasSample(own)).toBe(true);

  // The removal had removed the database, and not yet what else an archive has.
  await beginSample(own);
  await writeFile(join(folder, 'key'), 'a key');
  await mkdir(join(folder, 'blobs', 'ab'), { recursive: true });
  await writeFile(join(folder, 'blobs', 'ab', 'cd'), 'bytes');
  await removeSample(own);
  expect(existsSync(folder)).toBe(false);
});

test('a sample that cannot be opened says how to get back to the own archive', async () => {
  const own = join(await temporaryFolder(), 'archive');
  await beginSample(own);
  await writeFile(join(sampleFolder(own), 'strongroom.db'), 'no database'.repeat(1_000));
  await completeSample(own);
  await expect(startApp(own)).rejects.toThrow(
    new RegExp(
      `^The sample archive cannot be opened: .* Remove the folder ${sampleFolder(own)} to open your own`,
    ),
  );
  expect(hasSample(own)).toBe(true);
});

test('only a folder with the mark of a sample is removed, and never a link or one that is open', async () => {
  const parent = await temporaryFolder();
  const own = join(parent, 'archive');
  const folder = sampleFolder(own);
  await mkdir(folder);
  await writeFile(join(folder, 'letters.txt'), 'mine');
  await removeSample(own);
  await expect(beginSample(own)).rejects.toThrow(
    `${folder} is there and is not a sample archive. Rename it.`,
  );
  for (const mark of ['', '[]', '{"sample":2,"complete":true}']) {
    await writeFile(join(folder, 'sample.json'), mark);
    await removeSample(own);
    expect(hasSample(own)).toBe(false);
  }
  expect(await readFile(join(folder, 'letters.txt'), 'utf8')).toBe('mine');

  // A link to a sample of another archive.
  const other = join(parent, 'other');
  await beginSample(other);
  await completeSample(other);
  await symlink(sampleFolder(other), sampleFolder(join(parent, 'linked')));
  expect(hasSample(join(parent, 'linked'))).toBe(false);
  await removeSample(join(parent, 'linked'));
  expect(hasSample(other)).toBe(true);

  const node = await openTestNode({ dataFolder: sampleFolder(other) });
  await expect(removeSample(other)).rejects.toThrow('Another Strongroom has the data folder');
  expect((await node.fetch('/api/packs')).status).toBe(200);
  await expect(checkMove(sampleFolder(other), join(parent, 'moved'))).rejects.toThrow(
    'is the sample archive',
  );
  // The own archive is opened, although the sample cannot be removed now.
  const failures: unknown[] = [];
  const place = await placeToOpen({
    own: other,
    onLeftOver: (error) => failures.push(error),
    reopen: () => {},
  });
  expect(place).toMatchObject({ folder: other, sample: { isOpen: false } });
  expect(failures).toHaveLength(1);
});

test('a node that no app runs offers no sample', async () => {
  const node = await openTestNode();
  expect(await (await node.fetchAsOwner('/api/session')).json()).not.toHaveProperty('sample');
  for (const method of ['POST', 'DELETE']) {
    const answer = await node.fetchAsOwner('/manage/sample', { method });
    expect(answer.status).toBe(404);
  }
});
