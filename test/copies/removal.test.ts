import fs, { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import type { CopyTarget } from '../../server/copies/targets/target.ts';
import type { Copy } from '../../shared/node/copy.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { VersionedStore } from '../support/network/versionedStore.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

const TYPE = { type: 'text/plain' };

let store: VersionedStore | undefined;
let target: CopyTarget | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await target?.close();
  target = undefined;
  await closeTestNodes();
  await store?.close();
});

async function opened(refuses: ConstructorParameters<typeof VersionedStore>[0] = {}) {
  store = new VersionedStore(refuses);
  const address = await store.open();
  target = await openTarget(address);
  return { store, address, target };
}

const paths = (count: number) => Array.from({ length: count }, (_, index) => `files/${index}`);

async function putAll(into: CopyTarget, names: readonly string[]): Promise<void> {
  for (const path of names) await into.put(path, { bytes: Buffer.from(path) }, TYPE);
}

describe('files of a bucket are removed', () => {
  test('with one request for 1,000 of them, and with none left', async () => {
    const { store, target } = await opened();
    // Those that are not there cost the same.
    await putAll(target, paths(3));
    store.requests = [];
    await target.remove(paths(1_001));
    expect(store.requests).toEqual(['POST delete', 'DELETE object']);
    expect(store.paths()).toEqual([]);
  });

  test.each([400, 405, 501])(
    'one by one where the store answers %i to that, and is not asked again',
    async (many) => {
      const { store, target } = await opened({ many });
      await putAll(target, paths(3));
      store.requests = [];
      await target.remove(paths(2));
      await target.remove([...paths(3), 'files/none']);
      expect(store.requests.filter((each) => each === 'POST delete')).toHaveLength(1);
      expect(store.paths()).toEqual([]);
    },
  );

  test('and the first that the store keeps is named', async () => {
    const { store, target } = await opened({ kept: (key) => key.endsWith('/1') || key.endsWith('/2') });
    await putAll(target, paths(4));
    await expect(target.remove(paths(4))).rejects.toThrow(
      'The store did not remove 2 of 4 files from s3://bucket/copy/, the first of them copy/files/1: AccessDenied.',
    );
    expect(store.paths()).toEqual(['files/1', 'files/2']);
  });

  test('with their older versions, and what marks them as deleted', async () => {
    const { store, target } = await opened();
    const names = ['files/1', 'files/10', 'files/2'];
    for (let round = 0; round < 3; round += 1) await putAll(target, names);
    expect(await target.purge(['files/1', 'files/2'])).toBe(true);
    expect(names.map((path) => store.versionsOf(path).length)).toEqual([0, 3, 0]);
    expect(await target.forgetVersions(['files/10'])).toBe(true);
    expect(store.versionsOf('files/10')).toHaveLength(1);
  });

  test.each([{ versions: 403 }, { versions: 501 }])(
    'and the answer says if versions may be left: %j',
    async (refuses) => {
      const { target } = await opened(refuses);
      await putAll(target, ['files/1']);
      expect(await target.purge(['files/1'])).toBe(false);
    },
  );
});

describe('the key in a bucket that keeps versions', () => {
  async function withKey(refuses: ConstructorParameters<typeof VersionedStore>[0] = {}) {
    const { store, address } = await opened(refuses);
    const node = await openTestNode();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const added = await node.sendJson('POST', '/manage/copies', address);
    const { id } = (await added.json()) as Copy;
    const keepKey = (passphrase: string) => node.sendJson('PUT', `/manage/copies/${id}/key`, { passphrase });
    const removeKey = () => node.fetchAsOwner(`/manage/copies/${id}/key`, { method: 'DELETE' });
    expect((await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' })).status).toBe(
      200,
    );
    expect((await keepKey('a long passphrase')).status).toBe(200);
    return { store, node, id, keepKey, removeKey };
  }

  test('is removed with every version of it', async () => {
    const { store, keepKey, removeKey } = await withKey();
    expect((await keepKey('another long passphrase')).status).toBe(200);
    // What the first passphrase opens is gone.
    expect(store.versionsOf('key.age')).toHaveLength(1);
    expect((await removeKey()).status).toBe(204);
    expect(store.versionsOf('key.age')).toEqual([]);
  });

  test('is said to have older versions that the access key may not remove', async () => {
    const { node, id, keepKey, removeKey } = await withKey({ versions: 403 });
    const sentence =
      'keep older versions of key.age, which this access key may not see or delete. Remove them there.';
    for (const [ask, what] of [
      [() => keepKey('another long passphrase'), 'stored'],
      [removeKey, 'removed'],
    ] as const) {
      const refused = await problemOf(ask());
      expect(refused).toMatchObject({ status: 502, code: 'copy_failed' });
      expect(refused.detail).toContain(
        `The key was ${what}, but the bucket of s3://bucket/copy/ may ${sentence}`,
      );
    }
    const { items } = (await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] };
    expect(items).toMatchObject([
      { id, has_key: false, last_error: expect.stringContaining(sentence) as string },
    ]);
  });
});

// Windows syncs no folders.
test.skipIf(process.platform === 'win32')(
  'the key in a folder does not come back after a power cut: the folder is synced once it is removed',
  async () => {
    const folder = join(await temporaryFolder(), 'copy');
    target = await openTarget({ target: pathToFileURL(folder).href }, { isNew: true });
    const [key, other] = [join(folder, 'key.age'), join(folder, 'files/1')];
    await putAll(target, ['key.age', 'files/1']);
    await target.flush();
    expect([existsSync(key), existsSync(other)]).toEqual([true, true]);
    const opened = new Map<number, string>();
    const synced: string[] = [];
    const { openSync, fsync } = fs;
    vi.spyOn(fs, 'openSync').mockImplementation((path, ...how) => {
      const descriptor = openSync(path, ...how);
      opened.set(descriptor, String(path));
      return descriptor;
    });
    vi.spyOn(fs, 'fsync').mockImplementation((descriptor, callback) => {
      const left = [key, other].filter((file) => existsSync(file)).length;
      synced.push(`${opened.get(descriptor)} with ${left} of them`);
      fsync(descriptor, callback);
    });
    syncBuiltinESMExports();
    expect(await target.purge(['key.age', 'files/1', 'gone/2'])).toBe(true);
    expect(synced).toEqual([`${folder} with 0 of them`, `${join(folder, 'files')} with 0 of them`]);
  },
);
