import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openTarget, type TargetAddress } from '../../server/copies/targets/openTarget.ts';
import type { Copy } from '../../shared/node/copy.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { end, serveNode } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import type { ObjectStore } from '../support/network/objectStore.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { requireOnLinux } from '../support/requirements.ts';
import { sharedObjectStore } from '../support/trials.ts';
import { addCopy, check, copyOf, drill, sync, verified, withhold } from './withheldCopies.ts';

const BUCKET = 'drill-tests';
const store = sharedObjectStore();
beforeAll(async () => store?.createBucket(BUCKET));
afterEach(closeTestNodes);
afterAll(async () => store?.close());

test('an archive is restored from a bucket, without what is withheld, and what is wrong is said', async ({
  skip,
}) => {
  requireOnLinux(store !== undefined, 'This machine does not have an object store.', skip);
  const { endpoint, region, access_key, secret_key } = store as ObjectStore;
  const place: TargetAddress = { target: `s3://${BUCKET}/a`, endpoint, region, access_key, secret_key };
  const node = await openTestNode();
  const files = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`${index}.txt`, `object ${index}`]),
  );
  await uploadNewPack(node, sampleRecord(), { ...files, 'large.bin': Buffer.alloc(9_000_000, 'large') });
  await withhold(node, { sha256: sha256Of('object 1') });
  const added = await node.sendJson('POST', '/manage/copies', { ...place, pages: true });
  const copy = (await added.json()) as Copy;
  await sync(node, copy);
  const drilled = await drill(node, copy);
  expect(drilled).toMatchObject({ outcome: 'restored', restored: { objects: 40, all_objects: 40 } });
  const target = await openTarget(place);
  await target.remove([`archive/${sha256Of('object 2')}`]);
  expect(await drill(node, copy)).toMatchObject({ outcome: 'damaged', restored: { objects: 39 } });
  await check(node, copy);
  expect(await drill(node, copy)).toMatchObject({ outcome: 'restored', restored: { objects: 40 } });
  await target.remove(['strongroom.json']);
  await target.close();
  expect(await drill(node, copy)).toMatchObject({
    outcome: 'unreachable',
    sentence: expect.stringContaining('holds no copy'),
  });
});

test('a node killed in the middle of a drill removes what is left at its next start, and harms nothing', async () => {
  const data = join(await temporaryFolder(), 'data');
  const place = join(await temporaryFolder(), 'copy');
  const node = await openTestNode({ dataFolder: data });
  const files = Object.fromEntries(
    Array.from({ length: 900 }, (_, index) => [`${index}.txt`, `object ${index}`]),
  );
  await uploadNewPack(node, sampleRecord(), files);
  const copy = await addCopy(node, place, { pages: false });
  await sync(node, copy);
  await node.close();
  const left = async (within = '') => {
    const [folder = ''] = (await readdir(join(data, 'tmp'))).filter((name) =>
      name.startsWith('restore-drill-'),
    );
    return readdir(join(data, 'tmp', folder, within));
  };
  // Killed while the records are assembled, and while the objects are restored.
  for (const sign of ['archive.restoring-records', 'archive.restoring/blobs']) {
    const served = await serveNode(data);
    const token = await readFile(served.token_file, 'utf8');
    const started = await fetch(`${served.url}/manage/copies/${copy.id}/drill`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(started.status).toBe(202);
    await eventually(async () => expect((await left(sign)).length).toBeGreaterThan(0));
    await end(served, 'SIGKILL');
    expect((await left()).length).toBeGreaterThan(0);
    const again = await openTestNode({ dataFolder: data });
    expect(await readdir(join(data, 'tmp'))).toEqual([]);
    expect(await copyOf(again)).toMatchObject({ last_drill: null, behind: 0 });
    await again.close();
  }
  expect(await verified(place)).toMatchObject({ ok: true, objects: 900 });
  const whole = await openTestNode({ dataFolder: data });
  expect(await drill(whole, copy)).toMatchObject({ outcome: 'restored', restored: { objects: 900 } });
});
