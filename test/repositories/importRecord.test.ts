import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PlannedImport, RecordImport } from '../../shared/archive/recordImport.ts';
import { readDraft } from '../support/archive/drafts.ts';
import { sha256Of } from '../support/archive/packs.ts';
import {
  CC_BY,
  CC_BY_NC,
  type FileStep,
  KINDS,
  md5,
  ORCID,
  type ServedFile,
  type ServedRecord,
  statesChecksums,
} from '../support/network/repositoryRecords.ts';
import {
  answer,
  breakAfter,
  closeRepositoryServers,
  RepositoryServer,
  sendWhole,
} from '../support/network/repositoryServer.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

const LEVELS = Buffer.from('station,level\nA,1.2\nB,1.4\nC,0.9\n');
const NOTES = Buffer.from('Levels are in metres above the datum.\n');
const files = (...given: Partial<ServedFile>[]): ServedFile[] =>
  given.map((file, index) => ({ name: `file-${index}.csv`, bytes: LEVELS, ...file }));

const knowsNoRanges: FileStep = (response, _request, bytes) =>
  void response.writeHead(200, { 'Content-Length': bytes.length }).end(bytes);

/** What repositories do before a file is whole, and how many requests it takes. */
const UNRELIABLE: [what: string, steps: FileStep[], requests: number][] = [
  ['asks to wait: 429 with Retry-After', [answer(429, { 'Retry-After': '0' }), sendWhole], 2],
  ['answers 502', [answer(502), sendWhole], 2],
  ['breaks off, answers 502, then gives the rest', [breakAfter(9), answer(502), sendWhole], 3],
  ['breaks off twice', [breakAfter(5), breakAfter(7), sendWhole], 3],
  ['breaks off, and knows no ranges', [breakAfter(9), knowsNoRanges], 2],
  ['breaks off, and has another file afterwards', [breakAfter(9, { ETag: '"old"' }), sendWhole], 2],
];

const SIGNED = '/store/object?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA&X-Amz-Signature=5ec2e7';
const HOSTILE_NAMES = [
  '../../etc/passwd',
  '/abs/ütf-8 данные.csv',
  'A.csv',
  'a.csv',
  'C:\\con.txt',
  'x/\u202egpj.exe',
  'a.csv/nested.csv',
];

let next = 10_000;

/** Each kind of repository, with each fault that real ones have. */
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
      doi: `10.5072/FK2.${id}`,
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

  async function plan({ doi }: { doi: string }): Promise<PlannedImport> {
    const response = await node.sendJson('POST', '/manage/import?dry_run=true', { doi: `doi:${doi}` });
    expect(response.status).toBe(200);
    return (await response.json()) as PlannedImport;
  }

  const statesOf = (imported: { files: { state: string }[] }) => imported.files.map(({ state }) => state);
  const draftPaths = async (imported: RecordImport) =>
    (await readDraft(node, imported.draft)).files.map(({ path }) => path);

  test('becomes a draft: its record is filled, its files are compared, and every request is archived', async () => {
    const record = add();
    const planned = await plan(record);
    expect(planned).toMatchObject({ draft: null, title: record.title, doi: record.doi });
    expect(statesOf(planned)).toEqual(['planned', 'planned']);
    expect(repository.requestsFor(record, 0)).toEqual([]);

    const imported = await importIt(record);
    expect(imported).toMatchObject({ title: record.title, doi: record.doi });
    // Some resolvers tell upper and lower case apart.
    expect(repository.seen.map(({ path }) => path)).toContain(`/doi/${record.doi}`);
    const checksums = statesChecksums(kind) ? [`md5:${md5(LEVELS)}`, `md5:${md5(NOTES)}`] : [null, null];
    expect(imported.files).toEqual([
      { path: 'levels.csv', bytes: LEVELS.length, checksum: checksums[0], state: 'held' },
      { path: 'notes.csv', bytes: NOTES.length, checksum: checksums[1], state: 'held' },
    ]);
    const draft = await readDraft(node, imported.draft);
    expect(draft.record).toMatchObject({
      title: record.title,
      license: 'CC-BY-4.0',
      related: [{ relation: 'IsDerivedFrom', identifier: record.doi }],
      authors: [{ orcid: ORCID }],
    });
    if (kind !== 'signposting') {
      expect(draft.record).toMatchObject({
        keywords: ['tides', 'gauges'],
        summary: 'Levels at three gauges.',
      });
      expect(JSON.stringify(draft.record.authors)).toContain('Carberry');
    }
    expect(draft.files.map(({ sha256, contents }) => ({ sha256, contents }))).toEqual([
      { sha256: sha256Of(LEVELS), contents: 'archived' },
      { sha256: sha256Of(NOTES), contents: 'archived' },
    ]);
    const dump = await (await node.fetchAsOwner('/api/dump.jsonl')).text();
    const asked = new Set(repository.seen.map(({ path }) => path).filter((path) => path.includes(record.id)));
    for (const path of asked) expect(dump).toContain(JSON.stringify(repository.origin + path));
  });

  test('is whole although the repository fails again and again', async () => {
    const record = add({ files: files(...UNRELIABLE.map(([, steps]) => ({ steps: [...steps] }))) });
    const imported = await importIt(record);
    expect(statesOf(imported), imported.warnings.join('\n')).toEqual(UNRELIABLE.map(() => 'held'));
    const draft = await readDraft(node, imported.draft);
    expect(new Set(draft.files.map(({ sha256 }) => sha256))).toEqual(new Set([sha256Of(LEVELS)]));
    expect(draft.files.some(({ contents }) => contents === 'missing')).toBe(false);
    for (const [index, [what, , requests]] of UNRELIABLE.entries())
      expect(repository.requestsFor(record, index).length, what).toBeGreaterThanOrEqual(requests);
    const ranges = repository.requestsFor(record, 3).map(({ headers }) => headers.range);
    expect(ranges).toEqual([undefined, 'bytes=5-', 'bytes=12-']);
  });

  test('keeps out of the draft what is not as stated, and names what it cannot take', async () => {
    const record = add({
      license: CC_BY_NC,
      files: files(
        { name: 'lie.csv', md5: md5(NOTES) },
        { name: 'changed.csv', md5: null, size: 3 },
        { name: 'right.csv' },
        { name: 'unstated.csv', md5: null },
        { name: 'secret.csv', restricted: true },
      ),
    });
    const imported = await importIt(record);
    const said = imported.warnings.join('\n');
    expect((await readDraft(node, imported.draft)).record.license).toBeUndefined();
    expect(said).toMatch(/The licence is “[^”]*nc/i);
    expect(said).toMatch(
      /“secret.csv” could not be fetched: the server answered 403|\(restricted\): “secret.csv”/,
    );
    expect(said).toMatch(/states no checksum of \d files?/);
    if (!statesChecksums(kind)) return;
    expect(statesOf(imported)).toEqual(['mismatch', 'mismatch', 'held', 'held', 'failed']);
    expect(await draftPaths(imported)).toEqual(['right.csv', 'unstated.csv']);
    expect(said).toContain(`md5:${md5(NOTES)} is stated, and md5:${md5(LEVELS)} was received`);
    expect(said).toContain('“changed.csv” is not in the draft: it does not have the size');
    // What the repository sent is evidence.
    expect((await node.fetch(`/archive/${sha256Of(LEVELS)}`)).status).toBe(200);
  });

  test('may have no files, or such as the public does not get', async () => {
    const record = add({
      access: 'restricted',
      files: kind === 'signposting' ? files({ restricted: true }) : [],
    });
    const imported = await importIt(record);
    expect(await draftPaths(imported)).toEqual([]);
    expect(imported.warnings.join('\n')).toMatch(/no files that the public gets|403/);
  });

  test('gives hostile names a place in the draft, and publishes no signed address', async () => {
    repository.faults.set(SIGNED, [(response) => void response.writeHead(200).end(LEVELS)]);
    const signed = { name: 'signed.csv', steps: [answer(302, { Location: SIGNED })] };
    const record = add({ files: files(...HOSTILE_NAMES.map((name) => ({ name })), signed) });
    const imported = await importIt(record);
    expect(new Set(statesOf(imported)), imported.warnings.join('\n')).toEqual(new Set(['held']));
    const paths = await draftPaths(imported);
    expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(HOSTILE_NAMES.length + 1);
    expect(paths.some((path) => path.startsWith('/') || path.split('/').includes('..'))).toBe(false);
    expect(paths).toContain('abs/ütf-8 данные.csv');
    const dump = await (await node.fetchAsOwner('/api/dump.jsonl')).text();
    expect(dump).toContain('/store/object');
    expect(dump).not.toMatch(/5ec2e7|AKIA/);
  });

  test.runIf(kind === 'zenodo' || kind === 'invenio')(
    'of all versions is one version, which is said',
    async () => {
      const record = add({ conceptDoi: '10.5072/Concept.1' });
      const imported = await importIt({ doi: '10.5072/concept.1' });
      expect(imported.doi).toBe(record.doi);
      expect(imported.warnings.join('\n')).toContain('10.5072/concept.1 stands for all versions');
      expect((await readDraft(node, imported.draft)).record.related).toEqual([
        { relation: 'IsDerivedFrom', identifier: record.doi },
        { relation: 'IsVersionOf', identifier: '10.5072/Concept.1' },
      ]);
    },
  );

  test.runIf(['osf', 'figshare', 'dryad'].includes(kind))(
    'of ten thousand files is listed whole',
    async () => {
      const many = Array.from({ length: 10_000 }, (_, index) => ({
        name: `${index}.csv`,
        bytes: LEVELS,
        md5: md5(LEVELS),
      }));
      const planned = await plan(add({ files: many }));
      expect(planned.files).toHaveLength(10_000);
      expect(new Set(statesOf(planned))).toEqual(new Set(['planned']));
    },
  );
});
