import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type IndexedSet,
  packsAddedFrom,
  packsWithValue,
} from '../../server/store/sqlite/archive/harvest.ts';
import { openForReading } from '../../server/store/sqlite/engine/open.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { uploadManifest } from '../support/archive/sets.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { harvest, harvestAll, uploadMany } from './harvester.ts';

const SHARED = { mode: 'read', require_invitation: false };
let clock: ManualClock;
let node: TestNode;
beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.000Z');
  node = await openTestNode({ clock });
  expect((await node.sendJson('PUT', '/manage/sharing', SHARED)).status).toBe(200);
});
afterEach(closeTestNodes);

describe('lists', () => {
  test('come in parts that hold every pack once, in the order of its last change', async () => {
    const ids = await uploadMany(node, clock, 101);
    const first = await harvestAll(node);
    expect(first.ids).toEqual(ids);
    expect(first.pages).toBe(3);
    const datestamps = first.headers.map(({ datestamp }) => datestamp);
    expect(datestamps).toEqual(datestamps.toSorted());

    // They miss no pack that changes, and none that comes, between two parts.
    let replications = 0;
    const { ids: harvested } = await harvestAll(node, {}, async () => {
      await clock.jump(1_000);
      const replicates = { pack: ids[replications], verdict: 'reproduced' };
      const changed = await uploadMany(node, clock, 1, { title: `Again ${replications}`, replicates });
      ids.push(...changed);
      replications += 1;
    });
    expect(new Set(harvested)).toEqual(new Set(ids));
    // Those that were replicated come once more, behind the rest.
    expect(harvested.slice(-4)).toEqual([ids[0], ids[101], ids[1], ids[102]]);
  });

  test('from the date of the last answer on they hold what is new and what was changed by it', async () => {
    const [original] = await uploadMany(node, clock, 3);
    const first = await harvestAll(node);
    await clock.jump(60_000);
    const second = await harvestAll(node, { from: first.responseDate });
    expect(second.ids).toHaveLength(3);
    const [replication] = await uploadMany(node, clock, 1, {
      title: 'Once more',
      replicates: { pack: original, verdict: 'failed' },
    });
    const { ids, headers } = await harvestAll(node, { from: '2026-11-20T10:01:00Z' });
    expect(ids).toEqual([original, replication]);
    expect(new Set(headers.map(({ datestamp }) => datestamp))).toEqual(new Set(['2026-11-20T10:01:00Z']));
    const identifier = headers[0]?.identifier ?? '';
    const { GetRecord } = await harvest(node, { verb: 'GetRecord', metadataPrefix: 'oai_dc', identifier });
    expect(GetRecord?.record[0]?.header.datestamp).toBe('2026-11-20T10:01:00Z');
    expect(GetRecord?.record[0]?.metadata['oai_dc:dc']?.['dc:relation']).toEqual([
      `${node.url}/packs/${replication}`,
    ]);
  });

  test('the date of an answer is no later than what it could see: a pack under way is not passed over', async () => {
    await clock.jump(500);
    await uploadMany(node, clock, 1);
    const { datestamp } = (await harvestAll(node)).headers[0] ?? { datestamp: '' };
    await clock.jump(86_400_000);
    expect((await harvest(node, 'verb=Identify')).responseDate).toBe(datestamp);
  });

  test('from and until bound them, both included, by seconds and by days', async () => {
    const [first] = await uploadMany(node, clock, 1);
    await clock.jump(10_000);
    const [second] = await uploadMany(node, clock, 1, { title: 'Second' });
    await clock.jump(86_400_000);
    const [third] = await uploadMany(node, clock, 1, { title: 'Third' });
    const within = async (query: Record<string, string>) => (await harvestAll(node, query)).ids;
    expect(await within({ until: '2026-11-20T10:00:09Z' })).toEqual([first]);
    expect(await within({ from: '2026-11-20T10:00:01Z', until: '2026-11-20T10:00:10Z' })).toEqual([second]);
    expect(await within({ from: '2026-11-20T10:00:10Z' })).toEqual([second, third]);
    expect(await within({ from: '2026-11-20', until: '2026-11-20' })).toEqual([first, second]);
    expect(await within({ from: '2026-11-21' })).toEqual([third]);
    expect(await within({ until: '2026-11-19' })).toEqual([]);
    for (const until of ['9999-12-31T23:59:59Z', '9999-12-31'])
      expect(await within({ until }), until).toEqual([first, second, third]);
  });

  test('hold the packs of a set, and those of the sets below it', async () => {
    for (const path of ['sea', 'sea/tides', 'seaside']) {
      await node.sendJson('POST', '/api/nodes', { path, title: path });
    }
    const [tides] = await uploadMany(node, clock, 1, { node: 'sea/tides' });
    const [sea] = await uploadMany(node, clock, 1, { node: 'sea', license: 'CC-BY-4.0' });
    const [seaside] = await uploadMany(node, clock, 1, { node: 'seaside' });
    const [nowhere] = await uploadMany(node, clock, 1, { title: 'Nowhere' });
    const inSet = async (set: string) => (await harvestAll(node, { set })).ids;
    expect(await inSet('subject')).toEqual([tides, sea, seaside]);
    expect(await inSet('subject:sea')).toEqual([tides, sea]);
    expect(await inSet('subject:sea:tides')).toEqual([tides]);
    expect(await inSet('license:CC-BY-4.0')).toEqual([sea]);
    expect(await inSet('license')).toEqual([tides, sea, seaside, nowhere]);
    expect(await inSet('subject:land')).toEqual([]);
    const { headers } = await harvestAll(node, { set: 'subject:sea:tides' });
    expect(headers[0]?.setSpec).toEqual(['license:CC0-1.0', 'subject:sea:tides']);
  });

  test('of a set hold a pack of it again when another is recorded that replicates or supersedes it', async () => {
    const [original, versioned] = await uploadMany(node, clock, 2, { license: 'CC-BY-4.0' });
    await clock.jump(60_000);
    await uploadMany(node, clock, 1, { title: 'C', replicates: { pack: original, verdict: 'reproduced' } });
    await uploadMany(node, clock, 1, { title: 'D', supersedes: versioned });
    const { ids, headers } = await harvestAll(node, { set: 'license:CC-BY-4.0' });
    expect(ids).toEqual([original, versioned]);
    expect(headers.map(({ datestamp }) => datestamp)).toEqual(Array(2).fill('2026-11-20T10:01:00Z'));
    const later = await harvestAll(node, { set: 'license:CC-BY-4.0', from: '2026-11-20T10:01:00Z' });
    expect(later.ids).toEqual([original, versioned]);
  });

  test('hold no pack that became a part of a set, and still those that such a pack replicates or supersedes', async () => {
    const [old = '', again = ''] = await uploadMany(node, clock, 2);
    await clock.jump(60_000);
    const file = { path: 'a.txt', bytes: 1, sha256: sha256Of('a') };
    const files = { 'a.txt': 'a' };
    const parts = [
      { title: 'Newer', supersedes: old },
      { title: 'Again', replicates: { pack: again, verdict: 'reproduced' as const } },
    ].map(async (record) => ({ ...file, pack: (await uploadNewPack(node, record, files)).id }));
    const [newer, repeated] = await Promise.all(parts);
    const made = await uploadManifest(node, {
      format: 'strongroom-set@1',
      files: [
        { ...file, parts: [newer] },
        { ...file, path: 'b.txt', parts: [repeated] },
      ],
    });
    const { id: manifest } = (await made.json()) as { id: string };
    const idsOf = async (query?: Record<string, string>) => new Set((await harvestAll(node, query)).ids);
    expect(await idsOf()).toEqual(new Set([old, again, manifest]));
    const [newest] = await uploadMany(node, clock, 1, { title: 'Newest', supersedes: newer?.pack });
    for (const query of [undefined, { set: 'license:CC0-1.0' }])
      expect(await idsOf(query)).toEqual(new Set([old, again, manifest, newest]));
  });

  test('of a large set read the same packs as those of a small one', async () => {
    await node.sendJson('POST', '/api/nodes', { path: 'sea', title: 'Sea' });
    const [original] = await uploadMany(node, clock, 3, { node: 'sea' });
    await uploadMany(node, clock, 1, { title: 'Elsewhere' });
    await uploadMany(node, clock, 1, { title: 'R', replicates: { pack: original, verdict: 'failed' } });
    const database = openForReading(join(node.dataFolder, 'strongroom.db'));
    try {
      const few = packsWithValue(database, 'node', 'sea');
      expect(few.packs).toBe(3);
      const many = { ...few, packs: 1_000_000 };
      const ids = (set: IndexedSet) => packsAddedFrom(database, 1, 100, set).map(({ id }) => id);
      expect(ids(few)).toHaveLength(4);
      expect(ids(many)).toEqual(ids(few));
      expect(packsAddedFrom(database, 1, 100, packsWithValue(database, 'node', 'land'))).toEqual([]);
    } finally {
      database.close();
    }
  });

  test('end early when the records are large, and continue', async () => {
    // 600 kB each: a part ends after 2 MiB.
    const method = { text: '湾'.repeat(200_000), complete: true };
    const ids: string[] = [];
    for (let index = 0; index < 9; index += 1) {
      ids.push(...(await uploadMany(node, clock, 1, { title: `Large ${index}`, method })));
    }
    const { ListRecords } = await harvest(node, { verb: 'ListRecords', metadataPrefix: 'oai_dc' });
    expect(ListRecords?.record.length).toBeLessThan(9);
    const { ids: harvested, pages } = await harvestAll(node);
    expect(harvested).toEqual(ids);
    expect(pages).toBe(3);
  });
});
