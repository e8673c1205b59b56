import { rm, truncate } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openChecksumFile } from '../../server/verification/plainFiles.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import { ROOT, VALID_PACK_FILE } from '../support/archive/packFiles.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { buildZip } from '../support/archive/zipBuilder.ts';
import { extract } from '../support/extract.ts';
import { lines, testFolder } from './testFolder.ts';

const { at, write, verdicts, findings } = testFolder();

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
  const list = await openChecksumFile(at('f/SHA256SUMS'));
  for (const found of [
    await verdicts(['f']),
    await verdicts(['f/SHA256SUMS']),
    await verdicts(['f/a', 'f/b'], { list }),
  ])
    expect(Object.values(found).sort()).toEqual(['changed', 'intact']);
});

test('a file whose name is not that of a list is none, whatever it holds', async () => {
  await write({ x: 'x', 'report.pdf': lines({ x: 'x' }).join('') });
  expect(await findings('report.pdf')).toMatchObject([
    { state: 'unknown', detail: expect.stringContaining('it holds the digests of other files') },
  ]);
});

test('a list that is too large is not read, and the other files are verified', async () => {
  await write({ 'f/x': 'x', 'f/SHA256SUMS': lines({ x: 'x' }).join(''), y: 'y' });
  await truncate(at('f/SHA256SUMS'), 600_000_000);
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
  const list = await openChecksumFile(at('lists/sums'));
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
  const list = await openChecksumFile(at('x/sums'));
  expect(await verdicts(['x/data'], { list })).toEqual({ 'x/data/a': 'intact' });
  expect(await verdicts(['elsewhere/a'], { list })).toEqual({ 'elsewhere/a': 'intact' });
});

test('what the list in a folder names outside of it is named, and a list from elsewhere may be of more', async () => {
  await write({
    'in/a': 'a',
    b: 'b',
    'in/SHA256SUMS': lines({ a: 'a', '../b': 'other', [at('c')]: 'c' }).join(''),
  });
  expect(await findings('in')).toEqual([
    expect.objectContaining({ path: at('in/a'), state: 'intact' }),
    expect.objectContaining({
      state: 'unknown',
      detail: expect.stringContaining('names ../b, which is outside'),
    }),
    expect.objectContaining({ state: 'unknown', detail: expect.stringContaining('/c, which is outside') }),
  ]);
  const list = await openChecksumFile(at('in/SHA256SUMS'));
  await rm(at('in/SHA256SUMS'));
  expect(await verdicts(['in'], { list })).toEqual({ 'in/a': 'intact' });
});

test('a folder is compared with its SHA256SUMS, and pack files and bags in it are verified by themselves', async () => {
  await write({
    listed: 'a',
    unlisted: 'b',
    SHA256SUMS: lines({ listed: 'a' }).join(''),
    'p/x.pack.zip': VALID_PACK_FILE,
  });
  await extract(at('p/x.pack.zip'), at(''));
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
  await extract(at('x.zip'), at('in'));
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
  for await (const batch of verifyPaths({ paths: [at('in')] }))
    for (const { path, state } of batch)
      if (state === 'changed') wrong.push(path.replace(`${at('in')}/`, ''));
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
  const plain = { 'plain.zip': buildZip([{ name: 'a.txt', data: Buffer.from('a') }]), 'plain.json': '{}\n' };
  const digests = Object.entries({ ...forged, ...plain }).map(
    ([name, content]) => `${sha256Of(Buffer.from(content))}  ${name}\n`,
  );
  for (const SHA256SUMS of [undefined, digests.join('')]) {
    const inFolder = `in${SHA256SUMS === undefined ? '' : '-listed'}`;
    for (const [name, content] of Object.entries({ ...forged, ...plain, ...(SHA256SUMS && { SHA256SUMS }) }))
      await write({ [`${inFolder}/${name}`]: content });
    const states = new Map<string, string[]>();
    for await (const batch of verifyPaths({
      paths: [at(inFolder)],
      key: 'a.example+00000000+AAAA',
    }))
      for (const { path, state } of batch) {
        const name = path.slice(at(inFolder).length + 1).split('/')[0] ?? '';
        states.set(name, [...(states.get(name) ?? []), state]);
      }
    for (const name of Object.keys(forged))
      expect(states.get(name), `${inFolder} ${name}`).toContainEqual(
        expect.stringMatching(name === 'x.tsr' ? /^unknown$/ : /^changed$/),
      );
    for (const name of Object.keys(plain))
      expect(states.get(name), name).toEqual([SHA256SUMS === undefined ? 'unknown' : 'intact']);
  }
  // Without a key, the line of a proof file says what was compared. It is altered all the same.
  const ofProof = (await findings('in-listed')).filter(({ path }) => path.endsWith('x.tlog-proof'));
  expect(ofProof).toMatchObject([
    { state: 'intact', detail: 'only compared with the list; verify it with --key' },
    { state: 'changed', verdict: 'altered' },
  ]);
});

const ID = '0'.repeat(20);
const PLAIN_ZIP = buildZip([{ name: 'a.txt', data: Buffer.from('a') }]);

test.each([
  ['log.checkpoint', 'garbage'],
  ['log.checkpoint - Copy', 'garbage'],
  ['log.che\u0441kpoint', 'garbage'],
  ['node-0123456789.local-strongroom-42.checkpoint', 'garbage'],
  ['dump.jsonl', 'garbage'],
  ['dump.jsonl', '{}\n'],
  ['dump.jsonl.1', 'garbage'],
  [`pk_${ID}.zip`, 'garbage'],
  [`pk_${ID}.zip`, PLAIN_ZIP],
  [`pk_${ID}`, 'garbage'],
  [`p\u043a_${ID} (1).zip`, PLAIN_ZIP],
  [`strongroom-case-ca_${ID}.zip`, 'garbage'],
  [`strongroom-case-ca_${ID} - Copy.zip`, PLAIN_ZIP],
  ['strongroom-archive.zip', PLAIN_ZIP],
  ['strongroom-archive (1).zip', PLAIN_ZIP],
  ['mine.evidence.html', 'garbage'],
])('a list does not make %s what its name says', async (name, content) => {
  const digest = sha256Of(Buffer.from(content));
  await write({ [`in/${name}`]: content, 'in/SHA256SUMS': `${digest}  ${name}\n` });
  const [ofList, ofName, ...others] = await findings('in');
  expect([ofList?.state, ofName?.state, others]).toEqual(['intact', 'unknown', []]);
  expect(ofName?.detail).toMatch(/name is that of|No bag in it is verified|cannot be read|no evidence/);
});

test.each([
  ['data.jsonl', '{"level":1}\n{"level":2}\n'],
  ['app.jsonl.1', '{"level":1}\n'],
  ['train.jsonl - Copy', '{"level":1}\n'],
  ['enwiki-dump.jsonl', '{"id":1}\n'],
  ['model/checkpoint', 'model_checkpoint_path: "model.ckpt-1"\n'],
  ['checkpoint-1', 'weights'],
  ['checkpoint.1', 'weights'],
  ['checkpoint 2', 'weights'],
  ['checkpoint (1)', 'weights'],
  ['model.checkpoint', 'weights'],
  ['data.zip', 'encrypted'],
])('%s of a data set is what a list says, but proves nothing to who names a key', async (name, content) => {
  await write({ [`in/${name}`]: content, 'in/SHA256SUMS': lines({ [name]: content }).join('') });
  expect(await findings('in')).toMatchObject([{ path: at(`in/${name}`), state: 'intact' }]);
  const states = (await findings('in', { key: 'node.example+00000000+AAAA' })).map(({ state }) => state);
  expect(states).toEqual(['intact', 'unknown']);
});

test('a copy of evidence that a list names is verified as evidence', async () => {
  const forged = '<script type="application/json" id="evidence">{}</script>';
  const names = [
    'event-1.evidence (1).html',
    'event-1.evidence - Copy.html',
    'event-1.evidence 2.html',
    'event-1.evidence copy.html',
    'event-1.evidence.html.1',
    'event-1.\u0435vidence.html',
  ];
  await write(Object.fromEntries(names.map((name) => [`in/${name}`, forged])));
  await write({ 'in/SHA256SUMS': lines(Object.fromEntries(names.map((name) => [name, forged]))).join('') });
  const found = await findings('in');
  const altered = found.filter(({ verdict }) => verdict === 'altered').map(({ path }) => path);
  expect(altered.sort()).toEqual(names.map((name) => at(`in/${name}`)).sort());
});

test('the manifests of other software make nothing what its name says', async () => {
  const forged = '<script type="application/json" id="evidence">{}</script>';
  const wrong = {
    'event-1.evidence - Copy.html': [forged, 'changed'],
    [`pk_${ID}.zip`]: ['garbage', 'changed'],
    [`strongroom-case-ca_${ID}.zip`]: ['garbage', 'unknown'],
    'strongroom-archive (1).zip': ['garbage', 'unknown'],
  } as const;
  const unverified = { 'log.checkpoint': 'garbage', 'dump.jsonl': 'garbage', 'x.wacz': 'garbage' };
  const ofOthers = { 'data.jsonl': 'garbage', checkpoint: 'garbage', 'model.checkpoint': 'garbage' };
  const forgedFiles = Object.entries(wrong).map(([name, [content]]) => [name, content]);
  const files = { ...Object.fromEntries(forgedFiles), ...unverified, ...ofOthers } as Record<string, string>;
  const inData = Object.fromEntries(
    Object.entries(files).map(([name, content]) => [`data/${name}`, content]),
  );
  const bag = {
    ...inData,
    'bagit.txt': 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n',
    'manifest-sha256.txt': lines(inData).join(''),
  };
  await write(Object.fromEntries(Object.entries(bag).map(([name, content]) => [`bag/${name}`, content])));
  const zip = Object.entries(bag).map(([name, content]) => ({
    name: `bag/${name}`,
    data: Buffer.from(content),
  }));
  await write({ 'bag.zip': buildZip(zip) });
  const expected = Object.entries(wrong).map(([name, [, state]]) => [name, state]);
  for (const path of ['bag', 'bag.zip']) {
    const found = await findings(path);
    const states = found.map((each) => [
      each.path.slice(at(`${path}/data/`).length),
      each.state,
      each.detail,
    ]);
    expect(states.filter(([, state]) => state !== 'intact').map(([name, state]) => [name, state])).toEqual(
      expect.arrayContaining(expected),
    );
    for (const name of Object.keys(unverified))
      expect(states).toContainEqual([
        name,
        'intact',
        expect.stringContaining('was not verified: verify it alone'),
      ]);
    for (const name of Object.keys(ofOthers)) expect(states).toContainEqual([name, 'intact', null]);
  }
});
