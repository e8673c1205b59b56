import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { appendEntry } from '../../server/ledger/appendEntry.ts';
import { openStore } from '../../server/store/store.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { problemOf } from '../support/archive/packs.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import {
  type Fetch,
  isIncluded,
  isPrefix,
  leafHashOf,
  openSignedTree,
  type SignedTree,
  TiledTree,
  tilePath,
} from '../support/network/tlogClient.ts';
import { closeAlteredNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeAlteredNodes);

/** Fetches as a client of static logs does, who knows nothing but the prefix. */
function fetchFrom(node: TestNode): Fetch {
  return async (path) => {
    const response = await node.fetch(`/log/${path}`);
    if (response.status !== 200) throw new Error(`/log/${path} answered ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  };
}

async function signedTree(node: TestNode): Promise<SignedTree> {
  const key = await (await node.fetch('/api/ledger/key')).text();
  return openSignedTree(await (await node.fetch('/log/checkpoint')).text(), key);
}

/** Records until the ledger has so many entries. */
async function growTo(node: TestNode, size: number): Promise<void> {
  for (let seq = (await signedTree(node)).size + 1; seq <= size; ) {
    const count = Math.min(50, size - seq + 1);
    const paths = Array.from({ length: count }, (_, index) => `n${seq + index}`);
    await Promise.all(
      paths.map(async (path) => {
        const response = await node.sendJson('POST', '/api/nodes', { path, title: `Node “${path}”` });
        expect(response.status).toBe(201);
      }),
    );
    seq += count;
  }
}

/** A node whose ledger has so many entries, written without going by HTTP. */
async function openNodeOfSize(size: number): Promise<TestNode> {
  const dataFolder = join(await temporaryFolder(), 'data');
  const store = await openStore({ folder: dataFolder, clock: systemClock });
  const entry = { type: 'node.created', digest: '5'.repeat(64), at: '2026-11-20T10:14:21.592Z' } as const;
  await store.write((database) => {
    for (let seq = 1; seq <= size; seq += 1) appendEntry(database, { ...entry, subject: `n${seq}` });
  });
  await store.close();
  return openTestNode({ dataFolder });
}

/** Whether this entry is in the tree, by a path made from the tree's tiles. */
async function includes(tree: TiledTree, signed: SignedTree, index: number, entry: string): Promise<boolean> {
  return isIncluded(leafHashOf(entry), index, signed, await tree.inclusionPath(index));
}

describe('a client that knows C2SP tlog-tiles alone', () => {
  test('verifies entries, root, inclusion and consistency of the ledger as it grows', async () => {
    const node = await openTestNode();
    const known: SignedTree[] = [];
    for (const size of [0, 1, 255, 256, 257]) {
      await growTo(node, size);
      const signed = await signedTree(node);
      expect(signed.size).toBe(size);
      const tree = new TiledTree(size, fetchFrom(node));
      const entries = await tree.readEntries(signed.root);
      const { items } = (await (await node.fetch('/api/ledger?limit=500')).json()) as { items: unknown[] };
      expect(entries).toEqual(items.map(canonicalText));
      const sampled = [0, Math.floor(size / 2), size - 2, size - 1];
      for (const index of new Set(sampled.filter((each) => each >= 0 && each < size))) {
        const entry = entries[index] ?? '';
        expect(await includes(tree, signed, index, entry), `entry ${index} of ${size}`).toBe(true);
        expect(await includes(tree, signed, index, `${entry} `), `entry ${index} of ${size}`).toBe(false);
      }
      for (const older of known.filter((each) => each.size > 0)) {
        const path = await tree.consistencyPath(older.size);
        expect(isPrefix(older, signed, path), `${older.size} in ${size}`).toBe(true);
        expect(isPrefix({ ...older, root: Buffer.alloc(32) }, signed, path)).toBe(false);
      }
      known.push(signed);
    }
    // The partial tiles of every checkpoint before are still there, and say what they said.
    for (const { size, root } of known) await new TiledTree(size, fetchFrom(node)).readEntries(root);
  });

  test('verifies 70,000 entries over three levels, as the example of the specification lays them out', async () => {
    const node = await openNodeOfSize(70_000);
    const signed = await signedTree(node);
    const tree = new TiledTree(70_000, fetchFrom(node));
    await tree.checkTiles(signed.root);
    const level0 = Array.from({ length: 273 }, (_, index) => tilePath(0, index));
    const partial = ['tile/0/273.p/112', 'tile/1/001.p/17', 'tile/2/000.p/1'];
    expect(tree.fetched.toSorted()).toEqual([...level0, 'tile/1/000', ...partial].toSorted());
    for (const index of [0, 255, 256, 65_535, 65_536, 69_887, 69_888, 69_999]) {
      const entry = (await tree.readBundle(Math.floor(index / 256)))[index % 256] ?? '';
      expect(JSON.parse(entry)).toMatchObject({ seq: index + 1 });
      expect(await includes(tree, signed, index, entry), `entry ${index}`).toBe(true);
    }
    await growTo(node, 70_001);
    const newer = await signedTree(node);
    const grown = new TiledTree(70_001, fetchFrom(node));
    expect(isPrefix(signed, newer, await grown.consistencyPath(70_000))).toBe(true);
    // A proof needs a few tiles, not the log.
    expect(grown.fetched.length).toBeLessThanOrEqual(4);
    expect((await node.fetch('/log/tile/2/000.p/2')).status).toBe(404);
  });

  test('finds one changed bit in any tile', async () => {
    const node = await openNodeOfSize(257);
    const { root } = await signedTree(node);
    const fetchHonestly = fetchFrom(node);
    const altering = (altered: string): Fetch => {
      return async (path) => {
        const bytes = await fetchHonestly(path);
        if (path === altered) bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
        return bytes;
      };
    };
    for (const path of ['tile/0/000', 'tile/entries/000', 'tile/entries/001.p/1']) {
      await expect(new TiledTree(257, altering(path)).readEntries(root), path).rejects.toThrow();
    }
    await expect(new TiledTree(257, altering('none')).readEntries(root)).resolves.toHaveLength(257);
  });
});

describe('the addresses of the log', () => {
  test('the checkpoint is the ledger’s own, and is asked for anew each time', async () => {
    const node = await openTestNode();
    await growTo(node, 2);
    const response = await node.fetch('/log/checkpoint');
    expect(response.headers.get('Content-Type')).toBe('text/plain; charset=utf-8');
    expect(response.headers.get('Cache-Control')).toBe('no-cache');
    expect(await response.text()).toBe(await (await node.fetch('/api/ledger/checkpoint')).text());
  });

  test('a tile is bytes that are kept for ever, and HEAD gives its length', async () => {
    const node = await openNodeOfSize(257);
    for (const [path, bytes] of [
      ['/log/tile/0/000', 8192],
      ['/log/tile/0/000.p/7', 224],
      ['/log/tile/0/001.p/1', 32],
      ['/log/tile/1/000.p/1', 32],
    ] as const) {
      const head = await node.fetch(path, { method: 'HEAD' });
      expect(head.headers.get('Content-Length'), path).toBe(String(bytes));
      const response = await node.fetch(path);
      expect(response.headers.get('Content-Type')).toBe('application/octet-stream');
      expect(response.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
      expect((await response.arrayBuffer()).byteLength).toBe(bytes);
    }
  });

  test('entries are compressed for who takes gzip, and for nobody else', async () => {
    const node = await openNodeOfSize(256);
    const ask = (encoding?: string) =>
      rawRequest(new URL('/log/tile/entries/000', node.url).href, {
        headers: encoding === undefined ? {} : { 'Accept-Encoding': encoding },
      });
    const plain = await ask();
    expect(plain.headers['content-encoding']).toBeUndefined();
    for (const encoding of ['identity', 'gzip;q=0', 'zstd']) {
      expect((await ask(encoding)).headers['content-encoding'], encoding).toBeUndefined();
    }
    const packed = await ask('br, gzip, identity;q=0.5');
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(Number(packed.headers['content-length'])).toBeLessThan(
      Number(plain.headers['content-length']) / 2,
    );
  });

  test('what the ledger does not have, and what is written in another way, is not found', async () => {
    const empty = await openTestNode();
    expect(await problemOf(empty.fetch('/log/tile/0/000.p/1'))).toMatchObject({ code: 'not_found' });
    const node = await openNodeOfSize(257);
    const beyond = ['0/001', '0/001.p/2', '0/002.p/1', '1/000', '1/000.p/2', '1/001.p/1', '2/000.p/1'];
    const far = ['63/000', '0/x999/x999/x999/x999/999', '63/x999/x999/x999/x999/999.p/255'];
    const bundles = ['entries/001', 'entries/001.p/2', 'entries/x001/000'];
    const levels = ['00/000', '64/000', '-1/000', '1e0/000', 'x/000', '/000', 'data/000', '0x0/000'];
    const indexes = ['0/0', '0/00', '0/0000', '0/x000/000', '0/001/000', '0/x001', '0/x01/000', '0/00a'];
    const widths = ['0', '00', '01', '256', '1000', '-1', '', 'x', '1/', '1.p/1'].map(
      (width) => `0/000.p/${width}`,
    );
    const others = ['0', '0/', '0/000/', '0/000.p', '0//000', '8/0/000', '0/000.p/1/000'];
    for (const path of [...beyond, ...far, ...bundles, ...levels, ...indexes, ...widths, ...others]) {
      const response = await rawRequest(new URL(`/log/tile/${path}`, node.url).href);
      expect(response.status, path).toBe(404);
      expect(response.headers).toMatchObject({
        'content-type': 'application/problem+json; charset=utf-8',
        'cache-control': 'no-store',
      });
      expect(JSON.parse(response.body), path).toMatchObject({ code: 'not_found' });
    }
    for (const path of ['/log', '/log/', '/log/tile', '/log/tile/', '/log/checkpoint/', '/log/other']) {
      const response = await node.fetch(path, { headers: { Accept: 'text/html' } });
      expect([path, response.status, response.headers.get('Content-Type')]).toEqual([
        path,
        404,
        'application/problem+json; charset=utf-8',
      ]);
    }
    expect(await problemOf(node.fetch('/log/tile/0/000', { method: 'POST' }))).toMatchObject({ status: 405 });
  });

  test('whoever may read the ledger may read the log, and nobody else', async () => {
    const node = await openTestNode();
    await growTo(node, 1);
    const crossSite = { headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' } };
    for (const path of ['/api/ledger', '/log/checkpoint', '/log/tile/0/000.p/1']) {
      expect(await problemOf(node.fetch(path, crossSite)), path).toMatchObject({ code: 'not_shared' });
      const wrong = node.fetch(path, { headers: { Authorization: 'Bearer wrong' } });
      expect(await problemOf(wrong), path).toMatchObject({ code: 'owner_required' });
    }
    await node.sendJson('PUT', '/manage/sharing', { mode: 'read', require_invitation: false });
    for (const path of ['/log/checkpoint', '/log/tile/0/000.p/1', '/log/tile/entries/000.p/1']) {
      const response = await node.fetch(path, crossSite);
      expect([response.status, response.headers.get('Access-Control-Allow-Origin')]).toEqual([200, '*']);
    }
  });
});
