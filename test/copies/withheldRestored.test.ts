import { appendFile, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateX25519Identity } from 'age-encryption';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addCopy, check, show, sync, verified, withhold } from './withheldCopies.ts';

/** Restoring a copy that has a withheld object encrypted, and holds the key. */

const PASSPHRASE = 'correct horse battery';
const SECRET = 'quibblesome';
const secret = sha256Of(SECRET);

let root: string;
let place: string;
let data: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  [place, data] = [join(root, 'copy'), join(root, 'data')];
  const node = await openTestNode({ dataFolder: data });
  await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET, 'b.txt': 'frangipane' });
  await withhold(node, { sha256: secret });
  const copy = await addCopy(node, place);
  await sync(node, copy);
  await appendFile(join(data, 'withheld.key'), `${await generateX25519Identity()}\n`);
  const answer = await node.sendJson('PUT', `/manage/copies/${copy.id}/key`, { passphrase: PASSPHRASE });
  expect(await answer.json()).toMatchObject({ has_key: true, has_withheld_key: true });
  await node.close();
});
afterEach(closeTestNodes);
afterAll(() => rm(root, { recursive: true }));

const restoredBlob = (folder: string) =>
  readFile(join(folder, 'blobs', secret.slice(0, 2), secret.slice(2, 4), secret), 'utf8');

test('restoring names what is encrypted and restores the rest without the key, and all of it with the passphrase', async () => {
  const without = join(await temporaryFolder(), 'without');
  const first = await runHere(['restore', place, '--data', without, '--json']);
  expect([first.code, JSON.parse(first.stdout)]).toEqual([
    1,
    expect.objectContaining({ ok: false, objects: 1, missing: [], encrypted: [secret] }),
  ]);
  const named = await runHere(['restore', place, '--data', join(await temporaryFolder(), 'named')]);
  expect(named.stderr).toContain(`${secret}: withheld`);
  const whole = join(await temporaryFolder(), 'whole');
  vi.stubEnv('STRONGROOM_PASSPHRASE', 'correct horse buttery');
  expect(await runHere(['restore', place, '--key', '--data', whole])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The passphrase is not that of the key') as string,
  });
  vi.stubEnv('STRONGROOM_PASSPHRASE', PASSPHRASE);
  expect(await runHere(['restore', place, '--key', '--data', whole])).toMatchObject({ code: 0, stderr: '' });
  expect(await restoredBlob(whole)).toBe(SECRET);
  for (const name of ['key', 'withheld.key']) {
    expect(await readFile(join(whole, name), 'utf8')).toBe(await readFile(join(data, name), 'utf8'));
    expect((await stat(join(whole, name))).mode & 0o777).toBe(0o600);
  }
  const node = await openTestNode({ dataFolder: whole });
  expect((await node.fetch(`/api/blobs/${secret}`)).status).not.toBe(404);
  expect(await (await node.fetch('/api/withheld')).json()).toMatchObject({ total: 1 });
});

test('restoring decrypts with the identity of the old data folder, and not with another one', async () => {
  const own = join(await temporaryFolder(), 'own');
  const key = join(data, 'withheld.key');
  expect(await runHere(['restore', place, '--data', own, '--identity', key])).toMatchObject({ code: 0 });
  expect(await restoredBlob(own)).toBe(SECRET);
  const other = join(await temporaryFolder(), 'other.key');
  await writeFile(other, `${await generateX25519Identity()}\n`);
  const failed = await runHere([
    'restore',
    place,
    '--data',
    join(await temporaryFolder(), 'failed'),
    '--identity',
    other,
    '--json',
  ]);
  expect([failed.code, JSON.parse(failed.stdout)]).toEqual([
    1,
    expect.objectContaining({ missing: [], encrypted: [secret] }),
  ]);
  const folder = join(await temporaryFolder(), 'said');
  const said = await runHere(['restore', place, '--data', folder, '--identity', other]);
  expect(said.stderr).toContain(`${secret}: withheld; the copy holds it encrypted to none of the keys`);
  expect(said.stderr).not.toContain('damaged');
  const joined = join(await temporaryFolder(), 'joined');
  const args = ['restore', place, '--data', joined, '--key', '--identity', other];
  vi.stubEnv('STRONGROOM_PASSPHRASE', PASSPHRASE);
  expect(await runHere(args)).toMatchObject({ code: 0 });
  expect(await restoredBlob(joined)).toBe(SECRET);
  const keys = await Promise.all([other, key].map((file) => readFile(file, 'utf8')));
  expect(await readFile(join(joined, 'withheld.key'), 'utf8')).toBe(keys.join(''));
});

test('the key in the copy decrypts also after the archive got a new one, which it is not', async () => {
  const renewed = join(await temporaryFolder(), 'renewed');
  await cp(data, renewed, { recursive: true });
  const taken = join(await temporaryFolder(), 'taken');
  await cp(place, taken, { recursive: true });
  expect(await runHere(['key', '--renew', '--data', renewed])).toMatchObject({ code: 0 });
  expect(await runHere(['copy', pathToFileURL(taken).href, '--pages', '--data', renewed])).toMatchObject({
    code: 0,
  });
  const folder = join(await temporaryFolder(), 'restored');
  vi.stubEnv('STRONGROOM_PASSPHRASE', PASSPHRASE);
  expect(await runHere(['restore', taken, '--key', '--data', folder])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('the archive got a new key later') as string,
  });
  expect(await restoredBlob(folder)).toBe(SECRET);
  expect(await readdir(folder)).not.toContain('key');
  expect(await runHere(['key', '--renew', '--data', folder])).toMatchObject({ code: 0 });
});

/** An archive that was restored from a copy, without the key unless it is given, and that took the copy over. */
async function takenOver(fields: object = {}, identity?: string) {
  const taken = join(await temporaryFolder(), 'taken');
  await cp(place, taken, { recursive: true });
  const folder = join(await temporaryFolder(), 'restored');
  const withKey = identity === undefined ? [] : ['--identity', identity];
  const restored = await runHere(['restore', taken, '--data', folder, ...withKey]);
  expect(restored).toMatchObject({ code: identity === undefined ? 1 : 0 });
  expect(await runHere(['key', '--renew', '--data', folder])).toMatchObject({ code: 0 });
  const node = await openTestNode({ dataFolder: folder });
  const copy = await addCopy(node, taken, fields);
  await sync(node, copy);
  return { taken, folder, node, copy };
}

test.each([true, false])(
  'an archive restored without the key takes the copy over, and gets what is encrypted there once the key is here (pages: %s)',
  async (pages) => {
    const { taken, folder, copy, ...first } = await takenOver({ pages });
    let { node } = first;
    await node.close();
    expect(await readdir(join(taken, 'withheld'))).toEqual([`${secret}.age`]);

    await appendFile(join(folder, 'withheld.key'), await readFile(join(data, 'withheld.key')));
    node = await openTestNode({ dataFolder: folder });
    expect(await check(node, copy)).toMatchObject({ damaged: 0, missing: 0, restored: 1, withheld: 1 });
    expect(await (await node.fetchAsOwner(`/api/blobs/${secret}`)).text()).toBe(SECRET);
    expect(await restoredBlob(folder)).toBe(SECRET);
    expect(
      await runHere([
        'restore',
        taken,
        '--data',
        join(await temporaryFolder(), 'again'),
        '--identity',
        join(folder, 'withheld.key'),
      ]),
    ).toMatchObject({ code: 0 });
  },
);

test.each([true, false])(
  'what was encrypted to a key that is lost is encrypted anew once its bytes are here again (pages: %s)',
  async (pages) => {
    const { taken, folder, node, copy } = await takenOver({ pages });
    await uploadNewPack(node, sampleRecord({ title: 'Again' }), { 'a.txt': SECRET });
    await sync(node, copy);
    expect(await readdir(join(taken, 'withheld'))).toEqual([`${secret}.age`]);
    expect(await verified(taken)).toMatchObject({ ok: true });
    expect(await check(node, copy)).toMatchObject({ ok: true });
    const again = join(await temporaryFolder(), 'again');
    const identity = join(folder, 'withheld.key');
    expect(await runHere(['restore', taken, '--data', again, '--identity', identity])).toMatchObject({
      code: 0,
    });
    expect(await restoredBlob(again)).toBe(SECRET);
  },
);

test('a copy that is taken over keeps the key that is there, until the owner removes it', async () => {
  const { taken, node, copy } = await takenOver();
  expect(await verified(taken)).toMatchObject({ ok: true, extra: [] });
  expect(await check(node, copy)).toMatchObject({ ok: true, extra: 0 });
  const removed = await node.fetchAsOwner(`/manage/copies/${copy.id}/key`, { method: 'DELETE' });
  expect(removed.status).toBe(204);
  expect(await readdir(taken)).not.toContain('key.age');
  expect(await verified(taken)).toMatchObject({ ok: true, missing: [] });
});

test('syncs, checks and new copies go on after a restore without the key, and the key put back helps', async () => {
  const { taken, folder, node, copy } = await takenOver();
  await show(node, { sha256: secret });
  await sync(node, copy);
  const [withPages, without] = [
    await addCopy(node, join(await temporaryFolder(), 'pages')),
    await addCopy(node, join(await temporaryFolder(), 'plain'), { pages: false }),
  ];
  for (const other of [withPages, without]) {
    await sync(node, other);
    expect(await check(node, other)).toMatchObject({ damaged: 0, missing: 0 });
  }
  // The only bytes that there are stay where they are.
  expect(await readdir(join(taken, 'withheld'))).toEqual([`${secret}.age`]);
  expect(await check(node, copy)).toMatchObject({ damaged: 0, missing: 0, restored: 0 });
  expect((await node.fetch(`/api/blobs/${secret}`)).status).toBe(500);
  await node.close();
  await appendFile(join(folder, 'withheld.key'), await readFile(join(data, 'withheld.key')));
  const again = await openTestNode({ dataFolder: folder });
  expect(await check(again, copy)).toMatchObject({ damaged: 0, missing: 0, restored: 1 });
  expect(await (await again.fetch(`/api/blobs/${secret}`)).text()).toBe(SECRET);
  for (const other of [copy, withPages, without]) {
    await sync(again, other);
    expect(await check(again, other)).toMatchObject({ ok: true });
  }
  expect(await readdir(join(taken, 'archive'))).toContain(secret);
  expect(await (await again.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
});

test('a copy that is taken over without pages keeps what is encrypted, and has it never in the clear', async () => {
  const { taken, node, copy } = await takenOver({ pages: false }, join(data, 'withheld.key'));
  expect(await readdir(join(taken, 'withheld'))).toEqual([`${secret}.age`]);
  expect(await readdir(join(taken, 'archive'))).not.toContain(secret);
  await show(node, { sha256: secret });
  await sync(node, copy);
  expect(await readdir(join(taken, 'archive'))).toContain(secret);
});
