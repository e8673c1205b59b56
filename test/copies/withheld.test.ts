import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { verifyFiles } from '../../server/copies/pages/browser/verifyFiles.ts';
import { openCollectingNode } from '../collection/support.ts';
import { overwrite } from '../fixity/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { DERIVING, openTestNode, type TestNode } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { usePreparedCopy } from './preparedCopy.ts';
import {
  addCopy,
  check,
  copyOf,
  filesWith,
  release,
  show,
  sync,
  verified,
  withhold,
} from './withheldCopies.ts';

const SECRET = 'quibblesome';
const PUBLIC = 'frangipane';
const secret = sha256Of(SECRET);

const prepared = usePreparedCopy();
let place: string;
let data: string;
beforeAll(() => {
  ({ place, data } = prepared);
});
afterEach(closeScriptedWebs);

/** Opens the node of a state. */
async function state(name: string, make: () => Promise<TestNode>) {
  await prepared.begin(name, make);
  const node = await openTestNode({ dataFolder: data });
  const { items } = (await (await node.fetch('/api/packs')).json()) as { items: { id: string }[] };
  return { node, pack: items[0]?.id ?? '', copy: await copyOf(node) };
}

/** A node with a pack of a secret and a public file, and a copy of it with pages. */
const copied = () => state('copied', () => copiedWith({}));
/** The same without pages. */
const unseen = () => state('unseen', () => copiedWith({ pages: false }));

async function copiedWith(fields: object): Promise<TestNode> {
  const node = await openTestNode({ dataFolder: data });
  await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET, 'b.txt': PUBLIC });
  await sync(node, await addCopy(node, place, fields));
  return node;
}

/** The same after the secret file was withheld: the copy has it encrypted. */
const withheld = () =>
  state('withheld', async () => {
    const { node, copy } = await copied();
    await withhold(node, { sha256: secret });
    await sync(node, copy);
    return node;
  });

const clear = () => existsSync(join(place, 'archive', secret));
const encrypted = () => join(place, 'withheld', `${secret}.age`);

describe('a copy with pages', () => {
  test('has what is withheld encrypted only, and gets it back in the clear when it is shown', async () => {
    const { node, pack, copy } = await copied();
    expect(await filesWith(place, SECRET)).toEqual([`archive/${secret}`]);
    await withhold(node, { sha256: secret });
    expect(await copyOf(node)).toMatchObject({ withheld_in_the_clear: 1, withheld_cleaned: 0 });
    expect(await sync(node, copy)).toMatchObject({
      withheld_cleaned: 1,
      withheld_in_the_clear: 0,
      released_removed: 0,
      older_versions: false,
    });
    expect(await filesWith(place, SECRET)).toEqual([]);
    expect(await readFile(encrypted(), 'latin1')).toMatch(/^age-encryption\.org\/v1\n-> X25519 /);
    expect((await stat(join(data, 'withheld.key'))).mode & 0o777).toBe(0o600);
    expect(await copyOf(node)).toMatchObject({
      withheld_encrypted: 1,
      withheld_in_the_clear: 0,
      withheld_cleaned: 1,
    });
    const shown = await readFile(join(place, 'packs', `${pack}.html`), 'utf8');
    expect(shown).toMatch(/Withheld since \d+ \w+ \d{4}: personal data\./);
    expect(shown).not.toContain(`archive/${secret}`);
    expect(shown).toContain(sha256Of(PUBLIC));
    expect(await verified(place)).toMatchObject({ ok: true, withheld: 1, missing: [], damaged: [] });
    expect(await check(node, copy)).toMatchObject({ ok: true, withheld: 1, wrong: [] });
    await show(node, { sha256: secret });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 0 });
    expect([clear(), existsSync(encrypted())]).toEqual([true, false]);
    expect(await readFile(join(place, 'packs', `${pack}.html`), 'utf8')).toContain(`archive/${secret}`);
    expect(await verified(place)).toMatchObject({ ok: true, withheld: 0 });
    expect(await check(node, copy)).toMatchObject({ ok: true, withheld: 0 });
  });

  test('gets what is withheld from the beginning encrypted, and never in the clear', async () => {
    const node = await openTestNode({ dataFolder: data });
    const { id: pack } = await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET });
    await withhold(node, { pack });
    const copy = await addCopy(node, place);
    expect(await sync(node, copy)).toMatchObject({ objects: 0, withheld_cleaned: 0 });
    await uploadNewPack(node, sampleRecord({ title: 'Two' }), { 'a.txt': SECRET, 'b.txt': PUBLIC });
    expect(await sync(node, copy)).toMatchObject({ objects: 1 });
    expect(await filesWith(place, SECRET)).toEqual([]);
    expect(await verified(place)).toMatchObject({ ok: true, objects: 1, withheld: 1 });
  });

  test('shows neither the versions of a change, nor what differs, nor words of it', async () => {
    const web = await ScriptedWeb.open();
    web.script('/a', page(`<p>A ${SECRET} day</p>`), page(`<p>A ${PUBLIC} day</p>`));
    const node = await openCollectingNode({}, { dataFolder: data, ...DERIVING });
    await node.watch(web.url('/a'));
    await node.check();
    await node.check();
    const [change] = await node.events('event_type=changed');
    const copy = await addCopy(node.node, place);
    await sync(node.node, copy);
    const before = await filesWith(place, SECRET);
    expect(before).toContain(`events/${change?.id}.html`);
    const [first] = await node.events('event_type=first_seen');
    await withhold(node.node, { sha256: first?.sha256 }, 'legal_order');
    await sync(node.node, copy);
    expect(await filesWith(place, SECRET)).toEqual([]);
    const text = await readFile(join(place, 'events', `${change?.id}.html`), 'utf8');
    expect(text).toContain('a legal order');
    await show(node.node, { sha256: first?.sha256 });
    await sync(node.node, copy);
    expect(await filesWith(place, SECRET)).toEqual(before);
  });

  test('leaves nothing here of what it still has encrypted and was given up', async () => {
    const { node, copy } = await withheld();
    await release(node, secret);
    expect(await check(node, copy)).toMatchObject({ restored: 0, released: 1 });
    expect(existsSync(encrypted())).toBe(true);
    expect(await filesWith(data, SECRET)).toEqual([]);
    await sync(node, copy);
    expect(existsSync(encrypted())).toBe(false);
  });

  test('that gets pages later is cleaned, and one that loses them keeps what is encrypted', async () => {
    const { node, copy } = await unseen();
    await withhold(node, { sha256: secret });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 0 });
    expect(clear()).toBe(true);
    expect(await copyOf(node)).toMatchObject({ withheld_in_the_clear: 1 });
    await node.sendJson('PATCH', `/manage/copies/${copy.id}`, { pages: true });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 1 });
    await node.sendJson('PATCH', `/manage/copies/${copy.id}`, { pages: false });
    await sync(node, copy);
    expect([clear(), existsSync(encrypted())]).toEqual([false, true]);
    expect(await verified(place)).toMatchObject({ ok: true });
  });

  test('is checked: an encrypted object that is altered or missing is named and sent again', async () => {
    const { node, copy } = await withheld();
    const path = `withheld/${secret}.age`;
    await appendFile(encrypted(), '!');
    expect(await verified(place)).toMatchObject({ ok: false, damaged: [path] });
    expect(await check(node, copy)).toMatchObject({ ok: false, wrong: [{ path, is: 'damaged' }] });
    expect(await verified(place)).toMatchObject({ ok: true });
    await rm(encrypted());
    expect(await verified(place)).toMatchObject({ ok: false, missing: [path] });
    expect(await check(node, copy)).toMatchObject({ ok: false, wrong: [{ path, is: 'missing' }] });
    expect(await check(node, copy)).toMatchObject({ ok: true });
    expect(await filesWith(place, SECRET)).toEqual([]);
  });

  test('gives a damaged object back, which is only there encrypted', async () => {
    const { node, copy } = await withheld();
    await overwrite(data, secret, 'quibblesofe');
    await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
    expect(await check(node, copy)).toMatchObject({ ok: true, restored: 1 });
    expect(await (await node.fetchAsOwner(`/api/blobs/${secret}`)).text()).toBe(SECRET);
  });

  test('is cleaned of an object that an interrupted sync left there before it was withheld', async () => {
    const node = await openTestNode({ dataFolder: data });
    await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET });
    const copy = await addCopy(node, place);
    // The sync fails after the objects were sent.
    await mkdir(join(place, 'records'));
    await mkdir(join(place, 'records/1-1.jsonl'));
    const failed = await node.fetchAsOwner(`/manage/copies/${copy.id}/sync?wait=true`, { method: 'POST' });
    expect(failed.status).toBe(502);
    expect(clear()).toBe(true);
    await withhold(node, { sha256: secret });
    await rm(join(place, 'records'), { recursive: true });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 1 });
    expect(await filesWith(place, SECRET)).toEqual([]);
  });

  test('does not call an encrypted object a stranger that an interrupted sync had still to remove', async () => {
    const { node, copy } = await withheld();
    await show(node, { sha256: secret });
    const records = join(place, 'records');
    await rename(records, `${records}-away`);
    await writeFile(records, '');
    const failed = await node.fetchAsOwner(`/manage/copies/${copy.id}/sync?wait=true`, { method: 'POST' });
    expect(failed.status).toBe(502);
    await rm(records);
    await rename(`${records}-away`, records);
    expect(existsSync(encrypted())).toBe(true);
    expect(await check(node, copy)).toMatchObject({ ok: true, wrong: [] });
    await sync(node, copy);
    expect(existsSync(encrypted())).toBe(false);
  });

  test('is not the only place of a withheld object: it comes back before the copy is cleaned', async () => {
    const { node, copy } = await copied();
    await check(node, copy);
    await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
    await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
    const file = join(data, 'blobs', secret.slice(0, 2), secret.slice(2, 4), secret);
    expect(existsSync(file)).toBe(false);
    await withhold(node, { sha256: secret });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 1 });
    expect(existsSync(file)).toBe(true);
    await check(node, copy);
    await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
    expect(existsSync(file)).toBe(true);
    expect(await (await node.fetchAsOwner(`/api/blobs/${secret}`)).text()).toBe(SECRET);
  });

  test('is encrypted anew if the owner has another key', async () => {
    const { node, copy } = await withheld();
    const before = await readFile(encrypted());
    await rm(join(data, 'withheld.key'));
    await uploadNewPack(node, sampleRecord({ title: 'Later' }), { 'c.txt': 'later' });
    await sync(node, copy);
    expect((await readFile(encrypted())).equals(before)).toBe(false);
    expect(await verified(place)).toMatchObject({ ok: true, withheld: 1 });
  });
});

describe('the verifying page', () => {
  test('takes encrypted and released objects for neither changed nor missing', async () => {
    const { node, copy } = await copied();
    await withhold(node, { sha256: secret });
    await release(node, sha256Of(PUBLIC));
    await sync(node, copy);
    const faults: string[] = [];
    const key = (await (await node.fetch('/api/ledger/key')).text()).trim();
    const read = async (path: string) => {
      const bytes = await readFile(join(place, path)).catch(() => undefined);
      return bytes && new Response(bytes);
    };
    await verifyFiles({ key, read, onFault: (path) => faults.push(path), onFile: () => {} });
    expect(faults).toEqual([]);
  });
});

describe('a released object', () => {
  test.each([true, false])('is removed from every copy, encrypted or not (pages: %s)', async (pages) => {
    const { node, pack, copy } = pages ? await copied() : await unseen();
    await release(node, sha256Of(PUBLIC));
    await withhold(node, { sha256: secret });
    await sync(node, copy);
    await release(node, secret);
    await sync(node, copy);
    expect(await copyOf(node)).toMatchObject({ withheld_encrypted: 0, withheld_in_the_clear: 0 });
    for (const word of [SECRET, PUBLIC]) expect(await filesWith(place, word)).toEqual([]);
    expect(await readdir(join(place, 'archive'))).toEqual([]);
    expect(existsSync(encrypted())).toBe(false);
    expect(await verified(place)).toMatchObject({ ok: true, released: 2, missing: [] });
    expect(await check(node, copy)).toMatchObject({ ok: true, released: 2, missing: 0 });
    const damages = (await (await node.fetch('/api/damages')).json()) as { total: number };
    expect(damages.total).toBe(0);
    if (pages)
      expect(await readFile(join(place, 'packs', `${pack}.html`), 'utf8')).toMatch(
        /Given up on \d+ \w+ \d{4}: a legal order\./,
      );
    const said = await runHere(['verify', place]);
    expect([said.code, said.stdout]).toEqual([0, expect.stringContaining('2 objects were given up')]);
  });
});
