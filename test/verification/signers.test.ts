import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dumpStatement } from '../../server/dump/dumpFile.ts';
import {
  type NodeKey,
  nodeCrypto,
  nodeKeyOf,
  privateKeyOfSeed,
  signNote,
} from '../../server/ledger/checkpoint.ts';
import type { Finding } from '../../server/verification/report.ts';
import type { Evidence } from '../../shared/proof/evidence/evidence.ts';
import { evidenceHtml } from '../../shared/proof/evidence/evidencePage.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { builtPackage, type PackageParts, signedInBrowser } from '../collection/captures/wacz/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { addCopy, sync } from '../copies/withheldCopies.ts';
import { evidenceIn, writeEvidenceParts } from '../evidence/support.ts';
import { createCase } from '../findings/support.ts';
import { entriesOf, zipped } from '../forger/zip.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTimestampAuthorities, TimestampAuthority } from '../support/network/timestampAuthority.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

/* Whoever wants to can sign anything with a key of their own, so each verdict says whose key it is, and --key is compared with it. */

let folder: string;
let rendererFolder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  rendererFolder = await writeEvidenceParts({ script: 'check()', style: 'main {}' });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  await closeTimestampAuthorities();
});

const verify = (...words: string[]) => runHere(['verify', ...words], folder, { rendererFolder });
const strangersKey = (name: string) =>
  nodeKeyOf(name, privateKeyOfSeed(createHash('sha256').update(name).digest()));

async function save(node: TestNode, path: string, name: string): Promise<string> {
  const answer = await node.fetchAsOwner(path);
  expect(answer.status, path).toBe(200);
  await writeFile(join(folder, name), Buffer.from(await answer.arrayBuffer()));
  return name;
}

test('each verdict names the key, and what another key than the named one signed is unsigned', async () => {
  const { node } = await openCollectingNode({}, { rendererFolder });
  const web = await ScriptedWeb.open();
  web.script('/page', page('seen'));
  await node.sendJson('POST', '/manage/sources', { url: web.url('/page'), ignore_robots: true });
  await node.sendJson('POST', '/manage/collections?wait=true', {});
  const pack = await uploadNewPack(node, {}, { 'a.txt': 'one' });
  const { id } = await createCase(node, 'Case', [{ kind: 'pack', id: pack.id }]);
  await sync(node, await addCopy(node, join(folder, 'copy')));
  const key = (await (await node.fetch('/api/ledger/key')).text()).trim();
  const wacz = await save(node, '/api/wacz', 'archive.wacz');
  const packFile = await save(node, `/api/packs/${pack.id}/file`, `${pack.id}.pack.zip`);
  const files = [
    await save(node, `/api/packs/${pack.id}/evidence`, 'pack.evidence.html'),
    await save(node, `/api/cases/${id}/bag`, 'case.zip'),
    await save(node, '/api/dump.jsonl', 'dump.jsonl'),
    'copy',
    'archive.zip',
  ];
  await node.close();
  const out = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', out])).toMatchObject({ code: 0 });
  const other = strangersKey(key.split('+', 1)[0] ?? '').verifierKey;
  for (const file of files) {
    const own = await verify(file, '--key', key);
    expect(own, file).toMatchObject({ code: 0 });
    expect(own.stdout, file).toContain(key);
    const strange = await verify(file, '--key', other);
    expect(strange.code, file).toBe(3);
    expect(strange.stdout, file).toContain(key);
    expect((await verify(file, '--key', other, '--json')).stdout, file).toContain('"verdict":"unsigned"');
  }
  // A pack file has no signature: in place of what a node signed, it must not pass.
  expect((await verify(packFile)).code).toBe(0);
  const unsigned = await verify(packFile, '--key', key);
  expect(unsigned.code).toBe(3);
  expect(unsigned.stdout).toContain('A pack file has no signature.');
  const said = await verify(wacz);
  const [, packageKey = ''] = /signed by the key (\S+)/.exec(said.stdout) ?? [];
  expect(said.code).toBe(0);
  expect((await verify(wacz, '--key', packageKey)).code).toBe(0);
  expect((await verify(wacz, '--key', key)).code).toBe(3);
});

test('that the named key signed a file is not said of one that only names this key', async () => {
  const node = await openTestNode({ rendererFolder });
  const pack = await uploadNewPack(node, {}, { 'a.txt': 'one' });
  const key = (await (await node.fetch('/api/ledger/key')).text()).trim();
  const html = await (await node.fetch(`/api/packs/${pack.id}/evidence`)).text();
  const claimOf = async (evidence: Evidence) => {
    const parts = { script: 'check()', style: 'main {}' };
    await writeFile(join(folder, 'x.evidence.html'), [...evidenceHtml(evidence, parts, nodeCrypto)].join(''));
    const { code, stdout } = await verify('x.evidence.html', '--json', '--key', key);
    const { claims = [] } = JSON.parse(stdout.split('\n')[0] ?? '') as Finding;
    return { code, state: claims.find(({ name }) => name === 'The key that was named signed it.')?.state };
  };
  const genuine = evidenceIn(html);
  expect(await claimOf(genuine)).toEqual({ code: 0, state: 'holds' });
  const record = canonicalText({ ...(JSON.parse(genuine.recorded.record) as object), title: 'Another' });
  const subject = `pk_${sha256Of(record).slice(0, 20)}`;
  const { hash: _, ...unhashed } = { ...genuine.recorded.entry, digest: sha256Of(record), subject };
  const entry = { ...unhashed, hash: sha256Of(canonicalText(unhashed)) };
  const forged = {
    ...genuine,
    recorded: { entry, record, proofs: [] },
    witnesses: [],
    timestamps: [],
    seal: null,
  };
  expect(await claimOf(forged)).toEqual({ code: 3, state: 'unproven' });
});

test('a dump cannot name another node than its key does', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, {}, {});
  const [header = '', ...rest] = (await (await node.fetch('/api/dump.jsonl')).text()).trimEnd().split('\n');
  const forged = JSON.parse(header) as { node: string; key: string; checkpoint: string };
  const stranger = strangersKey('stranger');
  forged.checkpoint = signNote(stranger, bodyOf(forged.checkpoint));
  forged.key = stranger.verifierKey;
  const trailer = JSON.parse(rest.pop() ?? '') as {
    sha256: string;
    counts: Record<string, number>;
    signed: string;
  };
  const body = [JSON.stringify(forged), ...rest].map((line) => `${line}\n`).join('');
  trailer.sha256 = sha256Of(body);
  trailer.signed = signNote(stranger, dumpStatement(forged.node, trailer));
  await writeFile(join(folder, 'dump.jsonl'), `${body}${JSON.stringify(trailer)}\n`);
  const { code, stdout } = await verify('dump.jsonl');
  expect({ code, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('the checkpoint is of another log') as string,
  });
});

test('the name of the node that signed a copy cannot control the terminal', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, {}, {});
  await sync(node, await addCopy(node, join(folder, 'genuine')));
  await cp(join(folder, 'genuine'), join(folder, 'copy'), { recursive: true });
  await signCopy(join(folder, 'copy'), strangersKey('x\u009b2K\u202eedon'));
  const { code, stdout } = await verify('copy');
  expect(code).toBe(0);
  expect(stdout).toContain('"x\\u{9b}2K\\u{202e}edon"');
  expect(stdout).not.toMatch(/[\u009b\u202e]/);
});

test('of a timestamp, only a checkpoint has entries, and the parts of a name are told apart', async () => {
  const authority = await TimestampAuthority.open();
  await mkdir(join(folder, 'stamped'));
  await writeFile(join(folder, 'stamped/x.txt'), 'Anything\n5000000\n');
  await authority.openssl(
    'ts',
    '-query',
    '-data',
    join(folder, 'stamped/x.txt'),
    '-sha256',
    '-cert',
    '-out',
    'q',
  );
  const query = await readFile(join(authority.folder, 'q'));
  await writeFile(join(folder, 'stamped/x.tsr'), await authority.stamp(query));
  const { code, stdout } = await verify('stamped/x.tsr');
  expect(code).toBe(0);
  expect(stdout).toMatch(/x\.txt existed before \S+Z \(no checkpoint\), according to “CN=Authority, O=/);
  const [reply, text] = await Promise.all(
    ['tsr', 'txt'].map((end) => readFile(join(folder, `stamped/x.${end}`))),
  );
  // As browsers, file managers and wget name a copy: beside the text, beside a copy of it, and in capitals.
  const copies = [
    ['a/x.tsr.1', 'x.txt'],
    ['b/x.tsr (1)', 'x.txt'],
    ['c/x.tsr.1', 'x.txt.1'],
    ['d/x (1).tsr', 'x (1).txt'],
    ['e/X.TSR', 'X.TXT'],
  ] as const;
  for (const [name, beside] of copies) {
    await mkdir(join(folder, dirname(name)));
    await writeFile(join(folder, name), reply ?? '');
    expect(await verify(name), name).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('is missing') as string,
    });
    await writeFile(join(folder, dirname(name), beside), text ?? '');
    expect(await verify(name), name).toMatchObject({ code: 0 });
    await writeFile(join(folder, dirname(name), beside), 'Another text\n');
    expect((await verify(name)).code, name).toBe(1);
  }
});

function bodyOf(note: string): string {
  return note.slice(0, note.lastIndexOf('\n\n') + 1);
}

/** Signs a copy as if it were that of this key's node: the checkpoint, the state, and the list of the files. */
async function signCopy(copy: string, key: NodeKey): Promise<void> {
  const path = (name: string) => join(copy, name);
  const note = await readFile(path('checkpoint'), 'utf8');
  const [origin = '', size = '', root = ''] = note.split('\n');
  const checkpoint = signNote(key, `${key.name}\n${size}\n${root}\n`);
  const named = { node: key.name, key: key.verifierKey };
  const state = (await readFile(path(`state/${size}.jsonl`), 'utf8')).split('\n');
  state[0] = JSON.stringify({ ...JSON.parse(state[0] ?? ''), ...named, checkpoint });
  const claim = JSON.parse(await readFile(path('strongroom.json'), 'utf8')) as object;
  await writeFile(path('checkpoint'), checkpoint);
  await writeFile(path(`state/${size}.jsonl`), state.join('\n'));
  await writeFile(path('strongroom.json'), `${JSON.stringify({ ...claim, ...named })}\n`);
  let list = (await readFile(path('files/list'), 'utf8')).replace(`\n${origin}\n`, `\n${key.name}\n`);
  for (const part of (await readdir(path('files'))).filter((name) => /^[0-9a-f]{64}$/.test(name))) {
    let text = '';
    for (const line of (await readFile(path(`files/${part}`), 'utf8')).split('\n').filter(Boolean)) {
      const name = line.slice(66);
      text += `${sha256Of(await readFile(path(name)))}  ${name}\n`;
    }
    await rm(path(`files/${part}`));
    await writeFile(path(`files/${sha256Of(text)}`), text);
    list = list.replaceAll(part, sha256Of(text));
  }
  await writeFile(path('files/list'), signNote(key, bodyOf(list)));
}

test('a signed package is not intact where other files could have its digests', async () => {
  const signed = async (hash: string) => ({
    path: 'datapackage.json',
    hash,
    signedData: await signedInBrowser(hash),
  });
  const verdictOn = async (parts: PackageParts) => {
    const bytes = await builtPackage({ 'data.warc': Buffer.from('WARC/1.1') }, { digest: signed, ...parts });
    await writeFile(join(folder, 'x.wacz'), bytes);
    return verify('x.wacz');
  };
  expect((await verdictOn({})).code).toBe(0);
  // Other programs add the folders of the files when they pack it again. An empty folder could have any name.
  const files = entriesOf(await readFile(join(folder, 'x.wacz')));
  const folderNamed = (name: string) => ({ name, data: Buffer.alloc(0) });
  for (const [name, code] of [
    ['archive/', 0],
    ['It is forged/', 1],
  ] as const) {
    await writeFile(join(folder, 'x.wacz'), zipped([folderNamed(name), ...files]).bytes);
    expect((await verify('x.wacz')).code, name).toBe(code);
  }
  for (const algorithm of ['md5', 'sha1']) {
    const { code, stdout } = await verdictOn({ algorithm });
    expect(code, algorithm).toBe(1);
    expect(stdout).toContain('Of "archive/data.warc" it has only an MD5 or SHA-1 digest.');
  }
});
