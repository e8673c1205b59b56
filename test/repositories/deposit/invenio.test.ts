import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { Job } from '../../../shared/node/job.ts';
import { uploadNewPack } from '../../support/archive/packs.ts';
import { eventually } from '../../support/eventually.ts';
import { share } from '../../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';
import { InvenioServer } from './invenioServer.ts';
import { closeRepositories, type Fault } from './repositoryServer.ts';
import { addRepository, deposit, depositsOf, hurriedClock, openDepositingNode } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeRepositories();
});

const FILES = { 'data/levels.csv': 'year,level\n2025,501\n', 'notes über.txt': 'Ω', 'empty.txt': '' };

async function open() {
  const server = await new InvenioServer().listen();
  const { node, pauses } = await openDepositingNode();
  const repository = await addRepository(node, { kind: 'invenio' }, server);
  return { server, node, pauses, repository };
}

function uploadPack(node: TestNode): Promise<Pack> {
  return uploadNewPack(
    node,
    {
      title: 'Sea level <at> Cuxhaven',
      summary: 'One & two.',
      authors: [
        { name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
        { name: 'Tide Gauge Network' },
      ],
      license: 'CC-BY-4.0',
      keywords: ['sea'],
      related: [{ relation: 'IsSupplementTo', identifier: 'https://doi.org/10.5555/12345678' }],
    },
    FILES,
  );
}

/** The requests whose answers are lost, and how. */
const LOSSES: readonly [name: string, fault: Fault][] = [
  ['create', 'unanswered'],
  ['create', 'unprocessed'],
  ['create', { status: 502 }],
  ['create', { status: 503, headers: { 'retry-after': '5' }, isProcessed: true }],
  ['reserve', 'unanswered'],
  ['files', 'unanswered'],
  ['begin', 'unanswered'],
  ['content', 'unanswered'],
  ['content', 'unprocessed'],
  ['commit', 'unanswered'],
  ['commit', { status: 502 }],
  ['publish', 'unanswered'],
  ['publish', 'unprocessed'],
  ['publish', { status: 504 }],
];

function only(server: InvenioServer) {
  expect([...server.records.keys()]).toHaveLength(1);
  const [record] = server.records.values();
  if (!record) throw new TypeError();
  return record;
}

describe('a deposit in InvenioRDM', () => {
  test('has the files, the record and the metadata of the pack, and stays a draft', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    const made = await deposit(node, pack.id, repository.id);
    const record = only(server);
    expect(made).toMatchObject({
      pack: pack.id,
      repository: repository.id,
      state: 'draft',
      url: `${server.url}/uploads/${record.id}`,
      doi: record.doi,
      files: 4,
      compared: 4,
      error: null,
      published_at: null,
    });
    const sent = Object.fromEntries([...record.files].map(([key, { bytes }]) => [key, bytes?.toString()]));
    const { 'pack.json': recordText, ...files } = sent;
    expect(files).toEqual(FILES);
    expect(
      createHash('sha256')
        .update(recordText ?? '')
        .digest('hex'),
    ).toBe(pack.digest);
    expect(record.metadata).toMatchObject({
      resource_type: { id: 'dataset' },
      title: 'Sea level <at> Cuxhaven',
      publisher: '127.0.0.1',
      publication_date: pack.evidence.received_at.slice(0, 10),
      rights: [{ id: 'cc-by-4.0' }],
      subjects: [{ subject: 'sea' }],
      creators: [
        {
          person_or_org: {
            type: 'personal',
            family_name: 'Carberry',
            given_name: 'Josiah',
            identifiers: [{ scheme: 'orcid', identifier: '0000-0002-1825-0097' }],
          },
          affiliations: [{ name: 'Brown University' }],
        },
        { person_or_org: { type: 'organizational', name: 'Tide Gauge Network' } },
      ],
      identifiers: [
        { scheme: 'urn', identifier: `urn:sha256:${pack.digest}` },
        { scheme: 'url', identifier: `https://archive.example/packs/${pack.id}` },
      ],
      related_identifiers: [
        { identifier: '10.5555/12345678', scheme: 'doi', relation_type: { id: 'issupplementto' } },
      ],
    });
    expect(record.metadata.description).toMatch(
      /^<p>One &#38; two\.<\/p>\n<p>This is a copy of the data pack pk_/,
    );
  });

  test('a reserved DOI is cited by nobody; once published it is cited in every format', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    const draft = await deposit(node, pack.id, repository.id);
    const shown = async () => (await (await node.fetch(`/api/packs/${pack.id}`)).json()) as Pack;
    const cited = async (format: string) =>
      (await node.fetch(`/api/items/${pack.id}/cite?format=${format}`)).text();
    const formats = ['apa', 'bibtex', 'ris', 'csl-json', 'datacite', 'croissant', 'frictionless'];
    expect(draft.doi).toMatch(/^10\.5072\//);
    for (const format of formats) expect(await cited(format), format).not.toContain('10.5072');
    expect((await shown()).evidence).not.toHaveProperty('deposits');

    const published = await deposit(node, pack.id, repository.id, true);
    expect(published).toMatchObject({ id: draft.id, state: 'published', doi: draft.doi });
    expect(server.publications).toEqual([only(server).id]);
    for (const format of formats) expect(await cited(format), format).toContain(draft.doi);
    expect((await shown()).evidence.deposits).toEqual([
      { doi: draft.doi, url: published.url, published_at: published.published_at, ledger_entry: 2 },
    ]);
    expect(await cited('apa')).toMatch(new RegExp(` https://doi\\.org/${draft.doi}\n$`));
    expect(JSON.parse(await cited('datacite'))).toMatchObject({ doi: draft.doi });
    const linkset = await node.fetch(`/api/items/${pack.id}/linkset?format=text`);
    expect(await linkset.text()).toContain(`<https://doi.org/${draft.doi}>; rel="cite-as"`);
    await share(node, 'read');
    const oai = await node.fetch(`/oai?verb=ListRecords&metadataPrefix=oai_datacite`);
    expect(await oai.text()).toContain(`<identifier identifierType="DOI">${draft.doi}</identifier>`);

    const requests = server.processed.length;
    expect(await deposit(node, pack.id, repository.id, true)).toEqual(published);
    expect(server.processed).toHaveLength(requests);
  });

  test('a draft that was published on the site is found out, and the same for one that a community accepted', async () => {
    const { server, node } = await open();
    const repository = await addRepository(node, { kind: 'invenio', community: 'sea-level' }, server);
    const pack = await uploadPack(node);
    const submitted = await deposit(node, pack.id, repository.id, true);
    const record = only(server);
    expect(submitted).toMatchObject({ state: 'draft', in_review: true });
    expect(record).toMatchObject({ community: server.community.id, isInReview: true, isPublished: false });
    expect(await deposit(node, pack.id, repository.id, true)).toMatchObject({
      state: 'draft',
      in_review: true,
    });
    record.isInReview = false;
    expect(await deposit(node, pack.id, repository.id)).toMatchObject({
      state: 'draft',
      in_review: false,
      publish: false,
    });
    expect(server.countOf('submit')).toBe(1);
    expect(await deposit(node, pack.id, repository.id, true)).toMatchObject({ in_review: true });
    server.accept(record.id);
    expect(await deposit(node, pack.id, repository.id)).toMatchObject({
      state: 'published',
      in_review: false,
      compared: 4,
    });
    expect(server.countOf('submit')).toBe(2);
  });
});

describe('a repository that says little', () => {
  const NOT_FOUND: Fault = { status: 404, json: { message: 'Not found.' } };

  test('has its files compared by the answers to each one, and is believed what it says of the publication', async () => {
    const { server, node, repository } = await open();
    server.fault = (name) => {
      if (name === 'files') return NOT_FOUND;
      return name === 'publish'
        ? { status: 202, json: { id: '00001-abcde', status: 'published' }, isProcessed: true }
        : undefined;
    };
    const pack = await uploadPack(node);
    expect(await deposit(node, pack.id, repository.id, true)).toMatchObject({
      state: 'published',
      files: 4,
      compared: 4,
      doi: only(server).doi,
    });
  });

  test('has published what it answers as a record, and nothing that it calls a draft', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    let status: string | undefined = 'draft';
    server.fault = (name) => {
      if (name === 'publish') return { status: 202, json: {} };
      const json = { id: '00001-abcde', status, pids: { doi: { identifier: '10.5072/FK2/A' } } };
      return name === 'record' ? { status: 200, json } : undefined;
    };
    const waiting = await deposit(node, pack.id, repository.id, true);
    expect(waiting).toMatchObject({ state: 'failed', published_at: null });
    expect(waiting.error).toContain('has not published yet');
    status = undefined;
    expect(await deposit(node, pack.id, repository.id, true)).toMatchObject({
      state: 'published',
      doi: '10.5072/FK2/A',
    });
  });

  test('gets nothing published if nothing shows that it has the files', async () => {
    const { server, node, repository } = await open();
    server.fault = (name) => {
      if (name === 'files') return NOT_FOUND;
      return name === 'commit' ? { status: 200, json: {}, isProcessed: true } : undefined;
    };
    const pack = await uploadPack(node);
    const failed = await deposit(node, pack.id, repository.id, true);
    expect(failed).toMatchObject({ state: 'failed', compared: 0 });
    expect(failed.error).toContain('did not keep');
    expect(server.publications).toEqual([]);
  });
});

describe('what goes wrong in a repository', () => {
  test('an answer that is lost leads to one deposit, published once, whichever it is', async () => {
    const { server, node, repository } = await open();
    server.indexLag = 2;
    for (const [name, fault] of LOSSES) {
      const when = `${name}: ${JSON.stringify(fault)}`;
      let faults = 0;
      server.fault = (each) => (each === name && faults++ === 0 ? fault : undefined);
      const pack = await uploadNewPack(node, { title: when }, FILES);
      const published = await deposit(node, pack.id, repository.id, true);
      expect(published, when).toMatchObject({ state: 'published', compared: 4 });
      expect(faults, when).toBeGreaterThan(0);
      const records = [...server.records.values()].filter(({ metadata }) => metadata.title === when);
      expect(records, when).toHaveLength(1);
      expect(records[0]?.files.size, when).toBe(4);
      expect(
        server.publications.filter((id) => id === records[0]?.id),
        when,
      ).toHaveLength(1);
    }
  });

  test('a repository that fails again and again is sent every file, as long as some arrive', async () => {
    const { server, node, repository } = await open();
    const files = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`${index}.txt`, `${index}`]));
    const pack = await uploadNewPack(node, {}, files);
    let requests = 0;
    server.fault = (name) => (name === 'content' && requests++ % 2 === 1 ? { status: 502 } : undefined);
    expect(await deposit(node, pack.id, repository.id, true)).toMatchObject({
      state: 'published',
      compared: 13,
    });
    requests = 0;
    server.fault = (name) => (name === 'content' && requests++ > 0 ? { status: 502 } : undefined);
    const other = await uploadNewPack(node, { title: 'Other' }, files);
    expect(await deposit(node, other.id, repository.id)).toMatchObject({ state: 'failed' });
    expect(requests).toBe(5);
  });

  test('a limit on requests is waited for as long as it says', async () => {
    const { server, node, pauses, repository } = await open();
    const limited = new Set(['create', 'content', 'publish']);
    server.fault = (name) =>
      limited.delete(name) ? { status: 429, headers: { 'retry-after': '17' }, json: {} } : undefined;
    const pack = await uploadPack(node);
    expect(await deposit(node, pack.id, repository.id, true)).toMatchObject({ state: 'published' });
    expect(pauses.filter((ms) => ms > 16_000 && ms <= 17_000)).toHaveLength(3);
    expect(server.publications).toHaveLength(1);

    server.fault = () => ({ status: 429, headers: { 'retry-after': '86400' }, json: {} });
    const other = await uploadNewPack(node, { title: 'Other' });
    expect(await deposit(node, other.id, repository.id)).toMatchObject({
      state: 'failed',
      error: `${server.url} takes no more requests for 1440 min. Continue the deposit later.`,
    });
  });

  test('a file that the repository changes is named, nothing is published, and the next attempt goes on', async () => {
    const { server, node, repository } = await open();
    server.alter = (key, bytes) => (key.endsWith('.csv') ? Buffer.concat([bytes, bytes]) : bytes);
    const pack = await uploadPack(node);
    const failed = await deposit(node, pack.id, repository.id, true);
    expect(failed).toMatchObject({ state: 'failed', files: 4, compared: 3 });
    expect(failed.error).toMatch(
      / changed "data\/levels\.csv": its md5 is [0-9a-f]{32} there, not .+ Nothing was published\.$/,
    );
    expect(server.publications).toEqual([]);
    server.alter = (_key, bytes) => bytes;
    expect(await deposit(node, pack.id, repository.id)).toMatchObject({
      id: failed.id,
      state: 'published',
      error: null,
    });
    expect(only(server).files.size).toBe(4);
  });

  test('a wrong token, a missing right and an unknown community are said, without the token', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    const { token } = server;
    server.token = 'another';
    const wrong = await deposit(node, pack.id, repository.id);
    expect(wrong).toMatchObject({ state: 'failed', url: null, doi: null });
    expect(wrong.error).toMatch(/ does not accept the token\. .* It says: Bad credentials: \(token\)$/);
    server.token = token;
    server.mayPublish = false;
    const forbidden = await deposit(node, pack.id, repository.id, true);
    expect(forbidden.error).toMatch(
      /^The token does not give the right to do this at .+ It says: Permission denied\.$/,
    );
    expect(forbidden.url).toBe(`${server.url}/uploads/${only(server).id}`);
    const elsewhere = await addRepository(node, { kind: 'invenio', community: 'unknown' }, server);
    expect(await deposit(node, pack.id, elsewhere.id)).toMatchObject({
      state: 'failed',
      error: `There is no community unknown at ${server.url}.`,
    });
    expect(server.records.size).toBe(1);
  });

  test('what somebody published on the site is compared, and a DOI that is none is not taken', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    await deposit(node, pack.id, repository.id);
    const record = only(server);
    server.accept(record.id);
    record.files.delete('data/levels.csv');
    record.doi = '10.5072/x>; rel="next"\r\nX: y';
    expect(await deposit(node, pack.id, repository.id)).toMatchObject({
      state: 'published',
      doi: null,
      files: 4,
      compared: 3,
    });
    expect((await node.fetch(`/api/items/${pack.id}/linkset?format=text`)).status).toBe(200);
  });

  test('no part of the token is said, however long the answer is', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    server.fault = () => ({ status: 400, json: { message: `${'x'.repeat(490)}${server.token}` } });
    const { error } = await deposit(node, pack.id, repository.id);
    expect(error).toContain('x'.repeat(490));
    expect(error).not.toContain(server.token.slice(0, 6));
  });

  test('a draft that was deleted on the site is made again; a redirect and a page are refused', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    const first = await deposit(node, pack.id, repository.id);
    server.records.clear();
    const second = await deposit(node, pack.id, repository.id);
    expect(second).toMatchObject({ id: first.id, state: 'draft' });
    expect(second.url).not.toBe(first.url);
    const other = await uploadNewPack(node, { title: 'Other' });
    server.fault = () => ({ status: 301, headers: { location: 'http://127.0.0.1:1/' } });
    expect((await deposit(node, other.id, repository.id)).error).toMatch(/redirects to another address/);
    server.fault = () => ({ status: 200, json: 'A page' });
    expect((await deposit(node, other.id, repository.id)).error).toMatch(
      /not what this kind of repository sends/,
    );
  });
});

describe('the node', () => {
  test('refuses packs with withheld or released bytes, also if they are withheld meanwhile', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    const [file] = pack.files;
    const request = { pack: pack.id, repository: repository.id };
    server.fault = async (name) => {
      if (name === 'commit')
        await node.sendJson('POST', '/manage/withheld', { sha256: file?.sha256, reason: 'owner' });
      return undefined;
    };
    const stopped = await deposit(node, pack.id, repository.id, true);
    expect(stopped).toMatchObject({ state: 'failed', error: /withheld from visitors/ });
    expect(server.publications).toEqual([]);
    const refused = await node.sendJson('POST', '/manage/deposits', request);
    expect(await refused.json()).toMatchObject({ status: 451, code: 'withheld' });
    await node.sendJson('POST', '/manage/released', { sha256: file?.sha256, reason: 'owner' });
    const gone = await node.sendJson('POST', '/manage/deposits', request);
    expect(await gone.json()).toMatchObject({ status: 410, code: 'released' });
    for (const [changed, code] of [
      [{ pack: 'pk_00000000000000000000' }, 'unknown_pack'],
      [{ repository: 're_00000000000000000000' }, 'unknown_target'],
    ] as const) {
      const unknown = await node.sendJson('POST', '/manage/deposits', { ...request, ...changed });
      expect(await unknown.json()).toMatchObject({ status: 422, code });
    }
  });

  test('keeps the token in a file of its own, and gives it to the repository only', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    await deposit(node, pack.id, repository.id, true);
    expect(repository).toEqual({
      id: repository.id,
      kind: 'invenio',
      url: server.url,
      community: null,
      has_token: true,
      added_at: repository.added_at,
    });
    for (const path of ['/manage/repositories', '/manage/deposits', '/manage/jobs', '/api/dump.jsonl'])
      expect(await (await node.fetchAsOwner(path)).text(), path).not.toContain(server.token);
    const folder = node.dataFolder;
    const holding: string[] = [];
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile() && (await readFile(join(entry.parentPath, entry.name))).includes(server.token))
        holding.push(entry.name);
    expect(holding).toEqual(['repository-tokens']);
    const plain = { kind: 'invenio', url: 'http://repository.example', token: 'x' };
    const refused = await node.sendJson('POST', '/manage/repositories', plain);
    expect(await refused.json()).toMatchObject({ code: 'invalid_field', errors: [{ path: '/url' }] });
    const again = await addRepository(node, { kind: 'invenio', token: 'new' }, server);
    expect(again.id).toBe(repository.id);
    expect(
      (await node.fetchAsOwner(`/manage/repositories/${repository.id}`, { method: 'DELETE' })).status,
    ).toBe(204);
    expect(await readFile(join(folder, 'repository-tokens'), 'utf8')).toBe('{}\n');
    expect(await depositsOf(node)).toMatchObject([{ state: 'published' }]);
  });

  test('adds the same repository once, and sends no token over plain HTTP to where a local name leads', async () => {
    const server = await new InvenioServer().listen();
    const url = server.url.replace('127.0.0.1', 'repository.internal');
    // 127.0.0.1 stands for the public network.
    const lookup = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    const { node } = await openDepositingNode({ network: { lookup, isPrivateAddress: () => false } });
    const body = { kind: 'invenio' as const, url };
    const added = await Promise.all([addRepository(node, body, server), addRepository(node, body, server)]);
    expect(added[0].id).toBe(added[1].id);
    const pack = await uploadPack(node);
    const failed = await deposit(node, pack.id, added[0].id);
    expect(failed.error).toMatch(/leads to a public address, to which the token would be sent unencrypted/);
    expect(server.processed).toEqual([]);
  });

  test('cancels a deposit, goes on with it, and goes on by itself after it was closed', async () => {
    const { server, node, repository } = await open();
    const pack = await uploadPack(node);
    const request = { pack: pack.id, repository: repository.id, publish: true };
    let reached = () => {};
    const untilContent = () => new Promise<void>((resolve) => (reached = resolve));
    server.fault = async (name) => {
      if (name !== 'content') return undefined;
      reached();
      return new Promise(() => {});
    };
    let content = untilContent();
    const started = await node.sendJson('POST', '/manage/deposits', request);
    expect(started.status).toBe(202);
    const job = (await started.json()) as Job;
    await content;
    await node.fetchAsOwner(`/manage/jobs/${job.id}`, { method: 'DELETE' });
    expect(await depositsOf(node)).toMatchObject([{ state: 'failed', error: 'It was cancelled.' }]);
    content = untilContent();
    await node.sendJson('POST', '/manage/deposits', request);
    await content;
    await node.close();
    server.fault = () => undefined;
    const { dataFolder } = node;
    const again = await openTestNode({ dataFolder, clock: hurriedClock() });
    await eventually(async () => expect(await depositsOf(again)).toMatchObject([{ state: 'published' }]));
    expect(only(server).files.size).toBe(4);
    expect(server.publications).toHaveLength(1);
  });
});
