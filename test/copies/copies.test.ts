import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Encrypter } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runAgeTask } from '../../server/copies/keys/ageFiles.ts';
import { runAge } from '../../server/copies/keys/copyKeys.ts';
import type { Copy, CopyCheck, CopySync } from '../../shared/node/copy.ts';
import { parseLines } from '../dump/dumpLines.ts';
import { filledArchive } from '../dump/filledArchive.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { response } from '../support/warcFiles.ts';
import { addEntries } from './manyEntries.ts';

let place: string;
beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await closeTestNodes();
  await closeScriptedWebs();
});

const targetOf = (folder: string) => pathToFileURL(folder).href;

async function addCopy(node: TestNode, folder = place): Promise<Copy> {
  const answer = await node.sendJson('POST', '/manage/copies', { target: targetOf(folder) });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Copy;
}

async function sync(node: TestNode, { id }: Copy): Promise<CopySync> {
  const answer = await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as CopySync;
}

async function check(node: TestNode, { id }: Copy, body: object = {}): Promise<CopyCheck> {
  const answer = await node.sendJson('POST', `/manage/copies/${id}/check?wait=true`, body);
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as CopyCheck;
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const objectsIn = async (folder: string) =>
  (await readdir(join(folder, 'archive'))).filter((name) => /^[0-9a-f]{64}$/.test(name));

describe('a sync', () => {
  test('puts every object under its digest, the records in ledger order, and the checkpoint of the node', async () => {
    const { node } = await filledArchive(join(await temporaryFolder(), 'data'));
    const sent = await sync(node, await addCopy(node));
    const checkpoint = await readFile(join(place, 'checkpoint'), 'utf8');
    expect(sent.checkpoint).toBe(checkpoint);
    expect(checkpoint).toBe(await (await node.fetch('/api/ledger/checkpoint')).text());
    const objects = await objectsIn(place);
    expect(objects).toHaveLength(sent.objects);
    for (const digest of objects) expect(sha256(await readFile(join(place, 'archive', digest)))).toBe(digest);
    const size = Number(checkpoint.split('\n')[1]);
    const lines = parseLines(await readFile(join(place, `records/1-${size}.jsonl`), 'utf8'));
    const entries = lines.filter(({ kind }) => kind === 'entry').map(({ seq }) => seq);
    expect(entries).toEqual(Array.from({ length: size }, (_, index) => index + 1));
    expect(sent.records).toBe(size);
  });

  test('sends only what is new, and nothing if nothing is', async () => {
    const node = await openTestNode();
    const copy = await addCopy(node);
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    expect(await sync(node, copy)).toMatchObject({ objects: 1, bytes: 3, records: 1 });
    expect(await sync(node, copy)).toMatchObject({ objects: 0, bytes: 0, records: 0 });
    await uploadNewPack(node, sampleRecord({ title: 'Two' }), { 'a.txt': 'one', 'b.txt': 'three' });
    expect(await sync(node, copy)).toMatchObject({ objects: 1, bytes: 5, records: 1 });
    expect(await readdir(join(place, 'records'))).toEqual(['1-2.jsonl']);
  });

  test('describes each retrieved object as the node does, also a pack’s file that is retrieved later', async () => {
    const node = await openTestNode();
    const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const copy = await addCopy(node);
    await sync(node, copy);
    const metadata = join(place, 'archive', `${files[0]?.sha256}.json`);
    expect(existsSync(metadata)).toBe(false);
    const warc = new Uint8Array(response('one', { uri: 'http://later.example/' }));
    await node.fetchAsOwner('/manage/captures?observer=x&wait=true', {
      method: 'POST',
      headers: { 'Content-Type': 'application/warc' },
      body: warc,
    });
    expect(await sync(node, copy)).toMatchObject({ objects: 0 });
    const answer = await node.fetch(`/archive/${files[0]?.sha256}/metadata`);
    const facts = (await answer.json()) as { retrievals: object[] };
    for (const retrieval of facts.retrievals) Reflect.deleteProperty(retrieval, 'intact');
    expect(facts.retrievals).toHaveLength(1);
    expect(JSON.parse(await readFile(metadata, 'utf8'))).toEqual(facts);
    await rm(metadata);
    await uploadNewPack(node, sampleRecord({ title: 'Two' }), { 'b.txt': 'two' });
    await sync(node, copy);
    // It is sent once.
    expect(existsSync(metadata)).toBe(false);
  });

  test('sends records that are too large for memory', async () => {
    const node = await openTestNode();
    const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const named = Array.from({ length: 3_000 }, (_, index) => ({
      ...files[0],
      path: `${'a'.repeat(200)}/${'b'.repeat(200)}/${index}`,
    }));
    for (const title of ['One', 'Two', 'Three'])
      expect(
        (await node.sendJson('POST', '/api/packs', { ...sampleRecord({ title }), files: named })).status,
      ).toBe(201);
    expect(await sync(node, await addCopy(node))).toMatchObject({ objects: 1, records: 4 });
    expect((await stat(join(place, 'records/1-4.jsonl'))).size).toBeGreaterThan(4_194_304);
    expect(await runHere(['verify', targetOf(place)])).toMatchObject({ code: 0 });
    expect(await readdir(join(node.dataFolder, 'tmp'))).toEqual([]);
  });

  test('puts each event into the file of the entry that records it', async () => {
    const data = join(await temporaryFolder(), 'data');
    await (await filledArchive(data)).node.close();
    await addEntries(data, 1_000);
    const node = await openTestNode({ dataFolder: data });
    const uri = 'http://later.example/';
    await node.fetchAsOwner('/manage/captures?observer=x&wait=true', {
      method: 'POST',
      headers: { 'Content-Type': 'application/warc' },
      body: new Uint8Array(response('later', { uri })),
    });
    await sync(node, await addCopy(node));
    const names = (await readdir(join(place, 'records'))).filter((name) => !name.startsWith('1-'));
    const lines = parseLines(await readFile(join(place, 'records', names[0] ?? ''), 'utf8'));
    expect(lines.filter(({ kind }) => kind === 'event')).toHaveLength(1);
    expect(await runHere(['verify', targetOf(place)])).toMatchObject({ code: 0, stderr: '' });
  });

  test('refuses a place that holds other files, or the copy of another archive', async () => {
    const node = await openTestNode();
    await mkdir(place);
    await writeFile(join(place, 'thesis.txt'), 'x');
    const add = () => node.sendJson('POST', '/manage/copies', { target: targetOf(place) });
    expect((await problemOf(add())).code).toBe('copy_failed');
    await rm(place, { recursive: true });
    await addCopy(await openTestNode());
    expect((await problemOf(add())).detail).toContain('another archive');
  });

  test('has pages at an http address only, without a user, a query or a fragment', async () => {
    const node = await openTestNode();
    for (const public_url of [
      'x',
      '',
      'ftp://copy.example/',
      'https://copy.example/?q',
      'https://a:b@copy.example/',
    ]) {
      const fields = { target: targetOf(place), public_url };
      expect(await problemOf(node.sendJson('POST', '/manage/copies', fields)), public_url).toMatchObject({
        code: 'invalid_field',
        errors: [{ path: '/public_url' }],
      });
    }
  });

  test('is refused once another data folder has taken the copy over', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const copy = await addCopy(node);
    await sync(node, copy);
    const claim = JSON.parse(await readFile(join(place, 'strongroom.json'), 'utf8')) as object;
    await writeFile(join(place, 'strongroom.json'), JSON.stringify({ ...claim, writer: 'f'.repeat(32) }));
    const answer = node.fetchAsOwner(`/manage/copies/${copy.id}/sync?wait=true`, { method: 'POST' });
    expect(await problemOf(answer)).toMatchObject({ code: 'copy_failed', status: 502 });
    const { items } = (await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] };
    expect(items[0]?.last_error).toContain('Another machine writes to the copy');
  });

  test('never sends an object that is damaged here, and records the damage', async () => {
    const node = await openTestNode();
    const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const digest = files[0]?.sha256 ?? '';
    const blob = join(node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest);
    await writeFile(blob, 'owe');
    expect(await sync(node, await addCopy(node))).toMatchObject({ objects: 0 });
    expect(await readdir(place)).not.toContain('archive');
    const damages = (await (await node.fetch('/api/damages')).json()) as { items: { sha256: string }[] };
    expect(damages.items.map((each) => each.sha256)).toEqual([digest]);
  });
});

describe('a check', () => {
  test('finds changed and missing files, sends them again, and is content the second time', async () => {
    const node = await openTestNode();
    const copy = await addCopy(node);
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two', 'c.txt': 'three' });
    await sync(node, copy);
    expect(await check(node, copy)).toMatchObject({ ok: true, damaged: 0, missing: 0 });
    const [first = '', second = ''] = await objectsIn(place);
    await appendFile(join(place, 'archive', first), '!');
    await rm(join(place, 'archive', second));
    await appendFile(join(place, 'records/1-1.jsonl'), '{}\n');
    expect(await check(node, copy)).toMatchObject({ ok: false, damaged: 2, missing: 1 });
    expect(await check(node, copy)).toMatchObject({ ok: true, damaged: 0, missing: 0 });
    expect(await check(node, copy, { sample: 2 })).toMatchObject({ ok: true, checked: 2 });
  });

  test('puts an object back that is damaged here', async () => {
    const node = await openTestNode();
    const copy = await addCopy(node);
    const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    await sync(node, copy);
    const digest = files[0]?.sha256 ?? '';
    await writeFile(join(node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest), 'owe');
    await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
    expect(await check(node, copy)).toMatchObject({ ok: true, restored: 1 });
    expect(await (await node.fetch(`/api/blobs/${digest}`)).text()).toBe('one');
  });
});

describe('the commands', () => {
  test('copy, verify and restore an archive with the same ledger and the same answers', async () => {
    const data = join(await temporaryFolder(), 'data');
    const { node } = await filledArchive(data);
    const head = await (await node.fetch('/api/ledger')).json();
    const dump = parseLines(await (await node.fetch('/api/dump.jsonl')).text());
    expect(await runHere(['copy', place, '--data', data])).toMatchObject({ code: 0, stderr: '' });
    await node.close();
    expect(await runHere(['copy', place, '--data', data])).toMatchObject({ code: 0, stderr: '' });
    expect(await runHere(['verify', targetOf(place)])).toMatchObject({ code: 0, stderr: '' });
    const restored = join(await temporaryFolder(), 'restored');
    const identity = ['--identity', join(data, 'withheld.key')];
    expect(await runHere(['restore', place, '--data', restored, ...identity])).toMatchObject({
      code: 0,
      stderr: '',
    });
    const reader = await openTestNode({ dataFolder: restored });
    expect(await (await reader.fetch('/api/ledger')).json()).toEqual(head);
    const again = parseLines(await (await reader.fetch('/api/dump.jsonl')).text());
    expect(again.slice(1, -1)).toEqual(dump.slice(1, -1));
    expect(await (await reader.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
    const refused = reader.sendJson('POST', '/api/nodes', { path: 'later', title: 'Later' });
    expect(await problemOf(refused)).toMatchObject({ code: 'archive_read_only', status: 409 });
    await reader.close();
    expect(await runHere(['key', '--renew', '--data', restored])).toMatchObject({ code: 0 });
    const writer = await openTestNode({ dataFolder: restored });
    const added = await writer.sendJson('POST', '/api/nodes', { path: 'later', title: 'Later' });
    expect(added.status).toBe(201);
    expect(await (await writer.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  });

  test('verify names damaged and missing objects, and refuses changed records', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
    await sync(node, await addCopy(node));
    const [first = '', second = ''] = await objectsIn(place);
    await appendFile(join(place, 'archive', first), '!');
    await rm(join(place, 'archive', second));
    const found = await runHere(['verify', targetOf(place), '--json']);
    expect(found.code).toBe(1);
    expect(JSON.parse(found.stdout)).toMatchObject({ ok: false, damaged: [first], missing: [second] });
    const records = join(place, 'records/1-1.jsonl');
    await writeFile(records, (await readFile(records, 'utf8')).replace('"title":"', '"title":"Not '));
    const changed = await runHere(['verify', targetOf(place)]);
    expect(changed).toMatchObject({ code: 1, stderr: expect.stringContaining('altered') as string });
  });

  test('a copy can hold the key, and a restored archive continues with it', async () => {
    const data = join(await temporaryFolder(), 'data');
    const passphrase = 'correct horse battery';
    await (await openTestNode({ dataFolder: data })).close();
    vi.stubEnv('STRONGROOM_PASSPHRASE', passphrase);
    const copied = await runHere(['copy', place, '--key', '--data', data]);
    expect(copied).toMatchObject({ code: 0, stderr: '' });
    const key = await readFile(join(data, 'key'), 'utf8');
    expect(await readFile(join(place, 'key.age'), 'latin1')).toMatch(/^age-encryption\.org\/v1\n-> scrypt /);
    const restored = join(await temporaryFolder(), 'restored');
    const words = ['restore', place, '--key', '--data', restored];
    expect(await runHere(words)).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(join(restored, 'key'), 'utf8')).toBe(key);
    expect((await stat(join(restored, 'key'))).mode & 0o777).toBe(0o600);
    expect(await runHere(['key', '--same-key', '--data', restored])).toMatchObject({ code: 0 });
    const node = await openTestNode({ dataFolder: data });
    const items = async () =>
      ((await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] }).items;
    const [copy] = await items();
    expect(copy).toMatchObject({ has_key: true });
    const removed = await node.fetchAsOwner(`/manage/copies/${copy?.id}/key`, { method: 'DELETE' });
    expect(removed.status).toBe(204);
    expect(await items()).toMatchObject([{ has_key: false }]);
    expect(await readdir(place)).not.toContain('key.age');
  });

  test('the key is encrypted so that each guess of the passphrase takes long', async () => {
    // Not in a thread: those that tests bundle make it quick.
    const encrypted = await runAgeTask({ encrypt: 'key', passphrase: 'correct horse battery' });
    expect(Buffer.from(encrypted as Uint8Array).toString('latin1')).toMatch(
      /^age-encryption\.org\/v1\n-> scrypt \S+ 18\n/,
    );
  });

  test('one key at a time is derived from a passphrase, because each takes 256 MB, also after one that failed', async () => {
    const encrypter = new Encrypter();
    encrypter.setPassphrase('correct horse battery');
    encrypter.setScryptWorkFactor(10);
    const decrypt = await encrypter.encrypt('key');
    // oxlint-disable-next-line typescript/unbound-method -- It is called with its thread.
    const post = Worker.prototype.postMessage;
    let [running, most] = [0, 0];
    const threads = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (
      this: Worker,
      ...sent
    ) {
      running += 1;
      most = Math.max(most, running);
      this.once('message', () => (running -= 1));
      post.apply(this, sent);
    });
    const passphrases = ['correct horse battery', 'wrong', 'correct horse battery'];
    const answers = await Promise.allSettled(
      passphrases.map((passphrase) => runAge({ decrypt, passphrase })),
    );
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([threads.mock.calls.length, most]).toEqual([3, 1]);
    threads.mockRestore();
  });

  test('a restored archive continues with the same key once its file is back', async () => {
    const data = join(await temporaryFolder(), 'data');
    const node = await openTestNode({ dataFolder: data });
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    await sync(node, await addCopy(node));
    const key = await (await node.fetch('/api/ledger/key')).text();
    await node.close();
    const restored = join(await temporaryFolder(), 'restored');
    expect(await runHere(['restore', place, '--data', restored])).toMatchObject({ code: 0 });
    const without = await runHere(['key', '--same-key', '--data', restored]);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('is missing') as string });
    await writeFile(join(restored, 'key'), await readFile(join(data, 'key')), { mode: 0o600 });
    expect(await runHere(['key', '--same-key', '--data', restored])).toMatchObject({ code: 0 });
    const again = await openTestNode({ dataFolder: restored });
    expect(await (await again.fetch('/api/ledger/key')).text()).toBe(key);
    const added = await again.sendJson('POST', '/api/nodes', { path: 'later', title: 'Later' });
    expect(added.status).toBe(201);
  });
});
