import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { GetBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openArchiveForWriting } from '../../server/collection/record/coverRetrievals.ts';
import { openTarget, type TargetAddress } from '../../server/copies/targets/openTarget.ts';
import { verifyCopy } from '../../server/copies/verifyCopy.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { type CommandResult, runCommand } from '../support/cli.ts';
import type { ObjectStore } from '../support/network/objectStore.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { requireOnLinux } from '../support/requirements.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { sharedObjectStore } from '../support/trials.ts';
import { putEncrypted } from './earlierCopy.ts';
import { release, show, withhold } from './withheldCopies.ts';

const BUCKET = 'withheld-tests';
const PRELOAD = new URL('./killAtRequest.ts', import.meta.url).href;
const SECRET = 'quibblesome';
const sha256 = sha256Of(SECRET);
const KILLS = 4;
/** A sync that cleans a copy of one pack sends about so many requests; each is two steps. */
const STEPS = 90;
/** Set STRONGROOM_SEED to reproduce a failure. */
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_122);

const store = sharedObjectStore();
beforeAll(async () => store?.createBucket(BUCKET));
afterEach(closeTestNodes);
afterAll(async () => store?.close());

/** Returns the paths of what a bucket holds with the secret word, and verifies everything that the checkpoint covers. */
async function examine(place: TargetAddress, when: string, isKilled = false): Promise<string[]> {
  const target = await openTarget(place);
  try {
    const { signal } = new AbortController();
    const verified = await verifyCopy(target, { signal, progress: () => {} });
    expect(verified, when).toMatchObject({ damaged: [], missing: [], extra: [] });
    // Between its list and the removal, a killed sync leaves in the clear what is withheld, and nothing else is wrong.
    if (!verified.ok) expect([isKilled, verified.exposed], when).toEqual([true, [`archive/${sha256}`]]);
    const found: string[] = [];
    for await (const { path } of target.list('')) {
      const stream = await target.read(path);
      if (stream && (await buffer(stream)).includes(SECRET)) found.push(path);
    }
    return found;
  } finally {
    await target.close();
  }
}

interface BucketCopy {
  place: TargetAddress;
  data: string;
  /** Runs a sync in a process of its own, which is killed at a step; 0: never. */
  copy: (step: number) => Promise<CommandResult>;
  asOwner: (work: (node: TestNode) => Promise<unknown>) => Promise<void>;
}

/** A bucket with pages that has a secret object in the clear. */
async function copiedSecret(prefix: string): Promise<BucketCopy> {
  const { endpoint, region, access_key, secret_key } = store as ObjectStore;
  const place = { target: `s3://${BUCKET}/${prefix}`, endpoint, region, access_key, secret_key };
  const data = join(await temporaryFolder(), 'data');
  const where = ['--endpoint', endpoint, '--region', region, '--data', data];
  const copy = (step: number) =>
    runCommand(['copy', place.target, '--pages', ...where, '--json'], undefined, {
      AWS_ACCESS_KEY_ID: access_key,
      AWS_SECRET_ACCESS_KEY: secret_key,
      NODE_OPTIONS: `--import=${PRELOAD}`,
      STRONGROOM_TEST_KILL_PORT: new URL(endpoint).port,
      STRONGROOM_TEST_KILL_AT: String(step),
    });
  const asOwner = async (work: (node: TestNode) => Promise<unknown>) => {
    const node = await openTestNode({ dataFolder: data });
    await work(node);
    await node.close();
  };
  await asOwner((node) => uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET }));
  expect(await copy(0)).toMatchObject({ code: 0, stderr: '' });
  expect(await examine(place, 'at first')).toEqual([`archive/${sha256}`]);
  return { place, data, copy, asOwner };
}

test.for([1, 2, 3])(
  'a bucket that is cleaned by a sync killed at any request shows nothing after the next one, and loses nothing (%i)',
  async (part, { skip }) => {
    requireOnLinux(store !== undefined, 'This machine does not have an object store.', skip);
    const { place, copy, asOwner } = await copiedSecret(`cleaned-${part}`);
    const random = seededRandom(SEED + part);
    let killed = 0;
    for (let round = 1; round <= KILLS; round += 1) {
      // It is withheld and shown in turn.
      const isHidden = round % 2 === 1;
      const step = 1 + Math.floor(random() * STEPS);
      const when = `STRONGROOM_SEED=${SEED}, part ${part}, round ${round}, step ${step}`;
      await asOwner((node) => (isHidden ? withhold(node, { sha256 }) : show(node, { sha256 })));
      const { code, stderr } = await copy(step);
      expect(code === null || code === 0, `${when}: ${stderr}`).toBe(true);
      if (code === null) killed += 1;
      await examine(place, when, code === null);
      expect((await copy(0)).code, when).toBe(0);
      expect(await examine(place, when), when).toEqual(isHidden ? [] : [`archive/${sha256}`]);
    }
    expect(killed).toBeGreaterThanOrEqual(1);
  },
);

test('a bucket that an earlier version left something encrypted in is cleaned by a sync killed at any request, and nothing is lost', async ({
  skip,
}) => {
  requireOnLinux(store !== undefined, 'This machine does not have an object store.', skip);
  const { place, data, copy, asOwner } = await copiedSecret('earlier');
  await asOwner((node) => withhold(node, { sha256 }));
  expect((await copy(0)).code).toBe(0);
  const here = join(data, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  const encrypted = `withheld/${sha256}.age`;
  const has = async (path: string) => {
    const target = await openTarget(place);
    try {
      return (await target.digestOf(path)) !== undefined;
    } finally {
      await target.close();
    }
  };
  const random = seededRandom(SEED);
  for (let round = 1; round <= KILLS; round += 1) {
    // Only the copy has it.
    const opened = await openArchiveForWriting({ folder: data, clock: systemClock, warn: () => {} });
    await putEncrypted({ ...opened, compare: async () => undefined }, place, SECRET);
    await opened.store.close();
    await rm(here);
    const step = 1 + Math.floor(random() * STEPS);
    const when = `STRONGROOM_SEED=${SEED}, round ${round}, step ${step}`;
    const { code, stderr } = await copy(step);
    expect(code === null || code === 0, `${when}: ${stderr}`).toBe(true);
    expect(existsSync(here) || (await has(encrypted)), when).toBe(true);
    expect(await examine(place, when, code === null), when).toEqual([]);
    expect((await copy(0)).code, when).toBe(0);
    expect(await readFile(here, 'utf8'), when).toBe(SECRET);
    expect(await has(encrypted), when).toBe(false);
    expect(await examine(place, when), when).toEqual([]);
  }
});

test('a bucket is cleaned of what is withheld, and then of what is released', async ({ skip }) => {
  requireOnLinux(store !== undefined, 'This machine does not have an object store.', skip);
  const { place, copy, asOwner } = await copiedSecret('released');
  await asOwner((node) => withhold(node, { sha256 }));
  expect(JSON.parse((await copy(0)).stdout)).toMatchObject({
    withheld_cleaned: 1,
    withheld_in_the_clear: 0,
    older_versions: false,
  });
  expect(await examine(place, 'withheld')).toEqual([]);
  await asOwner((node) => release(node, sha256));
  expect(JSON.parse((await copy(0)).stdout)).toMatchObject({ ok: true });
  expect(await examine(place, 'released')).toEqual([]);
  const target = await openTarget(place);
  expect(await target.read(`archive/${sha256}`)).toBeUndefined();
  await target.close();
});

test('the store is asked whether it keeps older versions', async ({ skip }) => {
  requireOnLinux(store !== undefined, 'This machine does not have an object store.', skip);
  const { endpoint, region, access_key, secret_key } = store as ObjectStore;
  const credentials = { accessKeyId: access_key, secretAccessKey: secret_key };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  const { Status } = await client.send(new GetBucketVersioningCommand({ Bucket: BUCKET }));
  expect(Status).toBeUndefined();
  const target = await openTarget({
    target: `s3://${BUCKET}/purged`,
    endpoint,
    region,
    access_key,
    secret_key,
  });
  await target.put('archive/a', { bytes: Buffer.from('x') }, { type: 'text/plain' });
  expect(await target.purge(['archive/a', 'archive/b'])).toBe(true);
  expect(await target.read('archive/a')).toBeUndefined();
  await target.close();
  client.destroy();
});
