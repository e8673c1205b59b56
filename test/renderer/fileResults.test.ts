import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import {
  type CheckpointComparison,
  provesInclusion,
} from '../../renderer/src/pages/ledger/checkpoint/compareCheckpoint.ts';
import { type FileProof, proofOf, verifyBagFile } from '../../renderer/src/pages/verify/bagFile.ts';
import {
  type CheckpointResult,
  checkpointWords,
  type FileResult,
  isContradicted,
  judge,
  ListIndex,
  parseCheckpointNote,
  reportText,
  verdictOf,
} from '../../renderer/src/pages/verify/fileResults.ts';
import { zipEntries } from '../../renderer/src/pages/verify/zipFile.ts';
import { nodeKeyOf, privateKeyOfSeed, signCheckpoint } from '../../server/ledger/checkpoint.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { provenFile } from '../../shared/proof/provenFile.ts';
import { parseChecksums } from '../../shared/values/checksums.ts';
import {
  BAG,
  changed,
  manifestOf,
  ROOT,
  SAMPLE_FILES,
  VALID_PACK_FILE,
  withTagManifest,
} from '../support/archive/packFiles.ts';
import type { Files } from '../support/archive/packs.ts';
import { type BuiltEntry, buildZip, extraField } from '../support/archive/zipBuilder.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

test('a list names files relative to its own folder, to the dropped folder, or by name alone', () => {
  const index = new ListIndex([
    { path: 'bag/manifest-sha256.txt', ...parseChecksums(`${A}  data/x.csv\n${B}  ./y.csv`) },
  ]);
  expect(index.lineFor('bag/data/x.csv')?.entry.sha256).toBe(A);
  expect(index.lineFor('data/x.csv')?.entry.sha256).toBe(A);
  expect(index.lineFor('elsewhere/y.csv')?.entry.sha256).toBe(B);
  expect(index.lineFor('z.csv')).toBeUndefined();
  expect(index.missing(['bag/data/x.csv']).map(({ entry }) => entry.name)).toEqual(['./y.csv']);
});

test('a name that two lines have does not say which file is meant', () => {
  const index = new ListIndex([
    { path: 'SHA256SUMS', ...parseChecksums(`${A}  one/x.csv\n${B}  two/x.csv`) },
  ]);
  expect(index.lineFor('x.csv')).toBeUndefined();
  expect(index.lineFor('one/x.csv')?.entry.sha256).toBe(A);
});

test('lines that name one file are one, and may contradict each other', () => {
  const sums = (text: string) => new ListIndex([{ path: 'SHA256SUMS', ...parseChecksums(text) }]);
  const twice = sums(`${A}  x.csv\n${B}  ./x.csv`);
  const line = twice.lineFor('x.csv');
  expect(line && isContradicted(line)).toBe(true);
  expect(twice.missing(['x.csv'])).toEqual([]);
  const again = sums(`${A}  x.csv\n${A}  x.csv`);
  const same = again.lineFor('folder/x.csv');
  expect(same && isContradicted(same)).toBe(false);
  expect(again.missing(['x.csv'])).toEqual([]);
});

test('a path in two lists that are elsewhere does not say which file is meant', () => {
  const list = (path: string, digest: string) => ({ path, ...parseChecksums(`${digest}  data/x.csv`) });
  const index = new ListIndex([list('a/SHA256SUMS', A), list('b/SHA256SUMS', B)]);
  expect(index.lineFor('data/x.csv')).toBeUndefined();
  expect(index.lineFor('b/data/x.csv')?.entry.sha256).toBe(B);
});

test('a file is judged by its list, else by the archive, else not yet', () => {
  expect(judge(A, A, undefined)).toBe('intact');
  expect(judge(A, B, null)).toBe('changed');
  expect(judge(A, null, { sha256: A, bytes: 1, pack: null, source: null })).toBe('in_archive');
  expect(judge(A, null, null)).toBe('unknown');
  expect(judge(A, null, undefined)).toBe('pending');
  // Of an evidence file, which proves itself, a list may say that it is another one.
  const proof = (verdict: FileProof['verdict']) => ({ verdict, words: 'event 2' });
  expect(judge(A, null, null, proof('intact'))).toBe('intact');
  expect(judge(A, B, null, proof('intact'))).toBe('changed');
  // A list proves only that it is the file that somebody listed.
  for (const verdict of ['altered', 'unsigned'] as const)
    expect(judge(A, A, null, proof(verdict))).toBe(verdict);
  expect(judge(A, A, null, proof('unknown'))).toBe('unproven');
});

test('the report is text, CSV without formulas, or JSON', () => {
  const result: FileResult = {
    key: 1,
    path: '=cmd,"x"',
    bytes: 3,
    sha256: A,
    expected: B,
    list: 'SHA256SUMS',
    proof: null,
    verdict: 'changed',
    found: null,
    error: null,
  };
  const about = { node: 'n', at: '2026-11-22T10:00:00.000Z', results: [result], checkpoints: [] };
  expect(reportText('csv', about)).toBe(
    `path,verdict,bytes,sha256,expected,list,pack,source,error\r\n"'=cmd,""x""",changed,3,${A},${B},SHA256SUMS,,,\r\n`,
  );
  expect(reportText('txt', about)).toContain('Changed: 1');
  expect(JSON.parse(reportText('json', about))).toMatchObject({
    counts: { changed: 1 },
    files: [{ path: result.path, verdict: 'changed' }],
  });
});

test('what a file says is no line of the report', () => {
  const line = `\nIntact\t${A}\tgood.html\n`;
  const result: FileResult = {
    key: 1,
    path: `x${line}\u2028y`,
    bytes: 3,
    sha256: A,
    expected: null,
    list: null,
    proof: proofOf(
      provenFile('evidence_file', [
        { id: 'file', name: `The file a${line} is there.`, state: 'fails', detail: '' },
      ]),
    ),
    verdict: 'altered',
    found: null,
    error: null,
  };
  const text = reportText('txt', {
    node: 'n',
    at: '2026-11-22T10:00:00.000Z',
    results: [result],
    checkpoints: [],
  });
  expect(text.split(/[\n\u2028]/).filter((each) => each.startsWith('Intact'))).toEqual([]);
  expect(result.proof?.words).toContain('The file a\\u{a}Intact');
  expect(text).toContain(`\t"x\\u{a}Intact\\u{9}${A}\\u{9}good.html\\u{a}\\u{2028}y"\n`);
});

test('a checkpoint and a proof file are recognised', () => {
  const note = `node.example\n12\n${Buffer.alloc(32, 1).toString('base64')}\n\n— node.example AAAAAAAA\n`;
  const saved = { origin: 'node.example', seq: 12, root: '01'.repeat(32) };
  expect(parseCheckpointNote('c', note)).toMatchObject({ path: 'c', saved, proof: undefined });
  const hash = Buffer.alloc(32, 2);
  const proof = `c2sp.org/tlog-proof@v1\nindex 3\n${hash.toString('base64')}\n\n${note}`;
  expect(parseCheckpointNote('p', proof)).toMatchObject({
    saved,
    proof: { index: 3, hashes: [new Uint8Array(hash)] },
  });
  expect(parseCheckpointNote('p', proof.replace('index 3', 'index -3'))).toBeUndefined();
  expect(parseCheckpointNote('x', 'a text\n12\n')).toBeUndefined();
});

const signer = nodeKeyOf('a.example', privateKeyOfSeed(Buffer.alloc(32, 7)));

/** A checkpoint that the page compared with the ledger, and what was found. */
function compared(size: number, root: Buffer, rest: Partial<CheckpointComparison> = {}) {
  const note = parseCheckpointNote('c', signCheckpoint(signer, { size, root }));
  const comparison = {
    signer: { is: 'current' },
    key: signer.verifierKey,
    differences: [],
    since: 3,
    proven: true,
    otherNode: false,
    head: { seq: size + 3 },
    ...rest,
  } as unknown as CheckpointComparison;
  const result: CheckpointResult = { state: 'checked', comparison, proven: undefined };
  return { note, result };
}

test('a checkpoint is intact only if it was proven, and its words say how much of which ledger, and by which key', () => {
  const root = Buffer.alloc(32, 1);
  const { note, result } = compared(12, root);
  if (!note) throw new Error('The checkpoint was not recognised.');
  expect(verdictOf(note, result)).toBe('intact');
  expect(checkpointWords(note, result)).toContain(
    `12 entries of a.example with the root ${root.toString('base64')}, signed by the key ${signer.verifierKey}`,
  );
  expect(verdictOf(note, compared(12, root, { proven: false }).result)).toBe('unknown');
});

test('a checkpoint of no entries has the root of an empty ledger, and says nothing of any entry', () => {
  expect(compared(0, Buffer.alloc(32, 1)).note).toBeUndefined();
  const { note, result } = compared(0, createHash('sha256').digest(), { proven: false });
  if (!note) throw new Error('The checkpoint was not recognised.');
  expect(verdictOf(note, result)).toBe('intact');
  expect(checkpointWords(note, result)).toContain(
    'of a ledger without entries, with which every ledger begins',
  );
});

test('every proof of a node leads from its entry to its checkpoint, and from no other entry', async () => {
  const node = await openTestNode();
  for (let number = 0; number < 9; number += 1)
    await node.sendJson('POST', '/manage/sources', { url: `http://127.0.0.1:9/${number}` });
  const { items } = (await (await node.fetch('/api/ledger')).json()) as { items: LedgerEntry[] };
  expect(items).toHaveLength(9);
  for (const entry of items) {
    const file = await (await node.fetch(`/api/ledger/proof?seq=${entry.seq}&format=tlog-proof`)).text();
    const note = parseCheckpointNote('p', file);
    if (!note?.proof) throw new Error('The proof file was not recognised.');
    const { proof, saved } = note;
    const tree = { size: saved.seq, root: saved.root };
    for (const other of items) expect(provesInclusion(other, proof, tree)).toBe(other.seq === entry.seq);
    expect(provesInclusion({ ...entry, subject: 'x' }, proof, tree)).toBe(false);
    expect(provesInclusion(entry, { ...proof, hashes: proof.hashes.slice(1) }, tree)).toBe(false);
  }
});

test('the files in a pack file are read by its directory', async () => {
  const entries = await zipEntries(new File([new Uint8Array(VALID_PACK_FILE)], 'x.pack.zip'));
  const [path, content] = Object.entries(SAMPLE_FILES)[0] ?? [];
  const entry = entries?.find((one) => one.path.endsWith(`/data/${path}`));
  expect(await new Response(entry?.open()).text()).toBe(Buffer.from(content ?? '').toString());
});

test('a ZIP file of which other programs may extract something else is not read', async () => {
  const link = Buffer.from('00000000ffa1000000000000', 'hex');
  const changes: Partial<BuiltEntry>[] = [
    { central: { extra: extraField(0x756e, link) } },
    { local: { extra: extraField(0x6c78, link) } },
    { name: 'straße', flags: 0, madeBy: 20 },
  ];
  for (const change of changes) {
    const zip = buildZip([{ name: 'a.txt', data: Buffer.from('a'), ...change }]);
    expect(await zipEntries(new File([new Uint8Array(zip)], 'x.zip'))).toBeUndefined();
  }
  const times = { central: { extra: extraField(0x5455, Buffer.alloc(5)) } };
  const usual = buildZip([{ name: 'straße', flags: 0, data: Buffer.from('a'), ...times }]);
  expect(await zipEntries(new File([new Uint8Array(usual)], 'x.zip'))).toMatchObject([{ path: 'straße' }]);
});

test('a file that is not a ZIP file is not read as one', async () => {
  expect(await zipEntries(new File(['PK but no directory'], 'x.zip'))).toBeUndefined();
});

/** Verifies a pack file and returns the state and the fault of each path. */
async function verified(bytes: Uint8Array) {
  const found = await verifyBagFile(new File([new Uint8Array(bytes)], 'x.pack.zip'), []);
  return new Map(found?.map((one) => [one.path, one]));
}

test('a pack file is verified against its manifests and its fingerprint', async () => {
  const found = await verified(VALID_PACK_FILE);
  expect(found.size).toBeGreaterThan(Object.keys(SAMPLE_FILES).length + 1);
  for (const { path, sha256, expected, fault } of found.values())
    expect({ path, sha256, fault }).toEqual({ path, sha256: expected, fault: null });
  expect(found.get(`${ROOT}pack.json`)?.list).toMatch(`its fingerprint, ${ROOT.slice(0, -1)}`);
});

test('a file that was changed together with its manifest differs from the record', async () => {
  const [path = ''] = Object.keys(SAMPLE_FILES);
  const changes: Files = { ...SAMPLE_FILES, [path]: 'other bytes' };
  const withFile = changed(BAG, `/data/${path}`, () => ({ data: Buffer.from('other bytes') }));
  const data = manifestOf(changes, 'sha256');
  const entries = withTagManifest(changed(withFile, '/manifest-sha256.txt', () => ({ data })));
  const found = await verified(buildZip(entries));
  const file = found.get(`${ROOT}data/${path}`);
  expect(file).toMatchObject({ list: 'pack.json', fault: null });
  expect(file?.sha256).not.toBe(file?.expected);
});

test('a pack without its record is not intact, and neither is one with two manifests of one name', async () => {
  const withoutRecord = BAG.filter(({ name }) => !name.toString().endsWith('/pack.json'));
  const lacking = await verified(buildZip(withTagManifest(withoutRecord)));
  expect(lacking.get(`${ROOT}pack.json`)?.fault).toBe('The ZIP file does not contain it.');
  const again = { name: `${ROOT}tagmanifest-sha256.txt`, data: Buffer.from('') };
  const twice = await verified(buildZip([again, ...BAG]));
  expect(twice.get(`${ROOT}tagmanifest-sha256.txt`)?.fault).toContain('two files');
});

test('a pack file under another name than its fingerprint gives is not intact', async () => {
  const other = `pk_${'0'.repeat(20)}/`;
  const entries = BAG.map((entry) => ({ ...entry, name: entry.name.toString().replace(ROOT, other) }));
  const found = await verified(buildZip(entries));
  expect(found.get(`${other}pack.json`)?.fault).toContain(`Its fingerprint gives ${ROOT.slice(0, -1)}`);
});

test('a file that was added to a pack file is named, and so is a second one of the same name', async () => {
  const [path = ''] = Object.keys(SAMPLE_FILES);
  const added = ['data/added.csv', 'README.html'].map((name) => ({
    name: ROOT + name,
    data: Buffer.from('added'),
  }));
  const beside = { name: 'added.txt', data: Buffer.from('added') };
  const found = await verified(buildZip([...BAG, ...added, beside]));
  for (const name of [...added.map((each) => each.name), beside.name])
    expect(found.get(name)?.fault, name).toBe('No manifest lists this file.');
  const twice = [{ name: `${ROOT}data/${path}`, data: Buffer.from('other') }, ...BAG];
  expect((await verified(buildZip(twice))).get(`${ROOT}data/${path}`)?.fault).toContain('two files');
});
