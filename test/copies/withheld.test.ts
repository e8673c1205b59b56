import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { verifyFiles } from '../../server/copies/pages/browser/verifyFiles.ts';
import type { Copy } from '../../shared/node/copy.ts';
import { openCollectingNode } from '../collection/support.ts';
import { overwrite } from '../fixity/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { DERIVING, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
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

/** The same after the secret file was withheld: the copy does not have it. */
const withheld = () =>
  state('withheld', async () => {
    const { node, copy } = await copied();
    await withhold(node, { sha256: secret });
    await sync(node, copy);
    return node;
  });

const clear = () => existsSync(join(place, 'archive', secret));
const names = () => readFile(join(place, 'withheld.txt'), 'utf8');
/** The file of an object on this disk. */
const here = (sha256: string) => join(data, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);

describe('a copy with pages', () => {
  test('has no bytes of what is withheld, and gets it back when it is shown', async () => {
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
    expect(await names()).toBe(`${secret}\n`);
    expect(existsSync(join(place, 'withheld'))).toBe(false);
    expect(existsSync(join(data, 'withheld.key'))).toBe(false);
    expect(await copyOf(node)).toMatchObject({
      withheld_left_out: 1,
      withheld_in_no_copy: 1,
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
    expect([clear(), existsSync(join(place, 'withheld.txt'))]).toEqual([true, false]);
    expect(await copyOf(node)).toMatchObject({ withheld_left_out: 0, withheld_in_no_copy: 0 });
    expect(await readFile(join(place, 'packs', `${pack}.html`), 'utf8')).toContain(`archive/${secret}`);
    expect(await verified(place)).toMatchObject({ ok: true, withheld: 0 });
    expect(await check(node, copy)).toMatchObject({ ok: true, withheld: 0 });
  });

  test('never gets what is withheld from the beginning', async () => {
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

  test('that gets pages later is cleaned, and one that loses them is a backup of everything', async () => {
    const { node, copy } = await unseen();
    await withhold(node, { sha256: secret });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 0 });
    expect(clear()).toBe(true);
    expect(await copyOf(node)).toMatchObject({ withheld_in_the_clear: 1, withheld_left_out: 0 });
    await node.sendJson('PATCH', `/manage/copies/${copy.id}`, { pages: true });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 1 });
    await node.sendJson('PATCH', `/manage/copies/${copy.id}`, { pages: false });
    // Nothing is sent that readers must not see before the pages are gone.
    await sync(node, copy);
    expect([clear(), existsSync(join(place, 'index.html'))]).toEqual([false, false]);
    expect(await verified(place)).toMatchObject({ ok: true, withheld: 1 });
    await sync(node, copy);
    expect(clear()).toBe(true);
    expect(await verified(place)).toMatchObject({ ok: true, withheld: 0, objects: 2 });
  });

  test('is checked: the names of what it leaves out are sent again if they are altered or missing', async () => {
    const { node, copy } = await withheld();
    const path = 'withheld.txt';
    await appendFile(join(place, path), `${sha256Of(PUBLIC)}\n`);
    await rm(join(place, 'archive', sha256Of(PUBLIC)));
    expect(await verified(place)).toMatchObject({
      ok: false,
      damaged: [path],
      missing: expect.arrayContaining([sha256Of(PUBLIC)]) as string[],
    });
    const found = await check(node, copy);
    expect(found.wrong).toContainEqual({ path, is: 'damaged' });
    expect(await verified(place)).toMatchObject({ ok: true, withheld: 1 });
    await rm(join(place, path));
    expect(await verified(place)).toMatchObject({
      ok: false,
      missing: expect.arrayContaining([path]) as string[],
    });
    expect(await check(node, copy)).toMatchObject({ ok: false, wrong: [{ path, is: 'missing' }] });
    expect(await check(node, copy)).toMatchObject({ ok: true, withheld: 1 });
    expect(await filesWith(place, SECRET)).toEqual([]);
  });

  test('is cleaned only once the bytes are here: what is damaged or missing here comes back from it before', async () => {
    const { node, copy } = await copied();
    // No audit has noticed either.
    await overwrite(data, secret, 'quibblesofe');
    await withhold(node, { sha256: secret });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 1, withheld_in_the_clear: 0 });
    expect(await readFile(here(secret), 'utf8')).toBe(SECRET);
    expect(await filesWith(place, SECRET)).toEqual([]);
  });

  test('keeps, and says so, what is intact neither here nor there nor in another checked copy', async () => {
    const { node, copy } = await copied();
    await overwrite(data, secret, 'quibblesofe');
    await writeFile(join(place, 'archive', secret), 'quibbleSome');
    await withhold(node, { sha256: secret });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 0, withheld_in_the_clear: 1 });
    expect(clear()).toBe(true);
    const said = await runHere(['verify', place]);
    expect([said.code, said.stderr]).toEqual([1, expect.stringContaining(`archive/${secret}`)]);
    await node.close();
    const copying = await runHere(['copy', pathToFileURL(place).href, '--data', data]);
    expect(copying.stdout).toContain('1 withheld object is still there in the clear.');
    // Another copy that was checked has it.
    const again = await openTestNode({ dataFolder: data });
    const backup = join(await temporaryFolder(), 'backup');
    await writeFile(here(secret), SECRET);
    const other = await addCopy(again, backup, { pages: false });
    await sync(again, other);
    await check(again, other);
    await overwrite(data, secret, 'quibblesofe');
    expect(await sync(again, copy)).toMatchObject({ withheld_cleaned: 1, withheld_in_the_clear: 0 });
    expect(clear()).toBe(false);
    expect(await readFile(join(backup, 'archive', secret), 'utf8')).toBe(SECRET);
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

  test('gets what was damaged here when the records were sent, once it is repaired', async () => {
    const node = await openTestNode({ dataFolder: data });
    await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET, 'b.txt': PUBLIC });
    await overwrite(data, secret, 'quibblesofe');
    await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
    const copy = await addCopy(node, place);
    await sync(node, copy);
    expect(clear()).toBe(false);
    await uploadNewPack(node, sampleRecord({ title: 'Two' }), { 'a.txt': SECRET });
    await sync(node, copy);
    expect(clear()).toBe(true);
    expect(await verified(place)).toMatchObject({ ok: true, objects: 2 });
  });

  test('is not the only place of a withheld object: it comes back before the copy is cleaned', async () => {
    const { node, copy } = await copied();
    await check(node, copy);
    await node.sendJson('PATCH', '/manage/settings', { offload_after_days: 0 });
    await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
    const file = here(secret);
    expect(existsSync(file)).toBe(false);
    await withhold(node, { sha256: secret });
    expect(await sync(node, copy)).toMatchObject({ withheld_cleaned: 1 });
    expect(existsSync(file)).toBe(true);
    await check(node, copy);
    await node.fetchAsOwner('/manage/offload?wait=true', { method: 'POST' });
    expect(existsSync(file)).toBe(true);
    expect(await (await node.fetchAsOwner(`/api/blobs/${secret}`)).text()).toBe(SECRET);
  });

  test('says that withheld objects are in no copy, until one without pages has them', async () => {
    const { node, copy } = await withheld();
    const sentence = '1 withheld object is in no copy: add one without pages.';
    await node.close();
    const copying = await runHere(['copy', pathToFileURL(place).href, '--data', data]);
    expect(copying.stdout).toContain(sentence);
    const again = await openTestNode({ dataFolder: data });
    const backup = await addCopy(again, join(await temporaryFolder(), 'backup'), { pages: false });
    await sync(again, backup);
    const copies = (await (await again.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] };
    expect(copies.items).toMatchObject([
      { id: copy.id, withheld_left_out: 1, withheld_in_no_copy: 0 },
      { id: backup.id, withheld_left_out: 0, withheld_in_the_clear: 1 },
    ]);
  });
});

describe('the verifying page', () => {
  test('takes withheld and released objects for neither changed nor missing', async () => {
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
  test.each([true, false])('is removed from every copy (pages: %s)', async (pages) => {
    const { node, pack, copy } = pages ? await copied() : await unseen();
    await release(node, sha256Of(PUBLIC));
    await withhold(node, { sha256: secret });
    await sync(node, copy);
    await release(node, secret);
    await sync(node, copy);
    expect(await copyOf(node)).toMatchObject({ withheld_left_out: 0, withheld_in_the_clear: 0 });
    for (const word of [SECRET, PUBLIC]) expect(await filesWith(place, word)).toEqual([]);
    expect(await readdir(join(place, 'archive'))).toEqual([]);
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
