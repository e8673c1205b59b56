import { existsSync } from 'node:fs';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generateX25519Identity } from 'age-encryption';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { openArchiveForWriting } from '../../server/collection/record/coverRetrievals.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { audit } from '../fixity/support.ts';
import { addPeer, mirror } from '../peers/support.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { putEncrypted } from './earlierCopy.ts';
import { addCopy, check, copyOf, filesWith, show, sync, verified, withhold } from './withheldCopies.ts';

/** Restoring a copy with pages, which does not have a withheld object, and what happens to the object afterwards. */

const PASSPHRASE = 'correct horse battery';
const SECRET = 'quibblesome';
const secret = sha256Of(SECRET);

let root: string;
/** The copy with pages, which holds the key, and one without. */
let place: string;
let backup: string;
let data: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  [place, backup, data] = [join(root, 'copy'), join(root, 'backup'), join(root, 'data')];
  const node = await openTestNode({ dataFolder: data });
  await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET, 'b.txt': 'frangipane' });
  await withhold(node, { sha256: secret });
  const copy = await addCopy(node, place);
  await sync(node, copy);
  const answer = await node.sendJson('PUT', `/manage/copies/${copy.id}/key`, { passphrase: PASSPHRASE });
  expect(await answer.json()).toMatchObject({ has_key: true, has_withheld_key: true });
  await sync(node, await addCopy(node, backup, { pages: false }));
  await node.close();
});
afterEach(closeTestNodes);
afterAll(() => rm(root, { recursive: true }));

const fileIn = (folder: string) => join(folder, 'blobs', secret.slice(0, 2), secret.slice(2, 4), secret);

/** A copy of a folder, which may be changed. */
async function own(folder: string): Promise<string> {
  const copied = join(await temporaryFolder(), 'own');
  await cp(folder, copied, { recursive: true });
  return copied;
}

test('restoring says how many withheld objects the copy does not have, and restores the rest and the keys', async () => {
  const folder = join(await temporaryFolder(), 'restored');
  const first = await runHere(['restore', place, '--data', folder, '--json']);
  expect([first.code, JSON.parse(first.stdout)]).toEqual([
    0,
    expect.objectContaining({ ok: true, objects: 1, missing: [], withheld: 1, list: 'valid' }),
  ]);
  const whole = join(await temporaryFolder(), 'whole');
  vi.stubEnv('STRONGROOM_PASSPHRASE', 'correct horse buttery');
  expect(await runHere(['restore', place, '--key', '--data', whole])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The passphrase is not that of the key') as string,
  });
  vi.stubEnv('STRONGROOM_PASSPHRASE', PASSPHRASE);
  expect(await runHere(['restore', place, '--key', '--data', whole])).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('1 withheld object is not in this copy') as string,
  });
  for (const name of ['key', 'withheld.key']) {
    expect(await readFile(join(whole, name), 'utf8')).toBe(await readFile(join(data, name), 'utf8'));
    expect((await stat(join(whole, name))).mode & 0o777).toBe(0o600);
  }
  const all = join(await temporaryFolder(), 'all');
  const plain = await runHere(['restore', backup, '--data', all, '--json']);
  expect([plain.code, JSON.parse(plain.stdout)]).toEqual([
    0,
    expect.objectContaining({ objects: 2, withheld: 0 }),
  ]);
  expect(await readFile(fileIn(all), 'utf8')).toBe(SECRET);
});

test('names that the signed list does not cover are named, and excuse nothing', async () => {
  const altered = await own(place);
  const other = sha256Of('frangipane');
  await appendFile(join(altered, 'withheld.txt'), `${other}\n`);
  await rm(join(altered, 'archive', other));
  const folder = join(await temporaryFolder(), 'restored');
  const { code, stdout } = await runHere(['restore', altered, '--data', folder, '--json']);
  expect([code, JSON.parse(stdout)]).toEqual([
    1,
    expect.objectContaining({ missing: [other], withheld: 1, uncovered: ['withheld.txt'] }),
  ]);
});

/** An archive that was restored from the copy with pages, and that took it over. */
async function takenOver(fields: object = {}, identity?: string) {
  const taken = await own(place);
  const folder = join(await temporaryFolder(), 'restored');
  const withKey = identity === undefined ? [] : ['--identity', identity];
  const restored = await runHere(['restore', taken, '--data', folder, ...withKey]);
  expect(restored).toMatchObject({ code: 0 });
  expect(await runHere(['key', '--renew', '--data', folder])).toMatchObject({ code: 0 });
  const node = await openTestNode({ dataFolder: folder });
  const copy = await addCopy(node, taken, fields);
  await sync(node, copy);
  return { taken, folder, node, copy };
}

const asOwner = (node: TestNode) => node.fetchAsOwner(`/api/blobs/${secret}`);

test('what the copy did not give is absent, not damaged, until another copy gives it', async () => {
  const { node, copy, taken } = await takenOver();
  expect(await problemOf(asOwner(node))).toMatchObject({ code: 'withheld', status: 451 });
  await audit(node);
  await check(node, copy);
  expect(await (await node.fetch('/api/damages')).json()).toMatchObject({ total: 0 });
  const mirrors = [
    await addCopy(node, join(await temporaryFolder(), 'pages')),
    await addCopy(node, join(await temporaryFolder(), 'plain'), { pages: false }),
  ];
  for (const other of mirrors) {
    await sync(node, other);
    expect(await check(node, other)).toMatchObject({ ok: true });
  }
  const plain = new URL(mirrors[1]?.target ?? '').pathname;
  for (const each of [taken, plain]) expect(await verified(each)).toMatchObject({ ok: true, objects: 1 });
  // A backup of the old archive has it.
  const old = await addCopy(node, await own(backup), { pages: false });
  await sync(node, old);
  expect(await check(node, old)).toMatchObject({ ok: true, restored: 1 });
  expect(await (await asOwner(node)).text()).toBe(SECRET);
  await uploadNewPack(node, sampleRecord({ title: 'Later' }), { 'c.txt': 'later' });
  for (const other of mirrors) if (other) await sync(node, other);
  expect(await filesWith(plain, SECRET)).toEqual([`archive/${secret}`]);
  expect(await verified(plain)).toMatchObject({ ok: true, objects: 3 });
  await show(node, { sha256: secret });
  await sync(node, copy);
  expect(await filesWith(taken, SECRET)).toEqual([`archive/${secret}`]);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
});

test('what is shown again before its bytes are here is said not to be here, and is not called damaged', async () => {
  const { node, copy } = await takenOver();
  await show(node, { sha256: secret });
  const notHere = {
    code: 'not_found',
    status: 404,
    detail: expect.stringContaining('are not here') as string,
  };
  const visitor = await problemOf(node.fetch(`/api/blobs/${secret}`));
  expect(visitor).toMatchObject(notHere);
  expect(visitor).toMatchObject({ detail: 'These bytes are not here. The record and the digest remain.' });
  expect(await problemOf(asOwner(node))).toMatchObject({
    ...notHere,
    detail: expect.stringContaining('Add a copy that has them and check it') as string,
  });
  const { items } = (await (await node.fetch('/api/packs')).json()) as { items: { id: string }[] };
  const pack = items[0]?.id ?? '';
  expect(await problemOf(node.fetch(`/api/packs/${pack}/file`))).toMatchObject(notHere);
  await sync(node, copy);
  await audit(node);
  expect(await (await node.fetch('/api/damages')).json()).toMatchObject({ total: 0 });
  const old = await addCopy(node, await own(backup), { pages: false });
  await sync(node, old);
  expect(await check(node, old)).toMatchObject({ ok: true, restored: 1 });
  expect(await (await node.fetch(`/api/blobs/${secret}`)).text()).toBe(SECRET);
});

test('no peer decides over what the copy did not give', async () => {
  const { node } = await takenOver();
  await show(node, { sha256: secret });
  const theirs = await openTestNode();
  await uploadNewPack(theirs, sampleRecord({ title: 'Theirs' }), { 'a.txt': SECRET });
  await withhold(theirs, { sha256: secret });
  await mirror(node, await addPeer(node, theirs.url), { packs: true });
  expect(await (await node.fetch('/api/withheld')).json()).toMatchObject({ total: 0 });
  expect((await node.fetch(`/api/blobs/${secret}`)).status).toBe(404);
});

test('an upload of the same bytes ends that they are absent', async () => {
  const { node, folder } = await takenOver();
  await uploadNewPack(node, sampleRecord({ title: 'Again' }), { 'a.txt': SECRET });
  expect(await readFile(fileIn(folder), 'utf8')).toBe(SECRET);
  expect(await (await asOwner(node)).text()).toBe(SECRET);
});

test('a copy that is taken over without pages is sent what is withheld once its pages are gone', async () => {
  const { node, copy, taken, folder } = await takenOver({ pages: false });
  await uploadNewPack(node, sampleRecord({ title: 'Again' }), { 'a.txt': SECRET });
  expect(existsSync(fileIn(folder))).toBe(true);
  expect(existsSync(join(taken, 'index.html'))).toBe(false);
  expect(await filesWith(taken, SECRET)).toEqual([]);
  await sync(node, copy);
  expect(await filesWith(taken, SECRET)).toEqual([`archive/${secret}`]);
  expect(await verified(taken)).toMatchObject({ ok: true, withheld: 0 });
});

test('a copy that is taken over keeps the key that is there, until the owner removes it', async () => {
  const { taken, node, copy } = await takenOver();
  expect(await verified(taken)).toMatchObject({ ok: true, extra: [] });
  expect(await check(node, copy)).toMatchObject({ ok: true, extra: 0 });
  const removed = await node.fetchAsOwner(`/manage/copies/${copy.id}/key`, { method: 'DELETE' });
  expect(removed.status).toBe(204);
  expect(await readdir(taken)).not.toContain('key.age');
  expect(await verified(taken)).toMatchObject({ ok: true, missing: [] });
});

test('the keys in the copy are restored also after the archive got a new one, which is none of them', async () => {
  const [renewed, taken] = [await own(data), await own(place)];
  expect(await runHere(['key', '--renew', '--data', renewed])).toMatchObject({ code: 0 });
  const copying = await runHere(['copy', pathToFileURL(taken).href, '--pages', '--data', renewed]);
  expect(copying).toMatchObject({ code: 0 });
  const folder = join(await temporaryFolder(), 'restored');
  const other = join(await temporaryFolder(), 'other.key');
  await writeFile(other, `${await generateX25519Identity()}\n`);
  vi.stubEnv('STRONGROOM_PASSPHRASE', PASSPHRASE);
  const args = ['restore', taken, '--key', '--identity', other, '--data', folder];
  expect(await runHere(args)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('the archive got a new key later') as string,
  });
  const keys = await Promise.all([other, join(data, 'withheld.key')].map((file) => readFile(file, 'utf8')));
  expect(await readFile(join(folder, 'withheld.key'), 'utf8')).toBe(keys.join(''));
  expect(await readdir(folder)).not.toContain('key');
});

/** A copy as a version before 1.0 left it, with the object encrypted to the key of its data folder. */
async function earlierCopy(): Promise<{ earlier: string; old: string }> {
  const old = await own(data);
  const earlier = await own(place);
  const { store, checkpoints } = await openArchiveForWriting({
    folder: old,
    clock: systemClock,
    warn: () => {},
  });
  const services = { store, checkpoints, compare: async () => undefined };
  await putEncrypted(services, { target: pathToFileURL(earlier).href }, SECRET);
  await store.close();
  expect(await verified(earlier)).toMatchObject({ ok: true, withheld: 1 });
  return { earlier, old };
}

/** An archive that was restored from a copy of an earlier version, and takes it over with its first sync. */
async function restoredFrom(earlier: string) {
  const folder = join(await temporaryFolder(), 'restored');
  const { code, stdout } = await runHere(['restore', earlier, '--data', folder, '--json']);
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ missing: [], withheld: 1 })]);
  expect(await runHere(['key', '--renew', '--data', folder])).toMatchObject({ code: 0 });
  return folder;
}

const encryptedIn = (folder: string) => existsSync(join(folder, 'withheld', `${secret}.age`));

test('what an earlier version encrypted comes here with the first sync that has the key, and is removed', async () => {
  const { earlier, old } = await earlierCopy();
  const folder = await restoredFrom(earlier);
  let node = await openTestNode({ dataFolder: folder });
  let copy = await addCopy(node, earlier);
  await sync(node, copy);
  expect(encryptedIn(earlier)).toBe(true);
  copy = await copyOf(node);
  expect(copy).toMatchObject({ withheld_encrypted: 1, withheld_left_out: 1, withheld_in_no_copy: 0 });
  expect(await verified(earlier)).toMatchObject({ ok: true });
  expect(await check(node, copy)).toMatchObject({ ok: true });
  await node.close();
  const said = await runHere(['copy', pathToFileURL(earlier).href, '--data', folder]);
  expect(said.stdout).toContain('1 withheld object is only there, encrypted by an earlier version.');
  // What is damaged there may still be all that there is.
  await appendFile(join(folder, 'withheld.key'), await readFile(join(old, 'withheld.key')));
  node = await openTestNode({ dataFolder: folder });
  await sync(node, copy);
  expect(encryptedIn(earlier)).toBe(false);
  expect(await (await asOwner(node)).text()).toBe(SECRET);
  expect(await copyOf(node)).toMatchObject({ withheld_encrypted: 0, withheld_in_no_copy: 1 });
  expect(await filesWith(earlier, SECRET)).toEqual([]);
  expect(await verified(earlier)).toMatchObject({ ok: true, withheld: 1 });
  expect(await (await node.fetch('/api/damages')).json()).toMatchObject({ total: 0 });
});

test('what an earlier version encrypted is removed without the key if a checked copy has it', async () => {
  const { earlier } = await earlierCopy();
  const folder = await restoredFrom(earlier);
  const node = await openTestNode({ dataFolder: folder });
  const copy = await addCopy(node, earlier);
  await sync(node, copy);
  const other = await addCopy(node, await own(backup), { pages: false });
  await sync(node, other);
  await rm(fileIn(folder), { force: true });
  await sync(node, copy);
  expect(encryptedIn(earlier)).toBe(true);
  await check(node, other);
  await rm(fileIn(folder));
  await sync(node, copy);
  expect(encryptedIn(earlier)).toBe(false);
});
