import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { NetworkConfig } from '../../server/collection/fetch/requester.ts';
import type { RecordImport } from '../../shared/archive/recordImport.ts';
import { MAX_DRAFT_BYTES } from '../../shared/limits.ts';
import type { Job } from '../../shared/node/job.ts';
import { readDraft } from '../support/archive/drafts.ts';
import { problemOf } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import {
  CC_BY,
  type FileStep,
  type Kind,
  md5,
  type ServedFile,
  type ServedRecord,
} from '../support/network/repositoryRecords.ts';
import {
  answer,
  breakAfter,
  closeRepositoryServers,
  RepositoryServer,
  sendWhole,
} from '../support/network/repositoryServer.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeRepositoryServers();
});

const BYTES = Buffer.from('station,level\nA,1.2\n');
const filesOf = (...files: Partial<ServedFile>[]) =>
  files.map((file, index): ServedFile => ({ name: `${index}.csv`, bytes: BYTES, ...file }));

async function openWith(
  kind: Kind,
  files: ServedFile[],
  network?: NetworkConfig,
): Promise<{ node: TestNode; repository: RepositoryServer; record: ServedRecord }> {
  const repository = await RepositoryServer.open(kind);
  const record = repository.add({
    id: '12345',
    title: 'Tides',
    doi: '10.5072/test.12345',
    license: CC_BY,
    files,
  });
  const node = await openTestNode(network ? { network } : {});
  await node.sendJson('PATCH', '/manage/settings', {
    doi_resolver: repository.resolver,
    retry_delays_seconds: [0],
  });
  return { node, repository, record };
}

async function startJob(node: TestNode, body: object): Promise<Job> {
  const response = await node.sendJson('POST', '/manage/import', body);
  expect(response.status).toBe(202);
  return (await response.json()) as Job;
}

async function endedJob(node: TestNode, { id }: Job): Promise<Job & { result: RecordImport }> {
  return eventually(async () => {
    const job = (await (await node.fetchAsOwner(`/manage/jobs/${id}`)).json()) as Job & {
      result: RecordImport;
    };
    expect(job.state).not.toBe('running');
    return job;
  });
}

async function importNow(node: TestNode, body: object): Promise<RecordImport> {
  const response = await node.sendJson('POST', '/manage/import?wait=true', body);
  expect(response.status, await response.clone().text()).toBe(201);
  expect(response.headers.get('Location')).toMatch(/^\/manage\/drafts\/dr_/);
  return (await response.json()) as RecordImport;
}

describe('the import of a record', () => {
  test('is a job that can be cancelled, and continues in the same draft without a file that came', async () => {
    const held: (() => void)[] = [];
    let asked: () => void;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { node, repository, record } = await openWith(
      'zenodo',
      filesOf(
        {},
        {
          steps: [
            (response) => {
              asked();
              held.push(() => response.destroy());
            },
            sendWhole,
          ],
        },
      ),
    );
    const job = await startJob(node, { doi: record.doi });
    await isAsked;
    // The first file is there before the second one is awaited.
    await eventually(async () => {
      const drafts = await (await node.fetchAsOwner('/manage/drafts')).json();
      expect(drafts).toMatchObject({ items: [{ counts: { files: 1 } }] });
    });
    const cancelled = await node.fetchAsOwner(`/manage/jobs/${job.id}`, { method: 'DELETE' });
    expect(cancelled.status).toBe(200);
    const { state, result: stopped } = await endedJob(node, job);
    expect(state).toBe('cancelled');
    expect(stopped.files.map((file) => file.state)).toEqual(['held', 'failed']);
    expect(stopped.warnings.join('\n')).toContain('“1.csv” was not fetched: the import was stopped');
    for (const end of held) end();

    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder });
    const continued = await importNow(again, { url: `https://doi.org/${record.doi.toUpperCase()}` });
    expect(continued.draft).toBe(stopped.draft);
    expect(continued.files.map((file) => file.state)).toEqual(['held', 'held']);
    expect(repository.requestsFor(record, 0)).toHaveLength(1);
    // It is complete, so that the next import of the record has a draft of its own.
    expect((await importNow(again, { doi: record.doi })).draft).not.toBe(stopped.draft);
  });

  test('of one record runs once at a time', async () => {
    const { node, record } = await openWith('zenodo', filesOf({}));
    const [one, other] = await Promise.all([
      importNow(node, { doi: record.doi }),
      importNow(node, { doi: `https://doi.org/${record.doi}` }),
    ]);
    expect(one.draft).toBe(other.draft);
  });

  test('takes the files that fit into the draft, also if the repository states no sizes', async () => {
    const { node, record } = await openWith(
      'zenodo',
      filesOf(
        { size: MAX_DRAFT_BYTES + 1 },
        {},
        { name: 'lies.bin', steps: [announceTooMuch], size: 5, md5: md5(BYTES) },
      ),
    );
    // Without sets, a draft has the room of a pack twice.
    await node.sendJson('PATCH', '/manage/settings', { max_set_gb: 0 });
    const imported = await importNow(node, { doi: record.doi });
    expect(imported.files.map(({ state }) => state)).toEqual(['too_large', 'held', 'too_large']);
    expect(imported.warnings.join('\n')).toContain('1 file does not fit');
  });

  test('leaves a dump that can be read, also of a file whose address is watched', async () => {
    const { node, repository, record } = await openWith('zenodo', filesOf({}));
    const path = repository.filePath(record, 0);
    let isWatched = false;
    // The check before the import gets another object. What the import gets is no version of the source.
    repository.faults.set(path, [(response) => void response.end(isWatched ? BYTES : 'watched')]);
    const added = await node.sendJson('POST', '/manage/sources', {
      url: repository.origin + path,
      ignore_robots: true,
    });
    const { id } = (await added.json()) as { id: string };
    const check = () => node.sendJson('POST', '/manage/collections?wait=true', { sources: [id] });
    expect((await check()).status).toBe(200);
    isWatched = true;
    expect((await importNow(node, { doi: record.doi })).files.map(({ state }) => state)).toEqual(['held']);
    const { items } = (await (await node.fetchAsOwner(`/manage/sources/${id}/retrievals`)).json()) as {
      items: { sha256: string }[];
    };
    expect(new Set(items.map(({ sha256 }) => sha256)).size).toBe(2);
    const folder = await temporaryFolder();
    const file = join(folder, 'dump.jsonl');
    await writeFile(file, await (await node.fetch('/api/dump.jsonl')).text());
    expect(await runHere(['verify', file])).toMatchObject({ code: 0, stderr: '' });
    expect(await runHere(['import', file, '--data', join(folder, 'new')])).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  test('is found by any address of it: its page, its entry, and its DOI in any form', async () => {
    const { node, repository, record } = await openWith('zenodo', filesOf({}));
    for (const body of [
      { url: repository.origin + repository.landingPath(record) },
      { url: `${repository.origin}/api/records/${record.id}` },
      { doi: `doi:${record.doi}` },
    ])
      expect((await importNow(node, body)).files.map(({ state }) => state)).toEqual(['held']);
  });

  test('is found in a Dataverse that answers only without the slash after the path', async () => {
    const { node, repository, record } = await openWith('dataverse', filesOf({}));
    const query = `?persistentId=${encodeURIComponent(`doi:${record.doi}`)}`;
    repository.faults.set(`/api/datasets/:persistentId/${query}`, [answer(404)]);
    const imported = await importNow(node, { doi: record.doi });
    expect(imported).toMatchObject({ doi: record.doi, files: [{ state: 'held' }] });
    expect(repository.seen.map(({ path }) => path)).toContain(`/api/datasets/:persistentId${query}`);
  });

  test('takes the uploaded form of tables that a Dataverse converted, also if no checksum fits', async () => {
    const { node, repository, record } = await openWith('dataverse', filesOf({}, {}));
    const entry = `/api/datasets/:persistentId/?persistentId=${encodeURIComponent(`doi:${record.doi}`)}`;
    const dataset = (await (await fetch(repository.origin + entry)).json()) as {
      data: { latestVersion: { files: { dataFile: object }[] } };
    };
    Object.assign(dataset.data.latestVersion.files[0]?.dataFile ?? {}, {
      tabularData: true,
      originalFileName: 'levels.sav',
      originalFileSize: 12,
    });
    Object.assign(dataset.data.latestVersion.files[1]?.dataFile ?? {}, {
      tabularData: true,
      originalFileName: 'cut.sav',
      originalFileSize: 13,
    });
    const original = Buffer.from('the original');
    repository.faults.set(entry, [
      answer(200, { 'Content-Type': 'application/json' }, JSON.stringify(dataset)),
    ]);
    for (const index of [0, 1])
      repository.faults.set(`${repository.filePath(record, index)}?format=original`, [
        (response) => void response.end(original),
      ]);
    const imported = await importNow(node, { doi: record.doi });
    expect(imported.files).toMatchObject([
      { path: 'levels.sav', bytes: original.length, state: 'held' },
      { path: 'cut.sav', bytes: original.length, state: 'mismatch' },
    ]);
    expect(imported.warnings.join('\n')).toContain('The repository converted 1 file.');
  });

  test.each<[Kind, list: string]>([
    ['invenio', '/api/records/12345/files'],
    ['osf', '/v2/nodes/12345/files/osfstorage/?page%5Bsize%5D=100'],
    ['figshare', '/v2/articles/12345/versions/1/files?page=1&page_size=1000'],
    ['dryad', '/api/v2/versions/12345/files?per_page=100'],
    ['signposting', '/linkset/12345'],
  ])('of %s does not take a record for whole whose list of files cannot be read', async (kind, list) => {
    const files = filesOf(...Array.from({ length: 30 }, () => ({})));
    const { node, repository, record } = await openWith(kind, files);
    repository.faults.set(list, [answer(502)]);
    const refused = await problemOf(node.sendJson('POST', '/manage/import?wait=true', { doi: record.doi }));
    expect(refused).toMatchObject({ status: 422, code: 'record_unreadable' });
    expect(String(refused.detail)).toContain(`${list} could not be read: the server answered 502`);
    expect(await (await node.fetchAsOwner('/manage/drafts')).json()).toMatchObject({ total: 0 });
    repository.faults.clear();
    expect((await importNow(node, { doi: record.doi })).files).toHaveLength(30);
  });

  test('says if the interface of the repository did not answer, and the page did', async () => {
    const { node, repository, record } = await openWith('zenodo', filesOf({}));
    repository.faults.set(`/api/records/${record.id}`, [answer(503)]);
    repository.faults.set(repository.landingPath(record), [page('Tides', '/nothing')]);
    const imported = await importNow(node, { doi: record.doi });
    expect(imported.warnings.join('\n')).toContain(
      `/api/records/${record.id} could not be read, so only what the page itself says was taken.`,
    );
  });

  test('continues in the draft of the same record, also if addresses differ only beside a token', async () => {
    const { node, repository } = await openWith('schemaOrg', []);
    const draftOf = async (id: number) => {
      repository.faults.set(`/page?id=${id}&token=5ec2e7`, [page(`Record ${id}`, '/nothing')]);
      const imported = await importNow(node, { url: `${repository.origin}/page?id=${id}&token=5ec2e7` });
      expect(imported.warnings[0] + (imported.warnings[1] ?? '')).toContain('The address has a token.');
      const { record } = await readDraft(node, imported.draft);
      expect(record.related).toEqual([
        { relation: 'IsDerivedFrom', identifier: `${repository.origin}/page` },
      ]);
      return imported.draft;
    };
    const one = await draftOf(1);
    expect(await draftOf(1)).toBe(one);
    expect(await draftOf(2)).not.toBe(one);
    expect(await (await node.fetchAsOwner('/api/dump.jsonl')).text()).not.toContain('5ec2e7');
  });

  test('replaces no file that a person has put into its draft', async () => {
    const { node, record } = await openWith('zenodo', filesOf({}, { steps: [answer(502)] }));
    const { draft } = await importNow(node, { doi: record.doi });
    const own = await node.fetchAsOwner(`/manage/drafts/${draft}/files?path=0.csv`, {
      method: 'PUT',
      body: 'my own',
      headers: { 'Content-Type': 'application/octet-stream' },
    });
    expect(own.status).toBe(200);
    const again = await importNow(node, { doi: record.doi });
    expect(again).toMatchObject({ draft, files: [{ state: 'failed' }, { state: 'failed' }] });
    expect(again.warnings.join('\n')).toContain('“0.csv” is not in the draft, which has another file');
    expect((await readDraft(node, draft)).files).toMatchObject([{ path: '0.csv', bytes: 6 }]);
  });

  test('compares a file that is in its draft with the stated MD5 again, not only its size', async () => {
    const { node, record } = await openWith('zenodo', filesOf({}, { steps: [answer(502)] }));
    const { draft, files } = await importNow(node, { doi: record.doi });
    expect(files).toMatchObject([{ state: 'held', checksum: expect.stringMatching(/^md5:/) }, {}]);
    const own = await node.fetchAsOwner(`/manage/drafts/${draft}/files?path=0.csv`, {
      method: 'PUT',
      body: '~'.repeat(files[0]?.bytes ?? 0),
      headers: { 'Content-Type': 'application/octet-stream' },
    });
    expect(own.status).toBe(200);
    const again = await importNow(node, { doi: record.doi });
    expect(again.files).toMatchObject([{ state: 'failed' }, {}]);
    expect(again.warnings.join('\n')).toContain('“0.csv” is not in the draft, which has another file');
    const { files: kept } = await readDraft(node, draft);
    await rm(join(node.dataFolder, 'drafts', draft, kept[0]?.sha256 ?? ''));
    const damaged = await importNow(node, { doi: record.doi });
    expect(damaged.warnings.join('\n')).toContain('“0.csv” is damaged in the draft. Remove it there');
  });

  test('takes a restricted file that a person has put into its draft for held', async () => {
    const bytes = Buffer.from('year,level\n');
    const { node, record } = await openWith(
      'dataverse',
      filesOf({ bytes, restricted: true }, { steps: [answer(502)] }),
    );
    const { draft, files } = await importNow(node, { doi: record.doi });
    expect(files).toMatchObject([{ state: 'failed' }, { state: 'failed' }]);
    const own = await node.fetchAsOwner(`/manage/drafts/${draft}/files?path=0.csv`, {
      method: 'PUT',
      body: bytes,
      headers: { 'Content-Type': 'application/octet-stream' },
    });
    expect(own.status).toBe(200);
    const again = await importNow(node, { doi: record.doi });
    expect(again).toMatchObject({ draft, files: [{ state: 'held' }, { state: 'failed' }] });
  });

  test('replaces no file that a person puts into its draft meanwhile', async () => {
    let draft = '';
    const put = async (path: string) => {
      await eventually(async () => {
        const drafts = await (await node.fetchAsOwner('/manage/drafts')).json();
        draft = (drafts as { items: { id: string }[] }).items[0]?.id ?? '';
        expect(draft).not.toBe('');
      });
      await node.fetchAsOwner(`/manage/drafts/${draft}/files?path=${path}`, {
        method: 'PUT',
        body: 'my own',
        headers: { 'Content-Type': 'application/octet-stream' },
      });
    };
    const { node, record } = await openWith(
      'zenodo',
      filesOf(
        { steps: [(...step) => void put('0.csv').then(() => sendWhole(...step))] },
        { steps: [breakAfter(4), (...step) => void put('1.csv').then(() => sendWhole(...step))] },
      ),
    );
    const imported = await importNow(node, { doi: record.doi });
    expect(imported.files.map(({ state }) => state)).toEqual(['failed', 'failed']);
    expect((await readDraft(node, draft)).files).toMatchObject([{ bytes: 6 }, { bytes: 6 }]);
  });

  test('puts no file into the draft that the archive has no space for', async () => {
    const { node, record } = await openWith('zenodo', filesOf({ bytes: Buffer.alloc(2_000_000) }, {}));
    await node.sendJson('PATCH', '/manage/settings', { data_cap_gb: 0.001 });
    const imported = await importNow(node, { doi: record.doi });
    expect(imported.files.map(({ state }) => state)).toEqual(['failed', 'held']);
    expect((await readDraft(node, imported.draft)).files.map(({ path }) => path)).toEqual(['1.csv']);
  });

  test('asks nothing else after it failed, and nothing after a list of what will come was given up', async () => {
    const { node, repository, record } = await openWith(
      'dryad',
      filesOf(...Array.from({ length: 10_000 }, () => ({}))),
      { isPrivateAddress: (address) => address !== '127.0.0.1' },
    );
    await node.sendJson('PATCH', '/manage/settings', { request_timeout_seconds: 300 });
    const private_ = { Location: 'http://127.0.0.2:1/' };
    repository.faults.set('/api/v2/versions/12345/files?per_page=100&page=3', [answer(302, private_)]);
    const url = repository.origin + repository.landingPath(record);
    const refused = await problemOf(node.sendJson('POST', '/manage/import?wait=true', { url }));
    expect(refused).toMatchObject({
      code: 'private_address',
      detail: 'The address leads to a private address, which is not fetched.',
    });

    const given = new AbortController();
    const isLeft = new Promise<void>((resolve) => {
      repository.faults.set(repository.landingPath(record), [
        (response) => {
          response.once('close', resolve);
          given.abort();
        },
      ]);
    });
    const asked = node.fetchAsOwner('/manage/import?dry_run=true', {
      method: 'POST',
      body: JSON.stringify({ url }),
      headers: { 'Content-Type': 'application/json' },
      signal: given.signal,
    });
    await expect(asked).rejects.toThrow(/abort/);
    await isLeft;
    expect(repository.seen.length).toBeLessThan(20);
  });

  test('refuses what is no record, and says why', async () => {
    const { node, repository, record } = await openWith('schemaOrg', []);
    const tryIt = (body: object) => problemOf(node.sendJson('POST', '/manage/import?wait=true', body));
    expect(await tryIt({ doi: 'nonsense' })).toMatchObject({
      code: 'invalid_field',
      errors: [{ path: '/doi' }],
    });
    expect(await tryIt({ doi: record.doi, url: 'https://example.org' })).toMatchObject({
      code: 'invalid_field',
    });
    const unknown = await tryIt({ doi: '10.5072/unknown' });
    expect(unknown).toMatchObject({ status: 422, code: 'record_unreadable' });
    repository.faults.set('/plain', [answer(200, { 'Content-Type': 'text/html' }, '<title>A page</title>')]);
    const plain = await tryIt({ url: `${repository.origin}/plain` });
    expect(plain).toMatchObject({ code: 'record_unreadable' });
    expect(String(plain.detail)).toContain('neither Signposting nor schema.org');
    repository.faults.set('/data', [answer(302, { Location: 'data:text/html,<title>A page</title>' })]);
    const data = await tryIt({ url: `${repository.origin}/data` });
    expect(data).toMatchObject({ code: 'record_unreadable' });
    expect(data.detail).toContain(
      `${repository.origin}/data leads to an address that is neither http nor https.`,
    );
    // No draft was made of any.
    expect(await (await node.fetchAsOwner('/manage/drafts')).json()).toMatchObject({ total: 0 });
    expect((await node.fetch('/manage/import', { method: 'POST' })).status).toBe(401);
  });

  test('never goes from a public repository to a private address', async () => {
    const repository = await RepositoryServer.open('zenodo');
    const inner = await RepositoryServer.open('zenodo');
    const record = repository.add({
      id: '12345',
      title: 'Tides',
      doi: '10.5072/test.12345',
      license: CC_BY,
      files: filesOf({
        steps: [answer(302, { Location: `${inner.origin.replace('127.0.0.1', '127.0.0.2')}/secret` })],
      }),
    });
    // 127.0.0.1 stands for the public network.
    const node = await openTestNode({ network: { isPrivateAddress: (address) => address !== '127.0.0.1' } });
    await node.sendJson('PATCH', '/manage/settings', { retry_delays_seconds: [] });
    const imported = await importNow(node, { url: repository.origin + repository.landingPath(record) });
    expect(imported.files.map(({ state }) => state)).toEqual(['failed']);
    expect(imported.warnings.join('\n')).toMatch(/private address/);
    expect(inner.seen).toEqual([]);
  });

  test('never goes from a public repository to a private address, also if a private one led to it', async () => {
    const node = await openTestNode({ network: { isPrivateAddress: (address) => address !== '127.0.0.1' } });
    const repository = await RepositoryServer.open('schemaOrg');
    const inner = createServer((request, response) => {
      if (request.url === '/start') response.writeHead(302, { Location: `${repository.origin}/page` });
      response.end('secret');
    }).listen(0, '127.0.0.2');
    await once(inner, 'listening');
    const origin = `http://127.0.0.2:${(inner.address() as AddressInfo).port}`;
    repository.faults.set('/page', [page('Tides', `${origin}/secret`)]);
    const imported = await importNow(node, { url: `${origin}/start` });
    expect(imported.files).toMatchObject([{ state: 'failed' }]);
    expect(imported.warnings.join('\n')).toMatch(/private address/);
    inner.close();
  });
});

/** A page that says in JSON-LD that it is a dataset with one file. */
function page(name: string, contentUrl: string): FileStep {
  const dataset = { '@type': 'Dataset', name, distribution: [{ name: 'a.csv', contentUrl }] };
  const script = `<script type="application/ld+json">${JSON.stringify(dataset)}</script>`;
  return answer(200, { 'Content-Type': 'text/html' }, `<title>${name}</title>${script}`);
}

/** Announces a file that is larger than any draft. */
function announceTooMuch(response: Parameters<typeof sendWhole>[0]): void {
  response.writeHead(200, { 'Content-Length': MAX_DRAFT_BYTES + 1 });
  response.write('a');
}
