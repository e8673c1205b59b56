import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { knownPages } from '../../server/evidence/evidenceParts.ts';
import { openReferenceArchive } from '../../server/verification/plainFiles.ts';
import type { Finding } from '../../server/verification/report.ts';
import { type VerifyInput, verifyPaths } from '../../server/verification/verifyPaths.ts';
import { writeEvidenceParts } from '../evidence/support.ts';
import { addFinding, createCase } from '../findings/support.ts';
import { type Entry, entriesOf, withManifests, zipped } from '../forger/zip.ts';
import { SAMPLE_FILES } from '../support/archive/packFiles.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { extract } from '../support/extract.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

/*
 * Bags that somebody without a key changed. Whoever changes a bag writes its manifests anew, so they never make a file one of a
 * case, a pack or an archive.
 */

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(closeTestNodes);

/** Returns what is found that is not intact, by the paths below the folder. */
async function wrongIn(path: string, input: Partial<VerifyInput> = {}): Promise<Record<string, Finding>> {
  const wrong: Record<string, Finding> = {};
  let count = 0;
  for await (const batch of verifyPaths({ paths: [join(folder, path)], ...input }))
    for (const found of batch) {
      count += 1;
      if (found.state !== 'intact') wrong[found.path.slice(folder.length + 1)] = found;
    }
  expect(count).toBeGreaterThan(0);
  return wrong;
}

async function write(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
}

const md5Of = (data: Buffer) => createHash('md5').update(data).digest('hex');

/** Writes the manifest of the tag files anew, and no other. */
function withTagManifest(entries: readonly Entry[]): Entry[] {
  return entries.map((each) =>
    each.name.endsWith('/tagmanifest-sha256.txt') ? { ...each, data: Buffer.from(tagLines(entries)) } : each,
  );
}

function tagLines(entries: readonly Entry[]): string {
  return entries
    .map(({ name, data }) => ({ name: name.slice(name.indexOf('/') + 1), data }))
    .filter(({ name }) => !name.startsWith('data/') && !name.startsWith('tagmanifest-'))
    .map(({ name, data }) => `${sha256Of(data)}  ${name}\n`)
    .join('');
}

/** The bag of a case of one pack. */
async function caseBag(node: TestNode): Promise<Buffer> {
  const pack = await uploadNewPack(node, {}, SAMPLE_FILES);
  const { id } = await createCase(node, 'Case', [{ kind: 'pack', id: pack.id }]);
  const answer = await node.fetchAsOwner(`/api/cases/${id}/bag`);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

test('a page at the top of a sealed case, or of an exported archive, is not a part of it', async () => {
  const rendererFolder = await writeEvidenceParts({ script: 'check()', style: 'main {}' });
  const pages = () => knownPages(rendererFolder);
  const node = await openTestNode({ rendererFolder });
  const bag = await caseBag(node);
  await node.close();
  const out = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', out])).toMatchObject({ code: 0 });
  const all = { 'case.zip': bag, 'archive.zip': await readFile(out) };
  for (const [name, bytes] of Object.entries(all)) {
    await write(name, bytes);
    expect(await wrongIn(name, { pages })).toEqual({});
    const entries = entriesOf(bytes);
    const root = `${entries[0]?.name.split('/', 1)[0]}/`;
    const page = { name: `${root}index.html`, data: Buffer.from('<h1>Another story</h1>') };
    await write(name, zipped(withManifests([...entries, page])).bytes);
    expect((await wrongIn(name, { pages }))[`${name}/index.html`]).toMatchObject({ state: 'unknown' });
    // Without a tag manifest, nothing lists it.
    const unlisted = [...entries.filter((entry) => !entry.name.includes('/tagmanifest-')), page];
    await write(name, zipped(unlisted).bytes);
    expect((await wrongIn(name, { pages }))[`${name}/index.html`]).toMatchObject({ state: 'unknown' });
  }
});

test('no manifest that is not sealed adds a file to a sealed case, and no declaration that is not sealed renames one', async () => {
  const rendererFolder = await writeEvidenceParts({ script: 'check()', style: 'main {}' });
  const pages = () => knownPages(rendererFolder);
  const node = await openTestNode({ rendererFolder });
  const entries = entriesOf(await caseBag(node));
  const root = `${entries[0]?.name.split('/', 1)[0]}/`;
  const page = { name: `${root}data/more.html`, data: Buffer.from('<h1>Another story</h1>') };
  const md5 = { name: `${root}manifest-md5.txt`, data: Buffer.from(`${md5Of(page.data)}  data/more.html\n`) };
  const declared = (text: string, ...more: Entry[]) =>
    zipped(
      withTagManifest([
        ...entries.map((each) =>
          each.name === `${root}bagit.txt` ? { ...each, data: Buffer.from(text) } : each,
        ),
        ...more,
      ]),
    ).bytes;
  const genuine = entries.find(({ name }) => name === `${root}bagit.txt`)?.data.toString() ?? '';
  await write('case.zip', declared(genuine));
  expect(await wrongIn('case.zip', { pages })).toEqual({});
  // Before BagIt 1.0, a file has to be in one manifest only.
  const earlier = genuine.replace('1.0', '0.97');
  for (const [text, ...more] of [
    [earlier, page, md5],
    [earlier],
    [genuine.replace('UTF-8', 'ISO-8859-1')],
  ] as [string, ...Entry[]][]) {
    await write('case.zip', declared(text, ...more));
    expect((await wrongIn('case.zip', { pages }))['case.zip'], text).toMatchObject({ state: 'changed' });
  }
});

test('in a case, no part of a record opens a seal, and a seal that its key did not sign names no key', async () => {
  const rendererFolder = await writeEvidenceParts({ script: 'check()', style: 'main {}' });
  const node = await openTestNode({ rendererFolder });
  const key = (await (await node.fetch('/api/ledger/key')).text()).trim();
  const input = { pages: () => knownPages(rendererFolder), key };
  const pack = await uploadNewPack(node, {}, SAMPLE_FILES);
  const target = { kind: 'pack', id: pack.id } as const;
  const finding = await addFinding(node, target, { sealed: true });
  expect((await node.fetchAsOwner(`/manage/findings/${finding.id}/reveal`, { method: 'POST' })).status).toBe(
    201,
  );
  const { id } = await createCase(node, 'Case', [{ kind: 'finding', id: finding.id }]);
  const bag = Buffer.from(await (await node.fetchAsOwner(`/api/cases/${id}/bag`)).arrayBuffer());
  await write('case.zip', bag);
  expect(await wrongIn('case.zip', input)).toEqual({});
  const entries = entriesOf(bag);
  const root = `${entries[0]?.name.split('/', 1)[0]}/`;
  const of = (ending: string) =>
    entries.find(({ name }) => name === `${root}data/findings/${finding.id}.${ending}`)?.data ??
    Buffer.alloc(0);
  const [record, salt] = [of('json'), Buffer.from(of('salt').toString(), 'hex')];
  const verdictOf = async (files: Record<string, Buffer | string>, proof: string, seal = '') => {
    const others = entries.map((each) =>
      each.name === `${root}seal.txt` && seal ? { ...each, data: Buffer.from(seal) } : each,
    );
    const added = Object.entries(files).map(([ending, data]) => ({
      name: `${root}data/findings/x.${ending}`,
      data: Buffer.from(data),
    }));
    await write('forged.zip', zipped(withManifests([...others, ...added])).bytes);
    const found = await wrongIn('forged.zip', input);
    // The seal is of other files.
    expect(found['forged.zip']).toMatchObject({ state: 'changed' });
    return found[`forged.zip/data/findings/x.${proof}`]?.state ?? 'intact';
  };
  const own = { 'entry.json': of('entry.json'), 'tlog-proof': of('tlog-proof'), json: record };
  const sealed = { 'sealed.json': of('sealed.json'), 'sealed.tlog-proof': of('sealed.tlog-proof') };
  const opened = { ...sealed, salt: of('salt'), json: record };
  expect(await verdictOf(own, 'tlog-proof')).toBe('intact');
  expect(await verdictOf(opened, 'sealed.tlog-proof')).toBe('intact');
  // A part of the record in place of the salt, under either kind of entry.
  for (const length of [0, 32, 40, record.length]) {
    const parts = { salt: record.subarray(0, length).toString('hex'), json: record.subarray(length) };
    const split = { ...parts, 'sealed.json': of('entry.json'), 'sealed.tlog-proof': of('tlog-proof') };
    expect(await verdictOf(split, 'sealed.tlog-proof'), `${length}`).toBe('changed');
  }
  for (const length of [1, 8]) {
    const longer = Buffer.concat([salt, record.subarray(0, length)]).toString('hex');
    const split = { ...sealed, salt: longer, json: record.subarray(length) };
    expect(await verdictOf(split, 'sealed.tlog-proof'), `${length}`).toBe('changed');
  }
  const joined = {
    'entry.json': of('sealed.json'),
    'tlog-proof': of('sealed.tlog-proof'),
    json: Buffer.concat([salt, record]),
  };
  expect(await verdictOf(joined, 'tlog-proof')).toBe('changed');
  // Whoever has no key can name one.
  const genuine = entries.find(({ name }) => name === `${root}seal.txt`)?.data.toString() ?? '';
  const named = genuine.replace(/(— \S+ )(\S{8})\S+/, `$1$2${'A'.repeat(80)}`);
  expect(named).not.toBe(genuine);
  expect(await verdictOf(own, 'tlog-proof', named)).toBe('unsigned');
});

test('no text stands in a sealed case or in a pack under the name of a manifest, and nothing is said to be elsewhere', async () => {
  const rendererFolder = await writeEvidenceParts({ script: 'check()', style: 'main {}' });
  const pages = () => knownPages(rendererFolder);
  const node = await openTestNode({ rendererFolder });
  const sealed = entriesOf(await caseBag(node));
  const { id } = await uploadNewPack(node, { title: 'A pack' }, SAMPLE_FILES);
  const pack = entriesOf(Buffer.from(await (await node.fetch(`/api/packs/${id}/file`)).arrayBuffer()));
  const texts = {
    'manifest-note.txt': 'Another story.\n',
    'tagmanifest-note.txt': 'Another story.\n',
    'fetch.txt': 'http://elsewhere.example/index.html 1 data/index.html\n',
  };
  for (const [name, text] of Object.entries(texts)) {
    const [inCase, inPack] = [sealed, pack].map((entries) => {
      const root = `${entries[0]?.name.split('/', 1)[0]}/`;
      return withTagManifest([...entries, { name: root + name, data: Buffer.from(text) }]);
    }) as [Entry[], Entry[]];
    await write('case.zip', zipped(inCase).bytes);
    expect((await wrongIn('case.zip', { pages }))[`case.zip/${name}`], name).toMatchObject({
      state: 'unknown',
    });
    for (const each of inPack) await write(`${name}/${each.name}`, each.data);
    const found = await wrongIn(`${name}/${id}`);
    expect(found[`${name}/${id}/${name}`], name).toMatchObject({ state: 'unknown' });
  }
});

test('an exported archive is verified as one, whatever its folder is called and however its header is written', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, { title: 'True title' }, {});
  await node.close();
  const out = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', out])).toMatchObject({ code: 0 });
  const forged = entriesOf(await readFile(out)).map(({ name, data }) => ({
    name: name.replace(/^[^/]+/, 'renamed'),
    data: name.endsWith('/dump.jsonl')
      ? Buffer.from(
          data
            .toString()
            .replace(/^\{"kind":"header",([^\n]*)\}\n/, '{$1,"kind":"header"}\n')
            .replaceAll('True title', 'Forged title'),
        )
      : data,
  }));
  await write('forged.zip', zipped(withManifests(forged)).bytes);
  expect(await wrongIn('forged.zip')).toMatchObject({ 'forged.zip/data/dump.jsonl': { verdict: 'altered' } });
});

test('an object that no record names is no part of an exported archive, also one of another export', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, { title: 'First' }, { 'a.txt': 'one' });
  await node.close();
  const exported = async (name: string) => {
    const out = join(folder, name);
    expect(await runHere(['export', '--data', node.dataFolder, '--out', out])).toMatchObject({ code: 0 });
    return entriesOf(await readFile(out));
  };
  const earlier = await exported('earlier.zip');
  const again = await openTestNode({ dataFolder: node.dataFolder });
  await uploadNewPack(again, { title: 'Second' }, { 'a.txt': 'two' });
  await again.close();
  const later = await exported('later.zip');
  const objectOf = (text: string) => {
    const sha256 = sha256Of(text);
    const path = `data/blobs/${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;
    return { path, entry: { name: `${earlier[0]?.name.split('/', 1)[0]}/${path}`, data: Buffer.from(text) } };
  };
  const [added, ofLater] = [objectOf('what the archive never had'), objectOf('two')];
  const dumpOf = (entries: readonly Entry[]) => entries.filter(({ name }) => name.endsWith('/dump.jsonl'));
  const rolledBack = [...later.filter((each) => !dumpOf(later).includes(each)), ...dumpOf(earlier)];
  for (const [entries, { path }] of [
    [[...later, added.entry], added],
    [[...earlier, ofLater.entry], ofLater],
    [rolledBack, ofLater],
  ] as const) {
    await write('forged.zip', zipped(withManifests(entries)).bytes);
    expect(await wrongIn('forged.zip')).toMatchObject({
      [`forged.zip/${path}`]: { state: 'unknown', detail: 'no record names it' },
    });
    const data = join(folder, 'imported');
    const imported = await runHere(['import', join(folder, 'forged.zip'), '--data', data]);
    expect(imported).toMatchObject({ code: 1, stderr: expect.stringContaining('no record names it') });
  }
  for (const name of ['earlier.zip', 'later.zip']) expect(await wrongIn(name), name).toEqual({});
});

test('what an exported archive says of itself outside its dump is called a description', async () => {
  const node = await openTestNode();
  await node.close();
  const out = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', out])).toMatchObject({ code: 0 });
  const { stdout } = await runHere(['verify', out]);
  expect(stdout).toContain('bag-info.txt: describes the archive to other programs; the dump is what counts');
});

test('in the folder of a bag, links and files that are no part of it are named', async () => {
  const node = await openTestNode();
  const pack = await uploadNewPack(node, {}, SAMPLE_FILES);
  const other = await uploadNewPack(node, { title: 'Other' }, { 'more.txt': 'More' });
  const bytes = await (await node.fetch(`/api/packs/${pack.id}/file`)).arrayBuffer();
  await write('x.zip', Buffer.from(bytes));
  await extract(join(folder, 'x.zip'), folder);
  expect(await wrongIn(pack.id)).toEqual({});
  await symlink('/', join(folder, pack.id, 'data/linked'));
  expect(await wrongIn(pack.id)).toMatchObject({ [`${pack.id}/data/linked`]: { state: 'unknown' } });
  // A pack without a bag: the record, and `data/`.
  await write(`plain/${pack.id}/pack.json`, await readFile(join(folder, pack.id, 'pack.json')));
  await rename(join(folder, pack.id, 'data'), join(folder, 'plain', pack.id, 'data'));
  await write(`plain/${pack.id}/README.html`, 'Another story');
  await write(`plain/${pack.id}/data/more.txt`, 'More');
  const wrong = {
    [`plain/${pack.id}/README.html`]: { state: 'unknown', detail: 'not a file of a pack' },
    [`plain/${pack.id}/data/linked`]: { state: 'unknown' },
    [`plain/${pack.id}/data/more.txt`]: { state: 'unknown', detail: 'not in the record' },
  };
  expect(await wrongIn(`plain/${pack.id}`)).toMatchObject(wrong);
  // The archive holds the bytes, as a file of another pack.
  expect(other.id).not.toBe(pack.id);
  const holder = await openReferenceArchive(node.dataFolder);
  expect(await wrongIn(`plain/${pack.id}`, { holder })).toMatchObject(wrong);
});
