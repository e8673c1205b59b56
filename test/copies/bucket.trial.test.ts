import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openTarget, type TargetAddress } from '../../server/copies/targets/openTarget.ts';
import { verifyCopy } from '../../server/copies/verifyCopy.ts';
import type { Copy } from '../../shared/node/copy.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { type CommandResult, runCommand } from '../support/cli.ts';
import type { ObjectStore } from '../support/network/objectStore.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { requireOnLinux } from '../support/requirements.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { sharedObjectStore } from '../support/trials.ts';
import { closeTargets, opening, TYPE, testTarget } from './targetSuite.ts';

const BUCKET = 'bucket-tests';
const PRELOAD = new URL('./killAtRequest.ts', import.meta.url).href;
const SYNCS = 8;
/** A sync of a new pack sends so many requests, of which several are after its checkpoint; each is two steps. */
const STEPS = 30;
/** More than the store lists in one response, which is ten. */
const LISTED = 25;
/** Set STRONGROOM_SEED to reproduce a failure. */
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_122);

const store = sharedObjectStore();
beforeAll(async () => store?.createBucket(BUCKET));
afterEach(async () => {
  await closeTargets();
  await closeTestNodes();
});
afterAll(async () => store?.close());

/** The address of a place in the bucket. */
function placeIn(prefix: string, skip: (isSkipped: boolean, why: string) => void): TargetAddress {
  requireOnLinux(store !== undefined, 'This machine does not have an object store.', skip);
  const { endpoint, region, access_key, secret_key } = store as ObjectStore;
  return { target: `s3://${BUCKET}/${prefix}`, endpoint, region, access_key, secret_key };
}

/** An empty place in the bucket. */
function emptyPlace({ endpoint, region, access_key, secret_key }: ObjectStore): TargetAddress {
  const target = `s3://${BUCKET}/${randomBytes(6).toString('hex')}`;
  return { target, endpoint, region, access_key, secret_key };
}

test('lists more files than one response of the store has', async ({ skip }) => {
  const target = await openTarget(placeIn('listed', skip));
  const paths = Array.from({ length: LISTED }, (_, index) => `archive/${String(index).padStart(5, '0')}`);
  const left = [...paths];
  const work = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop())
      await target.put(path, { bytes: Buffer.from('x') }, { type: 'text/plain' });
  };
  await Promise.all(Array.from({ length: target.concurrency }, work));
  const found: string[] = [];
  for await (const { path } of target.list('archive/')) found.push(path);
  expect(found.sort()).toEqual(paths);
  await target.close();
});

test('a sync killed at any request leaves a copy that is intact, and the next sync goes on', async ({
  skip,
}) => {
  const place = placeIn('killed', skip);
  const { target: address, endpoint = '', region = '', access_key = '', secret_key = '' } = place;
  const random = seededRandom(SEED);
  const data = join(await temporaryFolder(), 'data');
  const copy = (step: number): Promise<CommandResult> =>
    runCommand(
      ['copy', address, '--endpoint', String(endpoint), '--region', String(region), '--data', data],
      undefined,
      {
        AWS_ACCESS_KEY_ID: String(access_key),
        AWS_SECRET_ACCESS_KEY: String(secret_key),
        NODE_OPTIONS: `--import=${PRELOAD}`,
        STRONGROOM_TEST_KILL_PORT: new URL(String(endpoint)).port,
        STRONGROOM_TEST_KILL_AT: String(step),
      },
    );
  const verifiedSize = async (when: string): Promise<number> => {
    const target = await openTarget(place);
    try {
      if (!(await target.read('checkpoint'))) return 0;
      const { signal } = new AbortController();
      const verified = await verifyCopy(target, { signal, progress: () => {} });
      expect(verified, when).toMatchObject({ ok: true, damaged: [], missing: [] });
      return verified.head?.checkpoint.size ?? 0;
    } finally {
      await target.close();
    }
  };
  let killed = 0;
  let held = 0;
  let size = 0;
  for (let sync = 1; sync <= SYNCS; sync += 1) {
    const node = await openTestNode({ dataFolder: data });
    const title = `Pack ${sync}`;
    size = (await uploadNewPack(node, sampleRecord({ title }), { 'a.txt': title })).ledger_entry;
    await node.close();
    const step = 1 + Math.floor(random() * STEPS);
    const when = `STRONGROOM_SEED=${SEED}, sync ${sync}, step ${step}`;
    const { code, stderr } = await copy(step);
    expect(code === null || code === 0, `${when}: ${stderr}`).toBe(true);
    if (code === null) killed += 1;
    const now = await verifiedSize(when);
    expect(now, when).toBeGreaterThanOrEqual(held);
    held = now;
    if (code === 0) expect(held, when).toBe(size);
  }
  expect(killed).toBeGreaterThanOrEqual(SYNCS / 2);
  expect(await copy(0)).toMatchObject({ code: 0, stderr: '' });
  expect(await verifiedSize('after the last sync')).toBe(size);
});

test('an object that left for a bucket is read whole and in ranges, and is withheld when other bytes are there', async ({
  skip,
}) => {
  const place = placeIn('offloaded', skip);
  const node = await openTestNode();
  const bytes = Buffer.concat([0, 1, 2, 3, 4].map((piece) => Buffer.alloc(1_048_576, `piece ${piece}`)));
  const { files } = await uploadNewPack(node, sampleRecord(), { 'a.bin': bytes });
  const added = await node.sendJson('POST', '/manage/copies', place);
  const { id } = (await added.json()) as Copy;
  await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  await node.sendJson('POST', `/manage/copies/${id}/check?wait=true`, {});
  await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
  await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
  expect(await (await node.fetchAsOwner('/manage/offload')).json()).toMatchObject({ offloaded_objects: 1 });
  const path = `/api/blobs/${files[0]?.sha256}`;
  expect(Buffer.from(await (await node.fetch(path)).arrayBuffer()).equals(bytes)).toBe(true);
  const read = (range: string) => node.fetch(path, { headers: { Range: range } });
  const range = await read('bytes=1048570-3145740');
  expect(Buffer.from(await range.arrayBuffer()).equals(bytes.subarray(1_048_570, 3_145_741))).toBe(true);
  const target = await openTarget(place);
  await target.put(
    `archive/${files[0]?.sha256}`,
    { bytes: Buffer.from(bytes.subarray(0, 2_000_000)) },
    { type: 'text/plain' },
  );
  await target.close();
  expect((await read('bytes=0-9')).status).toBe(206);
  expect(await problemOf(read('bytes=1999990-2000010'))).toMatchObject({ code: 'blob_damaged' });
  expect(await problemOf(read('bytes=4000000-4000010'))).toMatchObject({ code: 'blob_damaged' });
});

test('the settings of a copy can be changed, and its address only to one where it is found', async ({
  skip,
}) => {
  const { target, ...address } = placeIn('changed', skip);
  const node = await openTestNode();
  const added = await node.sendJson('POST', '/manage/copies', { target, ...address });
  const { id } = (await added.json()) as Copy;
  const change = async (body: object) => node.sendJson('PATCH', `/manage/copies/${id}`, body);
  expect(await (await change({ every_minutes: 90 })).json()).toMatchObject({
    every_minutes: 90,
    pages: false,
  });
  expect(await (await change({ every_minutes: null })).json()).toMatchObject({ every_minutes: null });
  const elsewhere = await change({ endpoint: 'http://127.0.0.1:9' });
  expect(await problemOf(elsewhere)).toMatchObject({ status: 502, code: 'copy_failed' });
  const wrongKey = await change({ access_key: 'other', secret_key: 'other' });
  expect(await problemOf(wrongKey)).toMatchObject({ status: 502, code: 'copy_failed' });
  expect(await problemOf(await change({ access_key: 'alone' }))).toMatchObject({ code: 'invalid_field' });
  const { access_key, secret_key, endpoint } = address;
  const renewed = await change({ access_key, secret_key, region: null });
  expect(await renewed.json()).toMatchObject({ endpoint, region: null, has_credentials: true });
  const synced = await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  expect(synced.status).toBe(200);
});

if (store) testTarget('an object store', async () => emptyPlace(store));

test('a bucket serves the pages to anyone, and objects as bytes', async ({ skip }) => {
  const address = placeIn('served', skip);
  const node = await openTestNode();
  const { id: pack, files } = await uploadNewPack(node, sampleRecord(), { 'a.html': '<script></script>' });
  const answer = await node.sendJson('POST', '/manage/copies', { ...address, pages: true });
  const { id } = (await answer.json()) as Copy;
  const sync = await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  expect(sync.status, await sync.clone().text()).toBe(200);
  const bucket = await (store as ObjectStore).publish(BUCKET);
  const url = `${bucket}${address.target.split('/').at(-1)}/`;
  const typeOf = async (path: string) => {
    const read = await fetch(url + path);
    expect(read.status, path).toBe(200);
    return read.headers.get('Content-Type');
  };
  expect(await typeOf('index.html')).toBe('text/html; charset=utf-8');
  expect(await typeOf(`packs/${pack}.html`)).toBe('text/html; charset=utf-8');
  expect(await typeOf('assets/verify.js')).toBe('text/javascript; charset=utf-8');
  expect(await typeOf('events.atom')).toBe('application/atom+xml; charset=utf-8');
  expect(await typeOf(`archive/${files[0]?.sha256}`)).toBe('application/octet-stream');
});

describe('the reason is one sentence', () => {
  const cases: [string, Partial<TargetAddress>, string][] = [
    ['a wrong key', { secret_key: 'wrong' }, 'refuses access'],
    ['a missing bucket', { target: 's3://nowhere/a' }, 'There is no bucket nowhere'],
    ['a store that does not answer', { endpoint: 'http://127.0.0.1:9' }, 'does not answer'],
  ];
  for (const [what, changed, expected] of cases) {
    test(`of ${what}`, async ({ skip }) => {
      const target = await opening({ ...placeIn('refused', skip), ...changed });
      await expect(target.put('checkpoint', { bytes: Buffer.from('x') }, TYPE)).rejects.toThrow(expected);
    });
  }
});
