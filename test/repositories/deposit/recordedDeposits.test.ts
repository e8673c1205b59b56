import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { fingerprintOf } from '../../../server/ledger/entry.ts';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { LedgerEntry } from '../../../shared/ledger/ledger.ts';
import type { PackDeposit } from '../../../shared/node/deposit.ts';
import { parseLines } from '../../dump/dumpLines.ts';
import { readXml } from '../../harvesting/harvester.ts';
import { uploadNewPack } from '../../support/archive/packs.ts';
import { share } from '../../support/network/sharing.ts';
import { closeTestNodes, type TestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { InvenioServer } from './invenioServer.ts';
import { closeRepositories } from './repositoryServer.ts';
import { addRepository, deposit, hurriedClock, openDepositingNode } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeRepositories();
});

const FILES = { 'levels.csv': 'year,level\n2025,501\n' };

const read = async <Body>(node: TestNode, path: string) => (await (await node.fetch(path)).json()) as Body;
const listed = async (node: TestNode) => (await read<{ items: PackDeposit[] }>(node, '/api/deposits')).items;
const entries = async (node: TestNode) =>
  (await read<{ items: LedgerEntry[] }>(node, '/api/ledger?limit=200')).items.filter(
    ({ type }) => type === 'pack.deposited',
  );
const shown = async (node: TestNode, id: string) =>
  (await read<Pack>(node, `/api/packs/${id}`)).evidence.deposits;
const cited = async (node: TestNode, id: string) =>
  (await node.fetch(`/api/items/${id}/cite?format=apa`)).text();
const expectVerified = async (node: TestNode) =>
  expect(await read(node, '/api/ledger/verify')).toMatchObject({ ok: true });

/** A node with a pack that it published in a repository, a minute after it was added. */
async function published(dataFolder: string) {
  let behind = 60_000;
  const server = await new InvenioServer().listen();
  const clock = hurriedClock();
  const now = () => clock.now() - behind;
  const { node } = await openDepositingNode({ dataFolder, clock: { ...clock, now } });
  const repository = await addRepository(node, { kind: 'invenio' }, server);
  const pack = await uploadNewPack(node, { title: 'Levels' }, FILES);
  const draft = await deposit(node, pack.id, repository.id);
  expect(await entries(node)).toEqual([]);
  behind = 0;
  const made = await deposit(node, pack.id, repository.id, true);
  expect(made).toMatchObject({ state: 'published', doi: draft.doi });
  return { server, node, repository, pack, made, doi: made.doi ?? '' };
}

const newFolder = async () => join(await temporaryFolder(), 'data');

test('a deposit is in the ledger once it is published, and what is recorded has nothing private', async () => {
  const { server, node, pack, made, doi } = await published(await newFolder());
  const [entry, ...others] = await entries(node);
  expect(others).toEqual([]);
  const record = { pack: pack.id, doi, url: made.url, repository: 'invenio', at: made.published_at };
  expect(entry).toMatchObject({ subject: pack.id, digest: fingerprintOf(record) });
  expect(await listed(node)).toEqual([{ ledger_entry: entry?.seq, ...record }]);
  expect(await shown(node, pack.id)).toEqual([
    { doi, url: made.url, published_at: made.published_at, ledger_entry: entry?.seq },
  ]);
  const titles = await read<{ items: object[] }>(node, `/api/ledger/titles?from=${entry?.seq}`);
  expect(titles.items).toEqual([{ seq: entry?.seq, title: 'Levels' }]);
  await expectVerified(node);

  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  expect(parseLines(dump).filter(({ kind }) => kind === 'pack_deposit')).toEqual([
    { kind: 'pack_deposit', ledger_entry: entry?.seq, ...record },
  ]);
  for (const secret of [server.token, made.id, made.repository]) expect(dump).not.toContain(secret);
});

test('a link with a secret that a repository gives for its page is not recorded', async () => {
  const server = await new InvenioServer().listen();
  const { node } = await openDepositingNode();
  const repository = await addRepository(node, { kind: 'invenio' }, server);
  const pack = await uploadNewPack(node, {}, FILES);
  server.pageQuery = '?token=for-reviewers#files';
  await deposit(node, pack.id, repository.id, true);
  expect(await listed(node)).toMatchObject([
    { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/records\/[\w-]+$/) as string },
  ]);
});

test('an address that is too long for a record is not recorded, so that the dump can be imported', async () => {
  const server = await new InvenioServer().listen();
  const { node } = await openDepositingNode();
  const repository = await addRepository(node, { kind: 'invenio' }, server);
  const pack = await uploadNewPack(node, {}, FILES);
  server.pageQuery = `/${'a'.repeat(5_000)}`;
  await deposit(node, pack.id, repository.id, true);
  expect(await listed(node)).toMatchObject([{ url: server.url }]);
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'dump.jsonl'), await (await node.fetch('/api/dump.jsonl')).text());
  const imported = await runHere(['import', join(folder, 'dump.jsonl'), '--data', join(folder, 'data')]);
  expect(imported).toMatchObject({ code: 0 });
});

test('a dump, a rebuilt database and a restored copy keep the DOI, and a deposit again is not recorded twice', async () => {
  const data = await newFolder();
  const { server, node, pack, doi } = await published(data);
  const before = await shown(node, pack.id);
  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  await node.close();
  const folder = await temporaryFolder();
  const [file, copy] = [join(folder, 'dump.jsonl'), join(folder, 'copy')];
  await writeFile(file, dump);
  expect(await runHere(['copy', copy, '--pages', '--data', data])).toMatchObject({ code: 0, stderr: '' });
  expect(await runHere(['verify', copy])).toMatchObject({ code: 0, stderr: '' });
  const page = await readFile(join(copy, 'packs', `${pack.id}.html`), 'utf8');
  expect(page).toContain(`href="https://doi.org/${doi}"`);
  await writeFile(join(data, 'strongroom.db'), 'not a database');
  await writeFile(join(data, 'dump.jsonl'), dump);
  expect(await runHere(['rebuild', data])).toMatchObject({ code: 0 });
  const [imported, restored] = [join(folder, 'imported'), join(folder, 'restored')];
  expect(await runHere(['import', file, '--data', imported])).toMatchObject({ code: 0 });
  expect(await runHere(['restore', copy, '--data', restored])).toMatchObject({ code: 0 });
  for (const dataFolder of [data, imported, restored]) {
    const { node: again } = await openDepositingNode({ dataFolder });
    expect(await shown(again, pack.id)).toEqual(before);
    expect(await cited(again, pack.id)).toContain(` https://doi.org/${doi}\n`);
    const lines = parseLines(await (await again.fetch('/api/dump.jsonl')).text());
    expect(lines.slice(1, -1)).toEqual(parseLines(dump).slice(1, -1));
    await expectVerified(again);
    const repository = await addRepository(again, { kind: 'invenio' }, server);
    if (dataFolder === restored) {
      const body = { pack: pack.id, repository: repository.id };
      const refused = await again.sendJson('POST', '/manage/deposits?wait=true', body);
      expect(await refused.json()).toMatchObject({ code: 'archive_read_only' });
    } else if (dataFolder === data) {
      // Every file is here, so the deposit is compared and found.
      expect(await deposit(again, pack.id, repository.id)).toMatchObject({ state: 'published', doi });
    }
    expect(await shown(again, pack.id)).toEqual(before);
    expect(await entries(again)).toHaveLength(1);
    await again.close();
  }
  expect(server.records.size).toBe(1);
});

test('the publication changes the datestamp of the pack, so that harvesters get its DOI', async () => {
  const { node, pack, doi } = await published(await newFolder());
  await share(node, 'read');
  const [entry] = await entries(node);
  const second = `${entry?.at.slice(0, 19)}Z`;
  expect(second > pack.evidence.received_at).toBe(true);
  const records = `verb=ListRecords&metadataPrefix=oai_dc&from=${second}`;
  for (const set of ['', '&set=license:CC0-1.0']) {
    const { ListRecords } = await readXml(await node.fetch(`/oai?${records}${set}`));
    expect(ListRecords?.record).toMatchObject([{ header: { datestamp: second } }]);
    expect(JSON.stringify(ListRecords)).toContain(doi);
  }
  const all = await readXml(await node.fetch('/oai?verb=ListIdentifiers&metadataPrefix=oai_dc'));
  expect(all.ListIdentifiers?.header).toHaveLength(1);
  expect(await (await node.fetch('/sitemap/packs-1.xml')).text()).toContain(`<lastmod>${second}</lastmod>`);
});
