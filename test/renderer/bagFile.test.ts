import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PackedFileResult, verifyBagFile } from '../../renderer/src/pages/verify/bagFile.ts';
import { knownPages } from '../../server/evidence/evidenceParts.ts';
import type { KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import { buildEvidenceParts, writeEvidenceParts } from '../evidence/support.ts';
import { addFinding, createCase } from '../findings/support.ts';
import { type Entry, entriesOf, withManifests, zipped } from '../forger/zip.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

let rendererFolder: string;
let pages: readonly KnownPage[];
let bag: Entry[];
let root: string;
let caseId: string;
let names: { pack: string; otherEvidence: string; key: string };

beforeAll(async () => {
  rendererFolder = await writeEvidenceParts(await buildEvidenceParts());
  pages = await knownPages(rendererFolder);
  const node = await openTestNode({ rendererFolder });
  const { id } = await uploadNewPack(node, { title: 'First' }, { 'a.txt': 'one' });
  const other = await uploadNewPack(node, { title: 'Second' }, { 'a.txt': 'two' });
  const finding = await addFinding(node, { kind: 'pack', id } as never);
  const made = await createCase(node, 'A case', [
    { kind: 'pack', id },
    { kind: 'finding', id: finding.id },
  ] as never);
  caseId = made.id;
  const answer = await node.fetch(`/api/cases/${made.id}/bag`);
  bag = entriesOf(Buffer.from(await answer.arrayBuffer()));
  root = /^[^/]+\//.exec(bag[0]?.name ?? '')?.[0] ?? '';
  const textOf = async (path: string) => (await (await node.fetch(path)).text()).trim();
  names = {
    pack: id,
    otherEvidence: await textOf(`/api/packs/${other.id}/evidence`),
    key: await textOf('/api/ledger/key'),
  };
}, 120_000);
afterAll(closeTestNodes);

/** What the page says of a bag: the row of the case, and the rows that are not intact, by their paths in the bag. */
async function shown(entries: readonly Entry[], name = 'case.zip') {
  const { bytes } = zipped(entries);
  const found = (await verifyBagFile(new File([new Uint8Array(bytes)], name), pages)) ?? [];
  const wrong = found.filter(({ path }) => path !== '').filter((each) => !isFine(each));
  return {
    ofCase: found.find(({ path }) => path === '')?.proof,
    wrong: wrong.map(({ path }) => path.replace(root, '')),
    found,
  };
}

function isFine({ sha256, expected, fault, proof }: PackedFileResult): boolean {
  return fault === null && sha256 === expected && (proof === null || proof.verdict === 'intact');
}

/** What the command says of the same bag. */
async function commandOn(
  entries: readonly Entry[],
  ...options: string[]
): Promise<{ code: number | null; stdout: string }> {
  return commandOnNamed(entries, 'case.zip', ...options);
}

async function commandOnNamed(entries: readonly Entry[], name: string, ...options: string[]) {
  const file = join(await temporaryFolder(), name);
  await writeFile(file, zipped(entries).bytes);
  return runHere(['verify', ...options, file], undefined, { rendererFolder });
}

/** The exit code of the command for the same bag. */
async function codeOf(entries: readonly Entry[]): Promise<number | null> {
  return (await commandOn(entries)).code;
}

function changed(path: string, to: (text: string) => string): Entry[] {
  const entries = bag.map((entry) =>
    entry.name === root + path
      ? { ...entry, data: Buffer.from(to(entry.data.toString('latin1')), 'latin1') }
      : entry,
  );
  expect(zipped(entries).bytes.equals(zipped(bag).bytes), path).toBe(false);
  return entries;
}

const without = (entries: readonly Entry[], path: string) =>
  entries.filter(({ name }) => name !== root + path);
/** A bag in a folder of another name. */
const inFolder = (folder: string, entries: readonly Entry[]) =>
  entries.map((each) => ({ ...each, name: each.name.replace(/^[^/]+/, folder) }));
const findingFile = (ending: string) =>
  bag.find(({ name }) => name.endsWith(ending) && name.includes('/findings/'))?.name.slice(root.length) ?? '';

test('of a bag of other software is said that no signature covers it, also if it was the bag of a case', async () => {
  const isKept = ({ name }: Entry) => !/\/(?:seal\.txt|data\/case\.json|data\/findings\/.*)$/.test(name);
  const stripped = withManifests(
    inFolder(
      'mine',
      bag
        .filter(isKept)
        .map((each) =>
          each.name === `${root}data/index.html` ? { ...each, data: Buffer.from('<p>Forged.</p>') } : each,
        ),
    ),
  );
  const { ofCase, wrong } = await shown(stripped);
  expect(wrong).toEqual([]);
  expect(ofCase?.words).toMatch(/^A bag of other software\. No signature covers it/);
  const { code, stdout } = await commandOn(stripped);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^intact +\S+\/case\.zip: A bag of other software\. No signature covers it/m);
  const withKey = await commandOn(stripped, '--key', names.key);
  expect(withKey.code).toBe(3);
  expect(withKey.stdout).toMatch(/^unsigned +\S+\/case\.zip: A bag of other software/m);
  // Where something is wrong, nothing is said of the whole.
  const altered = stripped.map((each) =>
    each.name.endsWith('index.html') ? { ...each, data: Buffer.from('x') } : each,
  );
  expect((await shown(altered)).ofCase).toBeUndefined();
  expect((await commandOn(altered)).stdout).not.toContain('No signature');
});

test('what is named as a pack, as the bag of a case or as an exported archive lacks what makes it one, if that was removed', async () => {
  const pack = entriesOf(bag.find(({ name }) => name.endsWith('.pack.zip'))?.data ?? Buffer.alloc(0));
  const [ofPack, ofCase] = [
    pack.filter(({ name }) => !name.endsWith('/pack.json')),
    bag.filter(({ name }) => !/\/(?:seal\.txt|data\/case\.json)$/.test(name)),
  ].map((entries) => withManifests(inFolder('mine', entries))) as [Entry[], Entry[]];
  for (const [entries, name, lacking] of [
    [inFolder(names.pack, ofPack), 'x.zip', 'pack.json'],
    [ofPack, `${names.pack}.zip`, 'pack.json'],
    [ofCase, `${names.pack} (1).zip`, 'pack.json'],
    [inFolder(root.replace('/', ''), ofCase), 'x.zip', 'seal.txt'],
    [ofCase, `strongroom-case-${caseId}.zip`, 'seal.txt'],
    [ofPack, `Strongroom-Case-${caseId.toUpperCase()} - Copy (2).zip`, 'seal.txt'],
    [ofPack, `${caseId}.zip`, 'seal.txt'],
    [ofCase, 'strongroom-archive.zip', 'data/dump.jsonl'],
    [ofCase, 'strongroom-archive (1).zip', 'data/dump.jsonl'],
    [inFolder('Strongroom-Archive', ofPack), 'x.zip', 'data/dump.jsonl'],
  ] as const) {
    const { code, stdout } = await commandOnNamed(entries, name);
    expect([code, stdout], name).toEqual([
      1,
      expect.stringMatching(new RegExp(`^missing .*/${lacking}`, 'm')),
    ]);
    const { found } = await shown(entries, name);
    const lacks = found.filter(({ fault }) => fault === 'The ZIP file does not contain it.');
    expect(
      lacks.map(({ path }) => path.replace(/^[^/]+\//, '')),
      name,
    ).toEqual([lacking]);
    expect(
      found.find(({ path }) => path === ''),
      name,
    ).toBeUndefined();
  }
  expect((await commandOnNamed(ofPack, 'mine.zip')).code).toBe(0);
  // A bag that another program makes of a pack is named by more than the pack.
  expect((await commandOnNamed(ofPack, `${names.pack}-0b1f4a50-8d3c.zip`)).code).toBe(0);
});

describe('the page says of the bag of a case what the command says', () => {
  test('it is intact: each evidence file, proof and pack file in it, and its seal', async () => {
    const { ofCase, wrong, found } = await shown(bag);
    expect(wrong).toEqual([]);
    expect(ofCase).toEqual({
      verdict: 'intact',
      words: expect.stringMatching(
        new RegExp(
          `^case ${caseId} revision 1, "A case", \\S+Z, SHA-256 [0-9a-f]{64}, key \\S+\\. It is sealed by this key$`,
        ),
      ) as string,
    });
    expect(await codeOf(bag)).toBe(0);
    const proven = (path: string) => found.find((each) => each.path === root + path)?.proof;
    expect(proven(`data/evidence/${names.pack}.evidence.html`)).toMatchObject({
      verdict: 'intact',
      words: expect.stringContaining(`pack ${names.pack}, "First"`) as string,
    });
    expect(proven(findingFile('.tlog-proof'))).toMatchObject({ verdict: 'intact' });
    const inPack = `${root}data/packs/${names.pack}.pack.zip/${names.pack}/data/a.txt`;
    expect(found.find(({ path }) => path === inPack)).toMatchObject({ list: 'pack.json', fault: null });
  });

  test('it is not if what is in it was changed together with the manifests, also without its seal', async () => {
    const evidence = `data/evidence/${names.pack}.evidence.html`;
    const changes: [path: string, to: (text: string) => string][] = [
      [evidence, (text) => text.replace('First', 'Fiest')],
      [evidence, (text) => `<!-- ${text} -->`],
      [evidence, () => names.otherEvidence],
      [evidence, () => 'nothing'],
      [`data/packs/${names.pack}.pack.zip`, () => 'nothing'],
      [findingFile('.json'), (text) => text.replace('"text":"', '"text":"Not ')],
      [findingFile('.entry.json'), (text) => text.replace('"at":"2', '"at":"1')],
      [findingFile('.tlog-proof'), (text) => text.replace(/\n.{43}=\n/, `\n${'A'.repeat(43)}=\n`)],
    ];
    for (const [path, to] of changes) {
      const sealed = withManifests(changed(path, to));
      for (const entries of [sealed, withManifests(without(sealed, 'seal.txt'))]) {
        const { ofCase, wrong } = await shown(entries);
        expect(wrong.length, path).toBeGreaterThan(0);
        expect(['altered', 'unknown'], path).toContain(ofCase?.verdict);
        expect(await codeOf(entries), path).toBe(1);
      }
    }
  });

  test('it is altered if its index was changed together with the manifests, and unsigned without its seal', async () => {
    const index = withManifests(changed('data/index.html', () => 'Another story'));
    expect((await shown(index)).ofCase).toEqual({
      verdict: 'altered',
      words: expect.stringContaining('The list of files or the description was altered.') as string,
    });
    expect(await codeOf(index)).toBe(1);
    const unsealed = withManifests(without(index, 'seal.txt'));
    expect((await shown(unsealed)).ofCase).toEqual({
      verdict: 'unsigned',
      words: expect.stringContaining('There is no seal') as string,
    });
    expect(await codeOf(unsealed)).toBe(3);
  });

  test('it names what no bag of a case has, and what lies beside it in the ZIP', async () => {
    const file = (name: string) => ({ name, data: Buffer.from('<h1>Another story</h1>') });
    const noTagManifest = without(bag, 'tagmanifest-sha256.txt');
    const cases: [name: string, entries: Entry[]][] = [
      [`${root}index.html`, withManifests([...bag, file(`${root}index.html`)])],
      [`${root}index.html`, [...noTagManifest, file(`${root}index.html`)]],
      ['index.html', [...bag, file('index.html')]],
      ['__MACOSX/x', [...bag, file('__MACOSX/x')]],
      [`${root}data/more.html`, [...bag, file(`${root}data/more.html`)]],
    ];
    for (const [name, entries] of cases) {
      const { ofCase, wrong } = await shown(entries);
      expect([wrong, ofCase?.verdict], name).toEqual([[name.replace(root, '')], 'unknown']);
      expect(await codeOf(entries), name).toBe(1);
    }
  });

  test('the manifest of the tag files, which no seal covers, says nothing of the payload', async () => {
    const entries = changed('data/index.html', () => 'Another story').map((entry) =>
      entry.name === `${root}tagmanifest-sha256.txt`
        ? {
            ...entry,
            data: Buffer.concat([entry.data, Buffer.from(`${sha256Of('Another story')}  data/index.html\n`)]),
          }
        : entry,
    );
    const { ofCase, wrong } = await shown(entries);
    expect([wrong, ofCase?.verdict]).toEqual([['data/index.html'], 'unknown']);
  });

  test('it is intact without the manifest of its tag files, since the seal covers what counts', async () => {
    const entries = without(bag, 'tagmanifest-sha256.txt');
    expect((await shown(entries)).ofCase).toMatchObject({ verdict: 'intact' });
    expect(await codeOf(entries)).toBe(0);
  });

  test('it is the case whose name its folder and its file have, and that is said', async () => {
    const { stdout } = await commandOn(bag);
    expect(stdout).toMatch(
      new RegExp(`^intact +\\S+/case\\.zip: case ${caseId} revision 1, "A case", `, 'm'),
    );
    const { about } = JSON.parse(
      (await commandOn(bag, '--json')).stdout
        .split('\n')
        .find((line) => line.includes('sealed by this key')) ?? '',
    ) as { about?: object };
    expect(about).toMatchObject({ subject: `case ${caseId} revision 1`, name: 'A case', key: names.key });
    const other = 'ca_00000000000000000000';
    for (const [entries, name, said] of [
      [inFolder(`strongroom-case-${other}`, bag), 'case.zip', other],
      [bag, `strongroom-case-${other}.zip`, other],
      [bag, `strongroom-case-${other} (1).zip`, other],
      [bag, `${other}.zip`, other],
      [bag, `str\u043engroom-case-${caseId}.zip`, `what only looks like str\\u{43e}ngroom-case-${caseId}`],
    ] as const) {
      const found = await commandOnNamed(entries, name);
      expect([found.code, found.stdout], name).toEqual([1, expect.stringContaining(`It is not ${said}.`)]);
      expect((await shown(entries, name)).ofCase, name).toEqual({
        verdict: 'altered',
        words: expect.stringContaining(`It is not ${said}.`) as string,
      });
    }
    for (const name of [`strongroom-case-${caseId}.zip`, `strongroom-case-${caseId} (1).zip`, 'mine.zip']) {
      expect((await commandOnNamed(bag, name)).code, name).toBe(0);
      expect((await shown(bag, name)).ofCase, name).toMatchObject({ verdict: 'intact' });
    }
  });

  test('it lacks what was removed, and its declaration', async () => {
    for (const path of ['bagit.txt', 'bag-info.txt', 'data/case.json', findingFile('.entry.json')]) {
      const entries = without(bag, path);
      expect((await shown(entries)).ofCase?.verdict, path).not.toBe('intact');
      expect((await shown(withManifests(entries))).ofCase?.verdict, path).not.toBe('intact');
    }
  });
});

test('a pack of a forged evidence file and a forged dump says that these were not verified', async () => {
  const node = await openTestNode({ rendererFolder });
  const forged = names.otherEvidence.replace('Second', 'Forged');
  const unverified = { 'dump.jsonl': '{}', 'pack.evidence.html': forged };
  const others = { 'a.txt': 'a', 'data.jsonl': '{}', checkpoint: 'weights' };
  const { id } = await uploadNewPack(node, { title: 'Pack' }, { ...unverified, ...others });
  const pack = entriesOf(Buffer.from(await (await node.fetch(`/api/packs/${id}/file`)).arrayBuffer()));
  const words = 'what it says of itself was not verified';
  const { code, stdout } = await commandOn(pack);
  expect(code).toBe(0);
  expect(stdout.split('\n').filter((line) => line.includes(words))).toEqual([
    expect.stringContaining('/data/dump.jsonl: a file of the pack;'),
    expect.stringContaining('/data/pack.evidence.html: a file of the pack;'),
  ]);
  const { found } = await shown(pack);
  expect(found.filter(({ proof }) => proof?.words.includes(words)).map(({ path }) => path)).toEqual(
    Object.keys(unverified).map((name) => `${id}/data/${name}`),
  );
});

test('a pack or a bag of other software lacks its declaration', async () => {
  const pack = entriesOf(bag.find(({ name }) => name.endsWith('.pack.zip'))?.data ?? Buffer.alloc(0));
  for (const removed of [
    /\/(?:bagit|tagmanifest-sha256)\.txt$/,
    /\/(?:bagit|tagmanifest-sha256)\.txt$|\.json$/,
  ]) {
    const entries = inFolder('mine', pack).filter(({ name }) => !removed.test(name));
    expect((await shown(entries, 'mine.zip')).wrong).toEqual(['mine/bagit.txt']);
    expect(await codeOf(entries)).toBe(1);
  }
});

test('a pack that is no set has no list of a set', async () => {
  const pack = entriesOf(bag.find(({ name }) => name.endsWith('.pack.zip'))?.data ?? Buffer.alloc(0));
  const list = { name: `${names.pack}/set.json`, data: Buffer.from('<h1>Another story</h1>') };
  const node = await openTestNode({ rendererFolder });
  // The record of this one may be that of a set.
  const { id } = await uploadNewPack(node, { title: 'Pack' }, { 'set.json': 'a' });
  const ofList = entriesOf(Buffer.from(await (await node.fetch(`/api/packs/${id}/file`)).arrayBuffer()));
  expect([await codeOf(pack), await codeOf(ofList)]).toEqual([0, 0]);
  for (const entries of [
    [...pack, list],
    [...pack.filter(({ name }) => !name.includes('/tagmanifest-')), list],
    [...ofList, { ...list, name: `${id}/set.json` }],
  ]) {
    const { code, stdout } = await commandOn(withManifests(entries));
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^unknown .*\/set\.json: not a file of a pack/m),
    ]);
    expect((await shown(withManifests(entries))).found).toContainEqual(
      expect.objectContaining({
        path: expect.stringMatching(/^pk_\w+\/set\.json$/) as string,
        fault: 'It is not a file of a pack.',
      }),
    );
  }
});

test('a manifest that lists a file twice with different digests says nothing of it', async () => {
  const line = (text: string) => `${sha256Of(text)}  data/a.txt\n`;
  const entries: Entry[] = [
    { name: 'x/bagit.txt', data: Buffer.from('BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n') },
    { name: 'x/manifest-sha256.txt', data: Buffer.from(line('one') + line('two')) },
    { name: 'x/data/a.txt', data: Buffer.from('two') },
  ];
  expect(await codeOf(entries)).toBe(1);
  expect((await shown(entries)).found).toContainEqual(
    expect.objectContaining({ path: 'x/data/a.txt', fault: expect.stringContaining('lists it twice') }),
  );
});

test('a line of a manifest that the page cannot read could list a file that is missing', async () => {
  const text = `${sha256Of('one')}  data/a.txt\n${sha256Of('two')}\tdata/b.txt\n`;
  const entries: Entry[] = [
    { name: 'x/bagit.txt', data: Buffer.from('BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n') },
    { name: 'x/manifest-sha256.txt', data: Buffer.from(text) },
    { name: 'x/data/a.txt', data: Buffer.from('one') },
  ];
  expect(await codeOf(entries)).toBe(1);
  const { ofCase, wrong } = await shown(entries);
  expect([ofCase, wrong]).toEqual([undefined, ['x/manifest-sha256.txt']]);
});

test('a pack file that is named by the id of another pack is not that pack', async () => {
  const pack = bag.find(({ name }) => name.endsWith('.pack.zip'))?.data ?? Buffer.alloc(0);
  const onPage = async (name: string) => {
    const found = (await verifyBagFile(new File([new Uint8Array(pack)], name), pages)) ?? [];
    return found.filter(({ fault }) => fault !== null).map(({ path, fault }) => [path, fault]);
  };
  expect(await onPage(`${names.pack}.pack.zip`)).toEqual([]);
  expect(await onPage('mine.pack.zip')).toEqual([]);
  const other = 'pk_00000000000000000000';
  const looks = (id: string) => `what only looks like ${id}`;
  const cyrillic = names.pack.replace('pk_', '\u0440\u043a_');
  for (const [name, said] of [
    [`${other}.pack.zip`, other],
    // As browsers and file managers name a second one.
    [`${other}.pack (1).zip`, other],
    [`${other}.pack(1).zip`, other],
    [`${other} copy 2.zip`, other],
    [`${other}.zip`, other],
    [`${other}..zip`, other],
    [`Copy of ${other}.pack.zip.zip`, other],
    // The same or another pack, in characters that look like those of its id.
    [`\uff50\uff4b_${other.slice(3)}.zip`, other],
    [`${cyrillic}.pack.zip`, looks(names.pack.replace('pk_', '\\u{440}\\u{43a}_'))],
    [`${other.slice(0, -1)}\u041e.zip`, looks(`${other.slice(0, -1)}\\u{43e}`)],
    [`${other.slice(0, -1)}O.p\u0430ck.zip`, looks(`${other.slice(0, -1)}o`)],
  ] as const) {
    const reason = `ts fingerprint gives ${names.pack}, not ${said}`;
    expect(await onPage(name), name).toEqual([[`${names.pack}/pack.json`, `I${reason}.`]]);
    const { code, stdout } = await commandOnNamed(entriesOf(pack), name);
    expect([code, stdout], name).toEqual([1, expect.stringContaining(`i${reason}`)]);
  }
  for (const name of [`${names.pack}.pack (1).zip`, `${names.pack.toUpperCase()} - Copy.zip`]) {
    expect(await onPage(name), name).toEqual([]);
    expect((await commandOnNamed(entriesOf(pack), name)).code, name).toBe(0);
  }
});

test('the record of a pack that is named is as the archive wrote it, also where a default says the same', async () => {
  const node = await openTestNode({ rendererFolder });
  const { id } = await uploadNewPack(node, { title: 'Pack', keywords: [] }, { 'a.txt': 'a' });
  const pack = entriesOf(Buffer.from(await (await node.fetch(`/api/packs/${id}/file`)).arrayBuffer()));
  const without = pack.map((entry) =>
    entry.name === `${id}/pack.json`
      ? { ...entry, data: Buffer.from(entry.data.toString().replace(/"keywords": ?\[\],?/, '')) }
      : entry,
  );
  const forged = withManifests(without);
  expect(zipped(without).bytes.equals(zipped(pack).bytes)).toBe(false);
  const { code, stdout } = await commandOn(forged);
  expect([code, stdout]).toEqual([1, expect.stringContaining(`not ${id}`)]);
  expect((await shown(forged)).wrong).toContain(`${id}/pack.json`);
  // Under another name, nothing says which pack it should be.
  const renamed = forged.map((entry) => ({ ...entry, name: entry.name.replace(id, 'mine') }));
  const unnamed = await commandOn(renamed);
  expect([unnamed.code, unnamed.stdout]).toEqual([
    0,
    expect.stringContaining(`record of ${id}, when what it leaves out is filled in`),
  ]);
  expect(await codeOf(pack)).toBe(0);
});
