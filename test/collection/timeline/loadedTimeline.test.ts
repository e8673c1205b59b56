import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Event } from '../../../shared/collection/event.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { response } from '../../support/warcFiles.ts';
import { imported } from '../captures/support.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

afterEach(closeTestNodes);

/** More than are loaded in one turn of the event loop. */
const EVENTS = 5_200;

/** Returns a WARC file with captures of `count` new addresses. */
function captures(name: string, count: number): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, n) => response(`${name} ${n}`, { uri: `http://${name}.example/${n}` })),
  );
}

/** Returns a WARC file with captures of one address that has two bodies in turn: quick to import, and each an event. */
function changes(count: number): Buffer {
  const start = Date.parse('2020-01-01T00:00:00Z');
  const at = (n: number) => `${new Date(start + n * 1_000).toISOString().slice(0, 19)}Z`;
  return Buffer.concat(Array.from({ length: count }, (_, n) => response(`body ${n % 2}`, { date: at(n) })));
}

let folder: string;
let large: string;

/** Makes an archive of many events once. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  large = join(folder, 'data');
  const node = await openCollectingNode({}, { dataFolder: large });
  await imported(node, changes(EVENTS), { observer: 'early' });
  await node.node.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Opens a copy of it, before its events are loaded into memory. */
async function openLargeArchive(): Promise<CollectingNode> {
  const dataFolder = join(await temporaryFolder(), 'data');
  await cp(large, dataFolder, { recursive: true });
  return openCollectingNode({}, { dataFolder });
}

async function list(node: CollectingNode, query: string): Promise<{ items: Event[]; total: number }> {
  return node.read(`/api/events?${query}`);
}

test('lists contain the events that are added while the timeline is loaded and after it', async () => {
  const node = await openLargeArchive();
  const [first, second] = await Promise.all([
    list(node, 'offset=1&limit=1'),
    list(node, 'observer=early&limit=1'),
    imported(node, captures('during', 20), { observer: 'during' }),
  ]);
  expect(first.total).toBeGreaterThanOrEqual(EVENTS);
  expect(second.total).toBe(EVENTS);
  await imported(node, captures('after', 30), { observer: 'after' });
  const totals = [
    'observer=early',
    'observer=during',
    'observer=after',
    'event_type=changed',
    'event_type=first_seen',
    'offset=1',
  ].map(async (query) => (await list(node, `${query}&limit=1`)).total);
  expect(await Promise.all(totals)).toEqual([EVENTS, 20, 30, EVENTS - 1, 51, EVENTS + 50]);
  const { items } = await list(node, `event_type=changed&offset=${EVENTS - 11}&limit=100`);
  expect(items).toHaveLength(10);
});

test('a node closes while it loads its timeline', async () => {
  const node = await openLargeArchive();
  const listed = node.node.fetch('/api/events?offset=1').catch(() => undefined);
  await node.node.close();
  await listed;
  const again = await openCollectingNode({}, { dataFolder: node.node.dataFolder });
  expect((await list(again, 'offset=1&limit=1')).total).toBe(EVENTS);
});
