import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openChecksumFile, openReferenceArchive } from '../../server/verification/plainFiles.ts';
import { type Finding, Tally } from '../../server/verification/report.ts';
import { type VerifyInput, verifyPaths } from '../../server/verification/verifyPaths.ts';
import {
  BAG,
  bareEntries,
  manifestOf,
  ROOT,
  SAMPLE_FILES,
  tagFile,
  VALID_PACK_FILE,
  withTagManifest,
} from '../support/archive/packFiles.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { buildZip } from '../support/archive/zipBuilder.ts';
import { extract } from '../support/extract.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(closeTestNodes);

async function write(files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** Returns the state of each path below the folder. */
async function verdicts(paths: string[], input: Partial<VerifyInput> = {}): Promise<Record<string, string>> {
  const said: Record<string, string> = {};
  const batches = verifyPaths({ paths: paths.map((path) => join(folder, path)), ...input });
  for await (const batch of batches)
    for (const { path, state } of batch) said[path.replace(`${folder}/`, '')] = state;
  return said;
}

async function findings(path: string): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const batch of verifyPaths({ paths: [join(folder, path)] })) found.push(...batch);
  return found;
}

const lines = (files: Record<string, string>) =>
  Object.entries(files).map(([path, content]) => `${sha256Of(content)}  ${path}\n`);

test('the files of a checksum list are intact, changed or missing', async () => {
  await write({ 'kept.txt': 'a', 'changed.txt': 'b' });
  await write({ SHA256SUMS: lines({ 'kept.txt': 'a', 'changed.txt': 'x', 'lost.txt': '' }).join('') });
  expect(await verdicts(['SHA256SUMS'])).toEqual({
    'kept.txt': 'intact',
    'changed.txt': 'changed',
    'lost.txt': 'missing',
  });
});

test('an unreadable line of a list is reported', async () => {
  await write({ a: 'a', SHA256SUMS: `${lines({ a: 'a' }).join('')}not a line\n` });
  const found = await findings('SHA256SUMS');
  expect(found.map(({ state, detail }) => [state, detail])).toEqual([
    ['unknown', 'line 2 is not a SHA-256 digest and a name'],
    ['intact', null],
  ]);
});

test('a list that names a file twice with different digests is reported', async () => {
  await write({ a: 'a', b: 'b' });
  await write({
    SHA256SUMS: `${sha256Of('x')}  a\n${sha256Of('a')}  ./a\n${sha256Of('b')}  b\n${sha256Of('b')}  b\n`,
  });
  for (const path of ['SHA256SUMS', ''])
    expect((await findings(path)).filter(({ state }) => state !== 'intact')).toMatchObject([
      { state: 'unknown', detail: 'it names ./a twice, with different digests' },
      { state: 'changed', expected: sha256Of('x'), detail: 'the list names it with different digests' },
    ]);
});

test('nor is a file intact that a list names by two ways with different digests', async () => {
  await write({ 'f/a': 'forged', 'f/b': 'b' });
  await write({
    'f/SHA256SUMS': `${sha256Of('a')}  a\n${sha256Of('forged')}  ../f/a\n${sha256Of('b')}  b\n`,
  });
  const list = await openChecksumFile(join(folder, 'f/SHA256SUMS'));
  for (const found of [
    await verdicts(['f']),
    await verdicts(['f/SHA256SUMS']),
    await verdicts(['f/a', 'f/b'], { list }),
  ])
    expect(Object.values(found).sort()).toEqual(['changed', 'intact']);
});

test('a file that is named by a digest is compared with it, whatever it holds', async () => {
  const digest = sha256Of('genuine');
  const other = sha256Of('other');
  await write({ x: 'x', [digest]: lines({ x: 'x' }).join(''), [other]: 'other' });
  expect(await verdicts([digest, other])).toEqual({ [digest]: 'changed', [other]: 'intact' });
});

test('a file whose name is not that of a list is none, whatever it holds', async () => {
  await write({ x: 'x', 'report.pdf': lines({ x: 'x' }).join('') });
  expect(await findings('report.pdf')).toMatchObject([
    { state: 'unknown', detail: expect.stringContaining('it holds the digests of other files') },
  ]);
});

test('a data folder with other bytes in the place of an object does not hold it', async () => {
  const [whole, damaged] = [sha256Of('whole'), sha256Of('bytes')];
  const at = (digest: string) => `data/blobs/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
  await write({ a: 'whole', b: 'bytes', [at(whole)]: 'whole', [at(damaged)]: 'BYTES' });
  const holder = await openReferenceArchive(join(folder, 'data'));
  expect(await verdicts(['a', 'b'], { holder })).toEqual({ a: 'intact', b: 'unknown' });
});

test('a link that was named is said to be followed, also to a file that proves itself', async () => {
  await writeFile(join(folder, 'pack.zip'), VALID_PACK_FILE);
  await symlink(join(folder, 'pack.zip'), join(folder, 'link.zip'));
  for (const { state, detail } of await findings('link.zip'))
    expect([state, detail]).toEqual(['intact', expect.stringContaining('a symbolic link, followed')]);
});

test('a list that is too large is not read, and the other files are verified', async () => {
  await write({ 'f/x': 'x', 'f/SHA256SUMS': lines({ x: 'x' }).join(''), y: 'y' });
  await truncate(join(folder, 'f/SHA256SUMS'), 600_000_000);
  for (const paths of [['f'], ['f/SHA256SUMS']])
    expect(await verdicts([...paths, 'y'])).toMatchObject({ 'f/SHA256SUMS': 'unknown', y: 'unknown' });
});

test('a bag of other software in a listed folder makes no file intact that the list does not name', async () => {
  await write({ 'f/a': 'a', 'f/b/data/x': 'x', 'f/b/data/y': 'y' });
  const manifest = `${sha256Of('x')}  data/x\n${sha256Of('y')}  data/y\n`;
  const bagit = 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n';
  await write({ 'f/b/bagit.txt': bagit, 'f/b/manifest-sha256.txt': manifest });
  await write({ 'f/SHA256SUMS': lines({ a: 'a', 'b/data/x': 'x' }).join('') });
  const found = await findings('f');
  const ofY = found.filter(({ path }) => path.endsWith('data/y'));
  expect(ofY).toMatchObject([{ state: 'unknown', detail: 'the list of the folder does not name it' }]);
  expect(found.filter(({ path }) => path.endsWith('data/x')).map(({ state }) => state)).toContain('intact');
});

test('a folder is compared with a list from elsewhere, and unlisted files are unknown', async () => {
  await write({
    'data/sub/a': 'a',
    'data/b': 'b',
    'data/new': 'n',
    'lists/sums': lines({ 'sub/a': 'a', b: 'x', c: '' }).join(''),
  });
  const list = await openChecksumFile(join(folder, 'lists/sums'));
  expect(await verdicts(['data'], { list })).toEqual({
    'data/sub/a': 'intact',
    'data/b': 'changed',
    'data/new': 'unknown',
    c: 'missing',
  });
});

test('a list is resolved relative to its own folder, and a single file is found by name', async () => {
  await write({
    'x/data/a': 'a',
    'elsewhere/a': 'a',
    'x/sums': lines({ 'data/a': 'a', 'other/b': '' }).join(''),
  });
  const list = await openChecksumFile(join(folder, 'x/sums'));
  expect(await verdicts(['x/data'], { list })).toEqual({ 'x/data/a': 'intact' });
  expect(await verdicts(['elsewhere/a'], { list })).toEqual({ 'elsewhere/a': 'intact' });
});

test('what the list in a folder names outside of it is named, and a list from elsewhere may be of more', async () => {
  await write({
    'in/a': 'a',
    b: 'b',
    'in/SHA256SUMS': lines({ a: 'a', '../b': 'other', [join(folder, 'c')]: 'c' }).join(''),
  });
  expect(await findings('in')).toEqual([
    expect.objectContaining({ path: join(folder, 'in/a'), state: 'intact' }),
    expect.objectContaining({
      state: 'unknown',
      detail: expect.stringContaining('names ../b, which is outside'),
    }),
    expect.objectContaining({ state: 'unknown', detail: expect.stringContaining('/c, which is outside') }),
  ]);
  const list = await openChecksumFile(join(folder, 'in/SHA256SUMS'));
  await rm(join(folder, 'in/SHA256SUMS'));
  expect(await verdicts(['in'], { list })).toEqual({ 'in/a': 'intact' });
});

test('a folder is compared with its SHA256SUMS, and pack files and bags in it are verified by themselves', async () => {
  await write({
    listed: 'a',
    unlisted: 'b',
    SHA256SUMS: lines({ listed: 'a' }).join(''),
    'p/x.pack.zip': VALID_PACK_FILE,
  });
  await extract(join(folder, 'p/x.pack.zip'), folder);
  await write({ [`${ROOT}data/notes.txt`]: 'Measured by foot.\n' });
  const said = await verdicts(['']);
  expect(said).toMatchObject({
    listed: 'intact',
    unlisted: 'unknown',
    'p/x.pack.zip/data/notes.txt': 'intact',
    'p/x.pack.zip/pack.json': 'intact',
    [`${ROOT}data/notes.txt`]: 'changed',
    [`${ROOT}data/readings/north.csv`]: 'intact',
  });
  expect(Object.keys(said)).toHaveLength(2 + 8 + 8);
});

test('what a SHA256SUMS names and proves itself is verified as what it is too', async () => {
  await write({ 'x.zip': VALID_PACK_FILE });
  await extract(join(folder, 'x.zip'), join(folder, 'in'));
  await write({ [`in/${ROOT}data/notes.txt`]: 'Forged.\n' });
  await write({
    'in/forged.evidence.html': '<script type="application/json" id="evidence">{}</script>',
    'in/forged.pack.zip': 'x',
    'in/SHA256SUMS': [
      ...lines({ [`${ROOT}data/notes.txt`]: 'Forged.\n', 'forged.pack.zip': 'x' }),
      ...lines({ 'forged.evidence.html': '<script type="application/json" id="evidence">{}</script>' }),
    ].join(''),
  });
  const wrong: string[] = [];
  for await (const batch of verifyPaths({ paths: [join(folder, 'in')] }))
    for (const { path, state } of batch)
      if (state === 'changed') wrong.push(path.replace(`${folder}/in/`, ''));
  expect(wrong.sort()).toEqual(['forged.evidence.html', 'forged.pack.zip', `${ROOT}data/notes.txt`].sort());
});

test('in a folder, everything that proves itself is verified as if it was named alone, whatever a list says', async () => {
  const forged = {
    'x.zip': buildZip([{ name: 'b/bagit.txt', data: Buffer.from('BagIt-Version: 1.0\n') }]),
    'x.wacz': 'no package',
    'dump.jsonl': '{"kind":"header"}\n',
    'x.tsr': 'no timestamp',
    'x.tlog-proof': 'no proof',
  };
  const plain = { 'plain.zip': buildZip([{ name: 'a.txt', data: Buffer.from('a') }]), 'plain.jsonl': '{}\n' };
  const digests = Object.entries({ ...forged, ...plain }).map(
    ([name, content]) => `${sha256Of(Buffer.from(content))}  ${name}\n`,
  );
  for (const SHA256SUMS of [undefined, digests.join('')]) {
    const inFolder = `in${SHA256SUMS === undefined ? '' : '-listed'}`;
    for (const [name, content] of Object.entries({ ...forged, ...plain, ...(SHA256SUMS && { SHA256SUMS }) }))
      await write({ [`${inFolder}/${name}`]: content });
    const states = new Map<string, string[]>();
    for await (const batch of verifyPaths({
      paths: [join(folder, inFolder)],
      key: 'a.example+00000000+AAAA',
    }))
      for (const { path, state } of batch) {
        const name = path.slice(folder.length + inFolder.length + 2).split('/')[0] ?? '';
        states.set(name, [...(states.get(name) ?? []), state]);
      }
    for (const name of Object.keys(forged))
      expect(states.get(name), `${inFolder} ${name}`).toContainEqual(
        expect.stringMatching(name === 'x.tsr' ? /^unknown$/ : /^changed$/),
      );
    for (const name of Object.keys(plain))
      expect(states.get(name), name).toEqual([SHA256SUMS === undefined ? 'unknown' : 'intact']);
  }
  // Without a key, the line of a proof file says what was compared.
  const [proof] = (await findings('in-listed')).filter(({ path }) => path.endsWith('x.tlog-proof'));
  expect(proof).toMatchObject({
    state: 'intact',
    detail: 'only compared with the list; verify it with --key',
  });
});

test('a file named by a digest is compared with its name', async () => {
  await write({ [sha256Of('a')]: 'a', [sha256Of('b')]: 'damaged' });
  expect(await verdicts([''])).toEqual({ [sha256Of('a')]: 'intact', [sha256Of('b')]: 'changed' });
});

test('symbolic links are reported but not followed, and unreadable or special files are reported', async () => {
  await write({ a: 'a', SHA256SUMS: lines({ a: 'a', link: 'a' }).join('') });
  await symlink('a', join(folder, 'link'));
  await symlink('.', join(folder, 'circle'));
  expect(await verdicts([''])).toEqual({ a: 'intact', link: 'unknown', circle: 'unknown' });
  const named = (await findings('SHA256SUMS')).find(({ path }) => path === 'link');
  expect(named).toMatchObject({ state: 'intact', detail: expect.stringContaining('followed') as string });
  await rm(join(folder, 'link'));
  await mkdir(join(folder, 'closed'));
  await chmod(join(folder, 'a'), 0);
  const said = await verdicts(['', 'nowhere']);
  expect(said.nowhere).toBe('missing');
  if (process.getuid?.() !== 0) expect(said.a).toBe('unknown');
});

test('a pipe or a device beside a timestamp or a proof is not read', async () => {
  await write({ 'x.tsr': 'reply', 'x.tlog-proof': 'c2sp.org/tlog-proof@v1\nindex 0\n\n', 'y.tsr': 'reply' });
  execFileSync('mkfifo', [join(folder, 'x.txt'), join(folder, 'x.entry.json')]);
  await symlink('/dev/zero', join(folder, 'y.txt'));
  expect(await verdicts([''])).toEqual({
    'x.tsr': 'unknown',
    'x.txt': 'unknown',
    'x.tlog-proof': 'unknown',
    'x.entry.json': 'unknown',
    'y.tsr': 'unknown',
    'y.txt': 'unknown',
  });
});

test('a timestamp that is too large to be one is unknown, and the other files are verified', async () => {
  await write({ 'x.tsr': '', 'x.txt': 'text', SHA256SUMS: lines({ 'x.txt': 'text' }).join('') });
  await truncate(join(folder, 'x.tsr'), 2 ** 31);
  expect(await verdicts([''])).toEqual({ 'x.tsr': 'unknown', 'x.txt': 'intact' });
});

test.each([
  ['a changed file', { 'data/notes.txt': 'Measured by foot.\n' }, { 'data/notes.txt': 'changed' }],
  ['a new file', { 'data/new.txt': '' }, { 'data/new.txt': 'unknown' }],
  ['a changed record', { 'pack.json': '{}' }, { 'pack.json': 'changed' }],
  ['a new tag file', { 'more.txt': '' }, { 'more.txt': 'unknown' }],
  ['a changed bag-info.txt', { 'bag-info.txt': 'Payload-Oxum: 1.1\n' }, { 'bag-info.txt': 'changed' }],
])('a bag in a folder with %s is not intact', async (_what, changes, expected) => {
  await write({ 'x.zip': VALID_PACK_FILE });
  await extract(join(folder, 'x.zip'), folder);
  const honest = await verdicts([ROOT.slice(0, -1)]);
  expect(new Set(Object.values(honest))).toEqual(new Set(['intact']));
  await write(Object.fromEntries(Object.entries(changes).map(([path, text]) => [ROOT + path, text])));
  const said = await verdicts([ROOT.slice(0, -1)]);
  expect(said).toEqual({
    ...honest,
    ...Object.fromEntries(Object.entries(expected).map(([path, state]) => [ROOT + path, state])),
  });
});

test('a file removed from a bag is missing', async () => {
  await write({ 'x.zip': VALID_PACK_FILE });
  await extract(join(folder, 'x.zip'), folder);
  await rm(join(folder, ROOT, 'data/notes.txt'));
  expect(await verdicts([ROOT])).toMatchObject({ [`${ROOT}data/notes.txt`]: 'missing' });
});

test('rewriting files, manifests and record together is detected by the folder name', async () => {
  const forged = bareEntries({ 'notes.txt': 'forged' }).map((entry) => ({
    ...entry,
    name: ROOT + entry.name.toString(),
  }));
  await write({ 'x.pack.zip': buildZip(forged) });
  const record = (await findings('x.pack.zip')).find(({ path }) => path.endsWith('pack.json'));
  expect(record).toMatchObject({
    state: 'changed',
    detail: expect.stringContaining('its fingerprint gives pk_') as string,
  });
});

test('a pack file that is named by the id of another pack is changed, whatever its folder is called', async () => {
  const other = 'pk_00000000000000000000.pack.zip';
  const bare = buildZip(bareEntries({ 'notes.txt': 'a' }));
  await write({ [other]: VALID_PACK_FILE, [`in/${other}`]: bare, 'x.pack.zip': bare });
  const said = await verdicts([other, `in/${other}`, 'x.pack.zip']);
  expect(said).toMatchObject({
    [`${other}/pack.json`]: 'changed',
    [`in/${other}/pack.json`]: 'changed',
    'x.pack.zip/pack.json': 'intact',
  });
});

test('a file is a pack file by its name, whatever the case of the letters', async () => {
  const withoutRecord = BAG.filter(({ name }) => !String(name).endsWith('/pack.json'));
  const listed = withTagManifest(withoutRecord);
  await write({ 'X.PACK.ZIP': buildZip(listed) });
  expect(await findings('X.PACK.ZIP')).toEqual([
    expect.objectContaining({ state: 'changed', detail: expect.stringContaining('pack.json') as string }),
  ]);
});

test('manifests of every algorithm are checked', async () => {
  const wrong = manifestOf({ ...SAMPLE_FILES, 'notes.txt': 'other' }, 'sha512');
  await write({ 'x.pack.zip': buildZip(withTagManifest(tagFile('manifest-sha512.txt', wrong))) });
  expect(await verdicts(['x.pack.zip'])).toMatchObject({ 'x.pack.zip/data/notes.txt': 'changed' });
});

test('a malformed pack file is reported as changed with a reason', async () => {
  await write({ 'x.pack.zip': buildZip([...BAG, { name: `${ROOT}data/../../x` }]) });
  expect(await findings('x.pack.zip')).toEqual([
    expect.objectContaining({ state: 'changed', detail: expect.stringContaining('(unsafe_path)') as string }),
  ]);
});

test('a ZIP that is not a pack file is an ordinary file', async () => {
  await write({ 'x.zip': buildZip([{ name: 'holiday.jpg' }]), 'y.zip': buildZip(bareEntries()) });
  expect(await verdicts(['x.zip', 'y.zip'])).toMatchObject({
    'x.zip': 'unknown',
    'y.zip/pack.json': 'intact',
  });
});

test('a dump that is nested deep is changed, and the other files are verified', async () => {
  const deep = `${'['.repeat(300_000)}${']'.repeat(300_000)}`;
  await write({ 'a.jsonl': `{"kind":"header","format":${deep}}\n`, [sha256Of('b')]: 'b' });
  expect(await verdicts(['a.jsonl', sha256Of('b')])).toEqual({
    'a.jsonl': 'changed',
    [sha256Of('b')]: 'intact',
  });
});

test('a dump is compared with its trailer, and a truncated dump is reported as truncated', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, { title: 'Älter' });
  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  const body = dump.slice(0, dump.lastIndexOf('{"kind":"trailer"'));
  await write({
    'good.jsonl': dump,
    'open.jsonl': dump.trimEnd(),
    'changed.jsonl': dump.replace('Ä', 'A'),
    'cut.jsonl': dump.slice(0, -30),
    'short.jsonl': body,
  });
  expect(await verdicts(['good.jsonl', 'open.jsonl', 'changed.jsonl', 'cut.jsonl', 'short.jsonl'])).toEqual({
    'good.jsonl': 'intact',
    'open.jsonl': 'intact',
    'changed.jsonl': 'changed',
    'cut.jsonl': 'changed',
    'short.jsonl': 'changed',
  });
});

test('a node or its data folder confirms which files it holds', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, {}, SAMPLE_FILES);
  await write({
    'renamed.csv': SAMPLE_FILES['readings/north.csv'] ?? '',
    'stranger.csv': 'x',
    'x.pack.zip': VALID_PACK_FILE,
  });
  for (const place of [node.url, node.dataFolder]) {
    const said = await verdicts([''], { holder: await openReferenceArchive(place) });
    expect(said).toMatchObject({
      'renamed.csv': 'intact',
      'stranger.csv': 'unknown',
      'x.pack.zip/data/notes.txt': 'intact',
    });
  }
  await expect(openReferenceArchive(folder)).rejects.toThrow('neither the URL of a node nor a data folder');
  const closed = await openReferenceArchive('http://127.0.0.1:9');
  await expect(closed.holds(sha256Of(''), 0)).rejects.toThrow('cannot be reached');
});

test('a large set is hashed in threads, in order, with complete progress', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [`f${1000 + index}`, `file ${index}`]),
  );
  await write({ ...files, '0 large': Buffer.alloc(40_000_000, 1) });
  await write({ SHA256SUMS: lines(files).join('') });
  const totals = { found: 0, read: 0 };
  const progress = {
    found: (bytes: number) => void (totals.found += bytes),
    read: (bytes: number) => void (totals.read += bytes),
  };
  const said = await verdicts([''], { progress });
  expect(Object.keys(said)).toEqual(['0 large', ...Object.keys(files)].sort());
  expect(Object.values(said).filter((state) => state === 'intact')).toHaveLength(300);
  expect(totals.read).toBe(totals.found);
  await rename(join(folder, 'f1000'), join(folder, 'elsewhere'));
  expect(await verdicts([''])).toMatchObject({ elsewhere: 'unknown', f1000: 'missing' });
});

test('an empty set is not intact', () => {
  expect(new Tally().summary.ok).toBe(false);
});

const OTHER_BAG = {
  'bagit.txt': 'BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n',
  'manifest-sha256.txt': `${sha256Of('one')}  data/ü.txt\n`,
  'bag-info.txt': 'Payload-Oxum: 3.1\n',
  'data/ü.txt': 'one',
};

test.each([
  ['bag-info.txt', 'a byte order mark', Buffer.from('\ufeffPayload-Oxum: 3.1\n')],
  ['bag-info.txt', 'ISO-8859-1', Buffer.from('Contact-Name: M\xfcller\nPayload-Oxum: 3.1\n', 'latin1')],
  ['bagit.txt', 'a byte order mark', Buffer.from(`\ufeff${OTHER_BAG['bagit.txt']}`)],
  ['manifest-sha256.txt', 'a byte order mark', Buffer.from(`\ufeff${OTHER_BAG['manifest-sha256.txt']}`)],
  ['manifest-sha256.txt', 'ISO-8859-1', Buffer.from(OTHER_BAG['manifest-sha256.txt'], 'latin1')],
])('the payload of a bag is verified although its %s has %s, and this is said', async (name, _, bytes) => {
  await write(
    Object.fromEntries(
      Object.entries({ ...OTHER_BAG, [name]: bytes }).map(([path, content]) => [`bag/${path}`, content]),
    ),
  );
  const found = await findings('bag');
  expect(found.find(({ path }) => path.endsWith('data/ü.txt'))).toMatchObject({ state: 'intact' });
  expect(found.find(({ path }) => path.endsWith(name))).toMatchObject({
    state: 'changed',
    detail: `${name} must be UTF-8 without a byte order mark.`,
  });
  await write({ 'bag/data/ü.txt': 'two' });
  expect(await verdicts(['bag'])).toMatchObject({ 'bag/data/ü.txt': 'changed' });
});

test('a bag in a ZIP is verified, and what is beside it or has a name twice is named', async () => {
  const bag = Object.entries(OTHER_BAG).map(([name, data]) => ({ name: `b/${name}`, data }));
  const beside = [
    { name: '__MACOSX/b/._bagit.txt', data: 'x' },
    { name: 'note.txt', data: 'x' },
  ];
  await write({
    'beside.zip': buildZip([...bag, ...beside]),
    'twice.zip': buildZip([...bag, { name: 'b/data/ü.txt', data: 'two' }]),
    'several.zip': buildZip([
      ...bag,
      ...bag.map(({ name, data }) => ({ name: name.replace('b/', 'c/'), data })),
    ]),
    'cut.zip': buildZip(bag).subarray(0, 300),
    'backslash.zip': buildZip(bag.map(({ name, data }) => ({ name: name.replaceAll('/', '\\'), data }))),
    'bzip2.zip': buildZip(bag.map((entry) => ({ ...entry, method: 12 }))),
    'prefix.zip': Buffer.concat([Buffer.from('#!/bin/sh\n'), buildZip(bag)]),
    'b.tar.gz': 'x',
  });
  expect(await verdicts(['beside.zip'])).toMatchObject({
    'beside.zip/data/ü.txt': 'intact',
    'beside.zip/../__MACOSX/b/._bagit.txt': 'unknown',
    'beside.zip/../note.txt': 'unknown',
  });
  expect((await findings('twice.zip')).find(({ path }) => path.endsWith('ü.txt'))).toMatchObject({
    state: 'changed',
    detail: 'two entries of the ZIP have this name',
  });
  const reasons: Record<string, RegExp> = {
    'several.zip': /several bags/,
    'cut.zip': /No bag in it is verified: .*truncated/,
    'backslash.zip': /No bag in it is verified: .*A path must use \/ instead of a backslash/,
    'bzip2.zip': /No bag in it is verified: .* is neither stored nor deflated/,
    'prefix.zip': /No bag in it is verified: The end record of the ZIP does not match/,
    'b.tar.gz': /archive of this kind is not opened/,
  };
  const single = verifyPaths({ paths: Object.keys(reasons).map((name) => join(folder, name)) });
  for await (const batch of single)
    for (const { path, state, detail } of batch) {
      expect(state).toBe('unknown');
      expect(detail).toMatch(reasons[path.replace(`${folder}/`, '')] ?? /$^/);
    }
});
