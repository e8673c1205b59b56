import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import type { Stamping } from '../../shared/ledger/ledger.ts';
import type { Evidence } from '../../shared/proof/evidence/evidence.ts';
import { openCollectingNode } from '../collection/support.ts';
import { withEvidence } from '../e2e/support/evidenceChanges.ts';
import { evidenceIn, writeEvidenceParts } from '../evidence/support.ts';
import { runCommand } from '../support/cli.ts';
import { codeBlocksOf } from '../support/docs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTimestampAuthorities, TimestampAuthority } from '../support/network/timestampAuthority.ts';
import { closeAlteredNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { requirePrograms } from '../support/requirements.ts';

afterEach(async () => {
  await closeTimestampAuthorities();
  await closeAlteredNodes();
  await closeScriptedWebs();
});

const run = promisify(execFile);
const FILE = 'island,bill_length_mm\nTorgersen,39.1\n';
const SHA256 = createHash('sha256').update(FILE).digest('hex');

/** A pack whose record holds what implementations of canonical JSON disagree on. */
const RECORD = {
  pack_format: 1,
  terms_version: '2026-10-01',
  title: 'Bill lengths "é", \\ and \u2028',
  authors: [{ name: 'Ada Øst' }],
  license: 'CC0-1.0',
  outcome: 'positive',
  results: {
    tiny: 1e-7,
    small: 0.00001,
    whole: 4.0,
    large: 6.02214076e23,
    third: 1 / 3,
    none: null,
    yes: true,
    '\u{1f600}': -2.5,
    '\ufb33': 'é',
    '10': 1,
    '9': 0,
  },
};

async function publish(node: TestNode): Promise<{ id: string; ledger_entry: number }> {
  const form = new FormData();
  form.append('record', JSON.stringify(RECORD));
  form.append('files', new Blob([FILE], { type: 'text/csv' }), 'bills.csv');
  const response = await node.fetchAsOwner('/api/packs', { method: 'POST', body: form });
  expect(response.status).toBe(201);
  return (await response.json()) as { id: string; ledger_entry: number };
}

test('the commands in verify-by-hand.md accept an honest node', async () => {
  const node = await openTestNode();
  for (const path of ['a', 'b', 'c', 'd']) await node.sendJson('POST', '/api/nodes', { path, title: 'É' });
  const pack = await publish(node);
  await node.sendJson('POST', '/api/nodes', { path: 'e', title: 'after' });
  const folder = await temporaryFolder();
  for (const [name, program] of await codeBlocksOf('verify-by-hand.md', 'python'))
    await writeFile(join(folder, name), program);
  const commands = await codeBlocksOf('verify-by-hand.md', 'sh');
  const env = {
    PATH: process.env.PATH,
    NODE: node.url,
    SHA256,
    PACK: pack.id,
    SEQ: String(pack.ledger_entry),
  };
  const output = async (name: string) =>
    (await run('sh', ['-ec', commands.get(name) ?? 'exit 9'], { cwd: folder, env })).stdout;

  expect(await output('blob')).toMatch(new RegExp(`^${SHA256} `));
  expect(await output('fingerprint')).toMatch(/^intact [0-9a-f]{64}\n$/);
  expect(await output('ledger')).toMatch(/^6 entries of "node-\S+" hold, root "\S+="\n$/);
  await output('keep');
  expect(await output('signature')).toMatch(/^signed by "node-\S+"\nsigned by "node-\S+"\n$/);
  expect(await output('proof')).toMatch(
    new RegExp(`^in the ledger of "node-\\S+": entry ${pack.ledger_entry} "pack\\.added" "${pack.id}"\\n$`),
  );

  const kept = await readFile(join(folder, 'kept.checkpoint'), 'utf8');
  await writeFile(join(folder, 'kept.checkpoint'), kept.replace('\n6\n', '\n7\n'));
  expect(await output('signature')).toMatch(/^NOT SIGNED BY/);
  const entry = await readFile(join(folder, 'entry.json'), 'utf8');
  await writeFile(join(folder, 'entry.json'), entry.replace('pack.added', 'pack.adder'));
  const { stdout } = await run('python3', ['proof.py', 'entry.json', 'entry.tlog-proof'], { cwd: folder });
  expect(stdout).toMatch(/^NOT IN the ledger of/);
});

test('the evidence script accepts a genuine file and refuses forgeries of each kind', async () => {
  const rendererFolder = await writeEvidenceParts({ script: '', style: '' });
  const [node, other] = [await openTestNode({ rendererFolder }), await openTestNode()];
  const pack = await publish(node);
  const folder = await temporaryFolder();
  for (const [name, program] of await codeBlocksOf('verify-by-hand.md', 'python'))
    await writeFile(join(folder, name), program);
  const commands = await codeBlocksOf('verify-by-hand.md', 'sh');
  const env = { PATH: process.env.PATH, NODE: node.url, PACK: pack.id };
  const shell = (name: string) => run('sh', ['-ec', commands.get(name) ?? 'exit 9'], { cwd: folder, env });
  await shell('keep');
  expect((await shell('evidence')).stdout).toMatch(
    new RegExp(`^intact: "pack.added" "${pack.id}" .* signed by "node-`),
  );
  const file = join(folder, 'pack.evidence.html');
  const html = await readFile(file, 'utf8');
  const genuine = evidenceIn(html);
  const [proof] = genuine.recorded.proofs;
  if (!proof) throw new Error('There is no proof.');
  const forged: [why: string, evidence: Evidence][] = [
    ['UNSIGNED', { ...genuine, seal: null }],
    ['UNSIGNED', { ...genuine, recorded: { ...genuine.recorded, proofs: [] }, seal: null }],
    ['of another key', { ...genuine, key: (await (await other.fetch('/api/ledger/key')).text()).trim() }],
    ['not signed by the key', withCheckpoint(genuine, proof.checkpoint.replace(/\n— .*/, ''))],
    ['after it was sealed', { ...genuine, made_at: '2001-01-01T00:00:00.000Z' }],
    ['after it was sealed', { ...genuine, files: [] }],
  ];
  for (const [why, evidence] of forged) {
    await writeFile(file, withEvidence(html, evidence));
    await expect(run('python3', ['evidence.py', file, 'kept.key'], { cwd: folder }), why).rejects.toThrow(
      why,
    );
  }
}, 60_000);

test('the scripts refuse another pack or retrieval than the one that was asked for', async () => {
  const node = await openTestNode();
  const pack = await publish(node);
  const folder = await temporaryFolder();
  for (const [name, program] of await codeBlocksOf('verify-by-hand.md', 'python'))
    await writeFile(join(folder, name), program);
  const genuine = await (await node.fetch(`/api/packs/${pack.id}`)).text();
  const retrieval = { id: 1, url: 'http://127.0.0.1/', sha256: SHA256 };
  const answers: Record<string, string> = {
    '/api/packs/pk_00000000000000000000': genuine,
    [`/api/packs/${pack.id}`]: genuine,
    '/api/retrievals/2/proof': JSON.stringify({ retrieval, first: 1, last: 2, hashes: [], ledger_entry: 1 }),
  };
  const server = createServer((request, response) => response.end(answers[request.url ?? '']));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const of = async (id: string) =>
      (await run('python3', ['fingerprint.py', `${url}/api/packs/${id}`], { cwd: folder })).stdout;
    expect(await of(pack.id)).toMatch(/^intact /);
    await expect(of('pk_00000000000000000000')).rejects.toThrow('it is another pack');
    await expect(run('python3', ['retrieval.py', url, '2'], { cwd: folder })).rejects.toThrow(
      'the proof is of another retrieval',
    );
  } finally {
    server.close();
  }
});

function withCheckpoint(evidence: Evidence, checkpoint: string): Evidence {
  const proofs = evidence.recorded.proofs.map((proof) => ({ ...proof, checkpoint }));
  return { ...evidence, recorded: { ...evidence.recorded, proofs } };
}

test('openssl alone confirms a timestamp, and refuses another text', async ({ skip }) => {
  await requirePrograms(['openssl'], skip);
  const authority = await TimestampAuthority.open();
  const node = await openTestNode();
  await node.sendJson('POST', '/api/nodes', { path: 'a', title: 'É' });
  await node.sendJson('PATCH', '/manage/settings', { timestamp_authorities: [authority.url] });
  const stamped = await node.fetchAsOwner('/manage/timestamps', { method: 'POST' });
  const { items } = (await stamped.json()) as Stamping;
  const cwd = await temporaryFolder();
  const commands = (await codeBlocksOf('verify-by-hand.md', 'sh')).get('timestamp') ?? 'exit 9';
  const env = { PATH: process.env.PATH, NODE: node.url, TIMESTAMP: items[0]?.id, ROOTS: authority.rootFile };
  const { stdout } = await run('sh', ['-ec', commands], { cwd, env });
  expect(stdout).toMatch(/^Verification: OK\n[\s\S]*Serial number: 0x02\n/);

  const files = ['kept.tsr', 'kept.txt'].map((name) => join(cwd, name)) as [string, string];
  const own = await runCommand(['verify', files[0]]);
  expect(own.stdout).toMatch(
    /^intact .*kept\.txt existed before \S+Z \(1 entry\), according to “CN=Authority/,
  );
  await writeFile(files[1], (await readFile(files[1], 'utf8')).replace('\n1\n', '\n2\n'));
  await expect(run('sh', ['-ec', commands.split('\n')[2] ?? ''], { cwd, env })).rejects.toThrow(
    'message imprint mismatch',
  );
  expect(await runCommand(['verify', files[0]])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^altered .*its imprint does not match/) as string,
  });
});

test('the proof script accepts a retrieval and rejects an altered one', async () => {
  const dataFolder = join(await temporaryFolder(), 'data');
  const web = await ScriptedWeb.open();
  const urls = ['/a', '/b', '/c'].map((path) => {
    web.script(path, page(`<title>É \u2028</title>${path}`));
    return web.url(path);
  });
  const node = await openCollectingNode({}, { dataFolder });
  for (const url of urls) await node.watch(url);
  await node.check();
  const folder = await temporaryFolder();
  for (const [name, program] of await codeBlocksOf('verify-by-hand.md', 'python'))
    await writeFile(join(folder, name), program);
  const command = (await codeBlocksOf('verify-by-hand.md', 'sh')).get('retrieval') ?? 'exit 9';
  const ledger = async (url: string) => run('python3', ['ledger.py', url], { cwd: folder });
  const said = async (url: string, retrieval: number) => {
    const env = { PATH: process.env.PATH, NODE: url, RETRIEVAL: String(retrieval) };
    return (await run('sh', ['-ec', command], { cwd: folder, env })).stdout;
  };
  await ledger(node.node.url);
  for (const id of [1, 2, 3])
    expect(await said(node.node.url, id)).toMatch(/^covered by entry \d+ "http:\S+" "[0-9a-f]{64}"\n$/);
  await node.node.close();
  const database = new Database(join(dataFolder, 'strongroom.db'));
  database.exec('DROP TRIGGER retrievals_refuses_update; UPDATE retrievals SET status = 201 WHERE id = 2');
  database.close();
  const again = await openTestNode({ dataFolder });
  expect(await said(again.url, 2)).toMatch(/^NOT COVERED by an entry/);
});
