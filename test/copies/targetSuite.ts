import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { restoreCopy } from '../../server/copies/restore.ts';
import { openTarget, type TargetAddress } from '../../server/copies/targets/openTarget.ts';
import { type CopyTarget, DamagedSourceError } from '../../server/copies/targets/target.ts';
import { verifyCopy } from '../../server/copies/verifyCopy.ts';
import type { Copy, CopyCheck } from '../../shared/node/copy.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { openTestNode, temporaryFolder } from '../support/node.ts';

/** An object store gets it in three parts. */
const LARGE_BYTES = 17 * 1_048_576;

const opened: CopyTarget[] = [];

/** For `afterEach`: closes the targets that a test opened. */
export async function closeTargets(): Promise<void> {
  for (const target of opened.splice(0)) await target.close();
}

/** Opens a target that the test need not close. */
export async function opening(address: TargetAddress): Promise<CopyTarget> {
  const target = await openTarget(address, { isNew: true });
  opened.push(target);
  return target;
}

export const TYPE = { type: 'application/octet-stream' };
const textOf = async (stream: Readable | undefined) => stream && (await buffer(stream)).toString();
const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function pathsIn(target: CopyTarget, folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of target.list(folder)) paths.push(path);
  return paths.sort();
}

/** Tests what every kind of target must do, in empty places of one kind. */
export function testTarget(kind: string, place: () => Promise<TargetAddress>): void {
  describe(kind, () => {
    test('keeps, replaces, lists and removes files', async () => {
      const target = await opening(await place());
      const put = (path: string, text: string) => target.put(path, { bytes: Buffer.from(text) }, TYPE);
      await put('checkpoint', 'one');
      await put('checkpoint', 'two');
      await put('tile/entries/x001/234.p/17', 'tile');
      await put('tile/0/000', '');
      await target.flush();
      expect(await textOf(await target.read('checkpoint'))).toBe('two');
      expect(await textOf(await target.read('tile/0/000'))).toBe('');
      expect(await target.read('archive/missing')).toBeUndefined();
      expect(await pathsIn(target, '')).toEqual(['checkpoint', 'tile/0/000', 'tile/entries/x001/234.p/17']);
      expect(await pathsIn(target, 'tile/entries/')).toEqual(['tile/entries/x001/234.p/17']);
      expect(await pathsIn(target, 'archive/')).toEqual([]);
      await target.remove(['checkpoint']);
      await target.remove(['checkpoint']);
      expect(await target.read('checkpoint')).toBeUndefined();
    });

    test('takes a large file whole, and nothing of a damaged one', async () => {
      const target = await opening(await place());
      const bytes = randomBytes(LARGE_BYTES);
      const file = join(await temporaryFolder(), 'large');
      await writeFile(file, bytes);
      const payload = { file, size: bytes.length, sha256: sha256Of(bytes) };
      await target.put('archive/large', payload, TYPE);
      await target.flush();
      expect(sha256Of(await buffer((await target.read('archive/large')) as Readable))).toBe(payload.sha256);
      const damaged = target.put('archive/damaged', { ...payload, sha256: sha256Of(Buffer.from('x')) }, TYPE);
      await expect(damaged).rejects.toThrow(DamagedSourceError);
      expect(await target.read('archive/damaged')).toBeUndefined();
      const missing = target.put('archive/damaged', { ...payload, file: `${file}-missing` }, TYPE);
      await expect(missing).rejects.toThrow(DamagedSourceError);
      await target.flush();
      expect(await pathsIn(target, 'archive/')).toEqual(['archive/large']);
    });

    test.each([1_000, LARGE_BYTES])('gives %i bytes back only if they have their digest', async (size) => {
      const target = await opening(await place());
      const bytes = randomBytes(size);
      const sha256 = sha256Of(bytes);
      await target.put('archive/one', { bytes }, TYPE);
      await target.flush();
      const read: number[] = [];
      const found = await target.digestOf('archive/one', undefined, (count) => void read.push(count));
      expect(found).toEqual({ sha256, bytes: size });
      expect(read.reduce((sum, count) => sum + count, 0)).toBe(size);
      expect(await target.digestOf('archive/none')).toBeUndefined();
      const folder = await temporaryFolder();
      const file = join(folder, 'a', 'b', 'one');
      expect(await target.fetch('archive/one', { file, sha256, bytes: size })).toBe(true);
      expect(sha256Of(await readFile(file))).toBe(sha256);
      const wrong = { file: join(folder, 'wrong'), sha256: sha256Of(Buffer.from('x')) };
      expect(await target.fetch('archive/one', { ...wrong, bytes: size })).toBe(false);
      // It is much larger than it should be.
      expect(await target.fetch('archive/one', { ...wrong, bytes: 10 })).toBe(false);
      expect(await target.fetch('archive/none', { ...wrong, bytes: size })).toBe(false);
      expect(existsSync(wrong.file)).toBe(false);
    });

    test('lists files that were put at the same time', async () => {
      const target = await opening(await place());
      const paths = Array.from({ length: 25 }, (_, index) => `archive/${String(index).padStart(5, '0')}`);
      const left = [...paths];
      const work = async () => {
        for (let path = left.pop(); path !== undefined; path = left.pop())
          await target.put(path, { bytes: Buffer.from(path) }, TYPE);
      };
      await Promise.all(Array.from({ length: target.concurrency }, work));
      await target.flush();
      expect(await pathsIn(target, 'archive/')).toEqual(paths);
    });

    test('holds a copy that is checked, mended, verified and restored', async () => {
      const address = await place();
      const node = await openTestNode();
      const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
      const added = await node.sendJson('POST', '/manage/copies', address);
      expect(added.status, await added.clone().text()).toBe(201);
      const text = await added.text();
      if (address.secret_key) expect(text).not.toContain(address.secret_key);
      const { id } = JSON.parse(text) as Copy;
      const sync = await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
      expect(await sync.json()).toMatchObject({ objects: 2, bytes: 6, records: 1 });

      const target = await opening(address);
      await target.put(`archive/${files[0]?.sha256}`, { bytes: Buffer.from('owe') }, TYPE);
      await target.remove([`archive/${files[1]?.sha256}`]);
      await target.flush();
      const check = async () => {
        const answer = await node.sendJson('POST', `/manage/copies/${id}/check?wait=true`, {});
        return (await answer.json()) as CopyCheck;
      };
      expect(await check()).toMatchObject({ ok: false, damaged: 1, missing: 1 });
      expect(await check()).toMatchObject({ ok: true });
      const { signal } = new AbortController();
      expect(await verifyCopy(target, { signal, progress: () => {} })).toMatchObject({
        ok: true,
        objects: 2,
      });

      const head = await (await node.fetch('/api/ledger')).json();
      const folder = join(await temporaryFolder(), 'restored');
      const restored = await restoreCopy({ target, folder, clock: systemClock, signal, progress: () => {} });
      expect(restored).toMatchObject({ objects: 2, bytes: 6, missing: [] });
      const reader = await openTestNode({ dataFolder: folder });
      expect(await (await reader.fetch('/api/ledger')).json()).toEqual(head);
      expect(await (await reader.fetch(`/api/blobs/${files[0]?.sha256}`)).text()).toBe('one');
    });
  });
}
