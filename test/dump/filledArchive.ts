import { rmSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { imported } from '../collection/captures/support.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { audit, overwrite } from '../fixity/support.ts';
import { InvenioServer } from '../repositories/deposit/invenioServer.ts';
import { addRepository, deposit } from '../repositories/deposit/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { CC_BY } from '../support/network/repositoryRecords.ts';
import { RepositoryServer } from '../support/network/repositoryServer.ts';
import { page, redirect, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { DERIVING } from '../support/node.ts';
import { response } from '../support/warcFiles.ts';

async function sent<Body>(node: CollectingNode, path: string, body: unknown): Promise<Body> {
  const answer = await node.node.sendJson('POST', path, body);
  expect(answer.ok, path).toBe(true);
  return (await answer.json()) as Body;
}

let filled: Promise<string> | undefined;

/**
 * Opens a node whose archive has at least one record of every kind in a dump. It is filled once for each process, and
 * every call opens a copy of that folder: filling takes the processor for seconds. Its sources no longer answer.
 */
export async function filledArchive(dataFolder: string): Promise<CollectingNode> {
  filled ??= (async () => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-filled-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    await fill(folder);
    return folder;
  })();
  await cp(await filled, dataFolder, { recursive: true });
  return openCollectingNode({}, { dataFolder, ...DERIVING });
}

async function fill(dataFolder: string): Promise<void> {
  const node = await openCollectingNode({ gone_after_minutes: 0 }, { dataFolder, ...DERIVING });
  await fillPacks(node);
  await fillSources(node);
  await fillCaptures(node);
  await fillImports(node);
  for (const bytes of ['X\n1\n', 'x\n1\n', 'X\n1\n', 'x\n1\n']) {
    await overwrite(dataFolder, sha256Of('x\n1\n'), bytes);
    await audit(node.node);
  }
  await fillFindings(node);
  await fillWithheld(node);
  await node.node.close();
}

/** Something withheld and shown again, something that stays withheld, and bytes that were given up. */
async function fillWithheld(node: CollectingNode): Promise<void> {
  const shown = { sha256: sha256Of('y\n') };
  await sent(node, '/manage/withheld', { ...shown, reason: 'legal_order', note: 'A "note" \u2028' });
  expect((await node.node.sendJson('DELETE', '/manage/withheld', shown)).ok).toBe(true);
  await sent(node, '/manage/withheld', { sha256: sha256Of('two'), reason: 'personal_data' });
  await sent(node, '/manage/released', { sha256: sha256Of('one'), reason: 'copyright', note: 'Asked for' });
}

async function fillFindings(node: CollectingNode): Promise<void> {
  const [{ id, sha256 } = { id: 0, sha256: '' }] = await node.events('event_type=changed');
  const target = { kind: 'event', id: String(id) };
  const finding = {
    target,
    text: 'A "finding" \u2028',
    tags: ['ä', 'b'],
    passage: { sha256, exact: 'A', page: 2 },
  };
  const first = await sent<{ id: string }>(node, '/manage/findings', finding);
  const second = await sent<{ id: string }>(node, '/manage/findings', {
    ...finding,
    text: 'Better',
    supersedes: first.id,
  });
  await sent(node, `/manage/findings/${second.id}/withdraw`, { reason: 'Misread' });
  await sent(node, '/manage/findings', { target: { kind: 'object', id: sha256 }, text: 'On an object' });
  const sealed = { ...finding, text: 'Sealed \u2028', sealed: true };
  await sent(node, '/manage/findings', sealed);
  const { id: revealed } = await sent<{ id: string }>(node, '/manage/findings', sealed);
  expect(
    (await node.node.fetchAsOwner(`/manage/findings/${revealed}/reveal`, { method: 'POST' })).status,
  ).toBe(201);
  const items = [
    { kind: 'event', id: String(id), note: 'A note' },
    { kind: 'finding', id: second.id },
  ];
  await sent(node, '/manage/cases', { title: 'A case', description: 'Ä', items });
}

async function fillPacks(node: CollectingNode): Promise<void> {
  await sent(node, '/api/nodes', { path: 'a', title: 'Ä "quoted" \\ \u2028' });
  await sent(node, '/api/nodes', { path: 'a/b', title: 'Below' });
  const study = await sent<{ id: string }>(node, '/api/studies', { title: 'Does it?', node: 'a/b' });
  await sent(node, `/api/studies/${study.id}/status`, { status: 'running', note: 'begun' });
  const results = JSON.parse('{"__proto__":1e-7,"9":6.02e23}') as Record<string, number>;
  const record = sampleRecord({ study: study.id, node: 'a/b', results });
  const original = await uploadNewPack(node.node, record, { 'a.csv': 'x\n1\n' });
  const again = { title: 'Again', supersedes: original.id };
  const replicates = { pack: original.id, verdict: 'partial' as const };
  await uploadNewPack(node.node, sampleRecord({ ...again, replicates }), { 'b.csv': 'y\n' });
  const flag = await node.node.sendJson('POST', `/api/packs/${original.id}/flag`, {
    reason: 'other',
    note: 'Look here',
  });
  expect(flag.ok).toBe(true);
  const comments = `/api/items/${original.id}/comments`;
  const { id } = await sent<{ id: string }>(node, comments, { author: 'Ada', body: 'A\nB' });
  await sent(node, comments, { author: 'Bea', body: 'Yes', reply_to: id });
  await fillDeposits(node, original.id);
}

async function fillDeposits({ node }: CollectingNode, pack: string): Promise<void> {
  const server = await new InvenioServer().listen();
  const repository = await addRepository(node, { kind: 'invenio' }, server);
  expect(await deposit(node, pack, repository.id, true)).toMatchObject({ state: 'published' });
  await server.close();
}

async function fillImports({ node }: CollectingNode): Promise<void> {
  const repository = await RepositoryServer.open('zenodo');
  const file = { name: 'levels.csv', bytes: Buffer.from('station,level\nA,1.2\n') };
  const record = { id: '12345', title: 'Tides', doi: '10.5072/test.12345', license: CC_BY, files: [file] };
  repository.add(record);
  const url = repository.origin + repository.landingPath(record);
  const imported = await node.sendJson('POST', '/manage/import?wait=true', { url });
  expect(await imported.json()).toMatchObject({ files: [{ state: 'held' }] });
  await repository.close();
}

async function fillSources(node: CollectingNode): Promise<void> {
  const web = await ScriptedWeb.open();
  const versions = ['<p>A<time>1</time>', '<p>A<time>2</time>', '<p>B</p>', '<p>A<time>1</time>'];
  web.script('/page', ...versions.map((body) => page(body)));
  const [first, second] = [page('first'), page('gone', { status: 404 })];
  web.script('/lost', first, second, second, page('back'));
  web.script('/moved', redirect('/page', 301));
  web.script('/removed', page('removed'));
  const rule = { kind: 'selector', value: 'time', note: '' };
  await node.watch(web.url('/page'), {
    tags: ['t', 'u'],
    max_object_mb: 5,
    noise_rules: [rule],
    headers: { 'X-Secret': 'hunter2', Accept: 'text/html' },
  });
  await node.watch(web.url('/lost'), { name: 'Lost', agency: 'Agency' });
  await node.watch(web.url('/moved'), {
    ignore_robots: true,
    every: '0 8 * * 1-5',
    time_zone: 'Europe/Berlin',
    active_hours: { from: '07:00', to: '19:00', days: ['mon'], time_zone: 'Europe/Berlin' },
    follow: { kind: 'links', match: '/none$', limit: 5, approve: false },
  });
  const { id } = await node.watch(web.url('/removed'));
  await node.check();
  await node.node.sendJson('PATCH', `/manage/sources/${id}`, { name: 'To be removed', every_minutes: 60 });
  await node.node.fetchAsOwner(`/manage/sources/${id}`, { method: 'DELETE' });
  for (let round = 0; round < 3; round += 1) await node.check();
  const ruled = async () =>
    (await node.events('event_type=changed')).filter(({ source }) => source.url.endsWith('/page'));
  // All of them, because a mark that is made later would change what is dumped.
  await eventually(async () => {
    const marks = (await ruled()).map(({ is_noise }) => is_noise);
    expect(marks).not.toEqual([]);
    expect(marks).not.toContain(null);
  });
}

async function fillCaptures(node: CollectingNode): Promise<void> {
  const uri = 'http://captured.example/';
  const file = Buffer.concat([
    response('one', { uri }),
    response('two', { uri, date: '2021-01-01T12:00:00Z' }),
    response('not here', { uri, date: '2022-01-01T12:00:00Z', status: 404 }),
  ]);
  expect((await imported(node, file)).captures).toBe(3);
}
