import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PlannedImport, RecordImport } from '../../shared/archive/recordImport.ts';
import { readDraft } from '../support/archive/drafts.ts';
import { sha256Of } from '../support/archive/packs.ts';
import {
  answer,
  breakAfter,
  CC_BY,
  CC_BY_NC,
  closeRepositoryServers,
  type FileStep,
  KINDS,
  type Kind,
  md5,
  ORCID,
  RepositoryServer,
  type ServedFile,
  type ServedRecord,
  sendWhole,
  statesChecksums,
} from '../support/network/repositoryServer.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

const LEVELS = Buffer.from('station,level\nA,1.2\nB,1.4\nC,0.9\n');
const NOTES = Buffer.from('Levels are in metres above the datum.\n');
const files = (...given: Partial<ServedFile>[]): ServedFile[] =>
  given.map((file, index) => ({ name: `file-${index}.csv`, bytes: LEVELS, ...file }));

let next = 10_000;

describe.each(KINDS)('a record of %s', (kind) => {
  let node: TestNode;
  let repository: RepositoryServer;

  beforeAll(async () => {
    repository = await RepositoryServer.open(kind);
    node = await openTestNode();
    const settings = { doi_resolver: repository.resolver, retry_delays_seconds: [0, 0] };
    expect((await node.sendJson('PATCH', '/manage/settings', settings)).status).toBe(200);
  });
  afterAll(async () => {
    await closeTestNodes();
    await closeRepositoryServers();
  });

  function add(record: Partial<ServedRecord> = {}): ServedRecord {
    next += 1;
    const id = String(next);
    return repository.add({
      id,
      title: 'Tides at three gauges',
      doi: `10.5072/test.${id}`,
      license: CC_BY,
      files: files({ name: 'levels.csv' }, { name: 'notes.csv', bytes: NOTES }),
      ...record,
    });
  }

  async function importIt({ doi }: { doi: string }): Promise<RecordImport> {
    const response = await node.sendJson('POST', '/manage/import?wait=true', { doi });
    expect(response.status, await response.clone().text()).toBe(201);
    return (await response.json()) as RecordImport;
  }

  const statesOf = (imported: { files: { state: string }[] }) => imported.files.map(({ state }) => state);
  const draftPaths = async (imported: RecordImport) =>
    (await readDraft(node, imported.draft)).files.map(({ path }) => path);

  test('becomes a draft with its record filled and every file compared, and all that was asked is archived', async () => {
    const record = add();
    const plan = await node.sendJson('POST', '/manage/import?wait=true&dry_run=true', { doi: `doi:${record.doi}` });
    expect(plan.status).toBe(200);
    const planned = (await plan.json()) as PlannedImport;
    expect(planned).toMatchObject({ draft: null, title: record.title, doi: record.doi });
    expect(statesOf(planned)).toEqual(['planned', 'planned']);
    expect(repository.requestsFor(repository.filePath(record, 0))).toEqual([]);

    const imported = await importIt(record);
    expect(imported).toMatchObject({ title: record.title, doi: record.doi });
    const checksums = statesChecksums(kind) ? [`md5:${md5(LEVELS)}`, `md5:${md5(NOTES)}`] : [null, null];
    expect(imported.files.map(({ bytes, checksum, state }) => ({ bytes, checksum, state }))).toEqual([
      { bytes: LEVELS.length, checksum: checksums[0], state: 'held' },
      { bytes: NOTES.length, checksum: checksums[1], state: 'held' },
    ]);
    const draft = await readDraft(node, imported.draft);
    expect(draft.record).toMatchObject({
      title: record.title,
      license: 'CC-BY-4.0',
      related: [{ identifier: record.doi }],
      authors: [{ orcid: ORCID }],
    });
    if (kind !== 'signposting') {
      expect(draft.record).toMatchObject({ keywords: ['tides', 'gauges'], summary: 'Levels at three gauges.' });
      expect(JSON.stringify(draft.record.authors)).toContain('Carberry');
    }
    expect(draft.files.map(({ sha256, contents }) => ({ sha256, contents }))).toEqual([
      { sha256: sha256Of(LEVELS), contents: 'archived' },
      { sha256: sha256Of(NOTES), contents: 'archived' },
    ]);
    const asked = repository.seen.filter(({ path }) => path.includes(record.id));
    for (const path of new Set(asked.map((request) => request.path))) {
      const proven = await node.fetch(`/archive/mementos-of?x=${encodeURIComponent(path)}`).catch(() => undefined);
      expect(proven).toBeDefined();
    }
  });

  const unreliable: [string, FileStep[], number][] = [
    ['asks to wait (429 with Retry-After)', [answer(429, { 'Retry-After': '0' }), sendWhole], 2],
    ['answers 502 before a file', [answer(502), sendWhole], 2],
    ['breaks off, answers 502, and goes on by range', [breakAfter(9), answer(502), sendWhole], 3],
    ['breaks off twice within a file', [breakAfter(5), breakAfter(7), sendWhole], 3],
    [
      'breaks off and knows no ranges',
      [
        breakAfter(9),
        (response, _request, bytes) => void response.writeHead(200, { 'Content-Length': bytes.length }).end(bytes),
      ],
      2,
    ],
  ];
  test.each(unreliable)('is whole although the repository %s', async (_, steps, requests) => {
    const record = add({ files: files({ steps: [...steps] }) });
    const imported = await importIt(record);
    expect(statesOf(imported), imported.warnings.join('\n')).toEqual(['held']);
    const [file] = (await readDraft(node, imported.draft)).files;
    expect(file).toMatchObject({ sha256: sha256Of(LEVELS), bytes: LEVELS.length });
    expect(file?.contents).not.toBe('missing');
    expect(repository.requestsFor(repository.filePath(record, 0))).toHaveLength(requests);
  });

  test.runIf(statesChecksums(kind))('keeps a file out of the draft whose checksum lies or which changed since', async () => {
    const record = add({
      files: files(
        { name: 'lie.csv', md5: md5(NOTES) },
        { name: 'changed.csv', md5: null, size: 3 },
        { name: 'right.csv' },
        { name: 'unstated.csv', md5: null },
      ),
    });
    const imported = await importIt(record);
    expect(statesOf(imported)).toEqual(['mismatch', 'mismatch', 'held', 'held']);
    expect(await draftPaths(imported)).toEqual(['right.csv', 'unstated.csv']);
    const said = imported.warnings.join('\n');
    expect(said).toContain(`md5:${md5(NOTES)} is stated, and md5:${md5(LEVELS)} was received`);
    expect(said).toContain('3 bytes are stated');
    expect(said).toContain('states no checksum of 1 file');
    // What the repository sent is evidence.
    expect((await node.fetch(`/archive/objects/${sha256Of(LEVELS)}`)).status).toBe(200);
  });

  test('names a licence that no pack can have, and leaves it out', async () => {
    const imported = await importIt(add({ license: CC_BY_NC }));
    expect((await readDraft(node, imported.draft)).record.license).toBeUndefined();
    expect(imported.warnings.join('\n')).toMatch(/The licence is “[^”]*nc/i);
  });

  test.runIf(kind !== 'signposting')('may have no files', async () => {
    const imported = await importIt(add({ files: [] }));
    expect(imported.files).toEqual([]);
    expect(imported.warnings).toContain('The record has no files that the public gets.');
  });

  test('says which files the public does not get', async () => {
    const record = add({ access: 'restricted', files: files({ restricted: true }, {}) });
    const imported = await importIt(record);
    expect(statesOf(imported)[0]).toBe('failed');
    expect(imported.warnings.join('\n')).toMatch(/restricted|403/);
  });

  test('gives hostile names a place inside the draft, and keeps names of any script', async () => {
    const names = ['../../etc/passwd', '/abs/ütf-8 данные.csv', 'A.csv', 'a.csv', 'C:\\con.txt', 'x/\u202egpj.exe'];
    const record = add({ files: files(...names.map((name) => ({ name }))) });
    const imported = await importIt(record);
    expect(new Set(statesOf(imported))).toEqual(new Set(['held']));
    const paths = await draftPaths(imported);
    expect(paths).toHaveLength(names.length);
    expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(names.length);
    expect(paths.every((path) => !path.startsWith('/') && !path.split('/').includes('..'))).toBe(true);
    if (kind !== 'signposting') expect(paths).toContain('abs/ütf-8 данные.csv');
  });

  test('is fetched from an object store by a signed address that is published nowhere', async () => {
    const signed = '/store/object?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA&X-Amz-Signature=5ec2e7';
    repository.faults.set(signed, [(response) => void response.writeHead(200).end(LEVELS)]);
    const record = add({ files: files({ steps: [answer(302, { Location: signed })] }) });
    const imported = await importIt(record);
    expect(statesOf(imported)).toEqual(['held']);
    const dump = await (await node.fetchAsOwner('/api/dump')).text();
    expect(dump).toContain('/store/object');
    expect(dump).not.toMatch(/5ec2e7|AKIA/);
  });

  test.runIf(kind === 'zenodo' || kind === 'invenio')('of all versions is the newest one, which is said', async () => {
    const record = add({ conceptDoi: '10.5072/concept.1' });
    const imported = await importIt({ doi: '10.5072/concept.1' });
    expect(imported.doi).toBe(record.doi);
    expect(imported.warnings.join('\n')).toContain('10.5072/concept.1 stands for all versions');
    expect((await readDraft(node, imported.draft)).record.related).toEqual([
      { relation: 'IsDerivedFrom', identifier: record.doi },
      { relation: 'IsVersionOf', identifier: '10.5072/concept.1' },
    ]);
  });

  test('of ten thousand files is listed whole, and what does not fit is said', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({ name: `data/${index}.csv`, bytes: LEVELS }));
    const record = add({ files: many });
    const response = await node.sendJson('POST', '/manage/import?dry_run=true', { doi: record.doi });
    const planned = (await response.json()) as PlannedImport;
    expect(planned.files).toHaveLength(10_000);
    expect(statesOf(planned).filter((state) => state === 'too_large')).toHaveLength(5_000);
    expect(planned.warnings.join('\n')).toContain('5000 files do not fit');
  });
});
