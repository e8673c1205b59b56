import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { filesOf, problemOf, sampleRecord, uploadNewPack, uploadPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

const upload = (changes: object) => uploadPack(node, { ...sampleRecord(), ...changes });
/** Returns a record as JSON text, with values that `JSON.stringify` cannot produce. */
const uploadText = (changes: string) =>
  uploadPack(node, `${JSON.stringify(sampleRecord()).slice(0, -1)},${changes}}`);

const file = (path: string) => ({ path, sha256: '0'.repeat(64), bytes: 1, media_type: 'text/plain' });

describe('an invalid field is refused with 422 and a pointer', () => {
  const long = (length: number) => 'x'.repeat(length);
  const author = { name: 'A' };
  const method = { text: 'How', complete: true };
  const refused: [string, object, string, string?][] = [
    ['pack_format other than 1', { pack_format: 2 }, '/pack_format'],
    ['pack_format as text', { pack_format: '1' }, '/pack_format'],
    ['other terms', { terms_version: '2025-01-01' }, '/terms_version', 'terms_not_accepted'],
    ['no terms', { terms_version: undefined }, '/terms_version', 'terms_not_accepted'],
    ['no title', { title: undefined }, '/title'],
    ['an empty title', { title: '' }, '/title'],
    ['a title of 301 characters', { title: long(301) }, '/title'],
    ['a summary of 20,001', { summary: long(20_001) }, '/summary'],
    ['no authors', { authors: [] }, '/authors'],
    ['101 authors', { authors: Array.from({ length: 101 }, () => author) }, '/authors'],
    ['an author without a name', { authors: [{}] }, '/authors/0/name'],
    [
      'an author’s unknown field',
      { authors: [{ ...author, email: 'a@b' }] },
      '/authors/0/email',
      'unknown_field',
    ],
    [
      'a wrong check digit',
      { authors: [author, { ...author, orcid: '0000-0002-1825-0098' }] },
      '/authors/1/orcid',
    ],
    ['an ORCID without hyphens', { authors: [{ ...author, orcid: '0000000218250097' }] }, '/authors/0/orcid'],
    ['an unknown licence', { license: 'MIT' }, '/license'],
    ['an unknown outcome', { outcome: 'unclear' }, '/outcome'],
    ['an outcome that is null rather than "null"', { outcome: null }, '/outcome'],
    ['a method without text and link', { method: { complete: true } }, '/method'],
    ['a method without complete', { method: { text: 'How' } }, '/method/complete'],
    [
      'a method whose link is no http(s)',
      { method: { ...method, link: 'ftp://a.example/' } },
      '/method/link',
    ],
    ['a method’s text of 200,001', { method: { ...method, text: long(200_001) } }, '/method/text'],
    ['results as a list', { results: [1] }, '/results'],
    ['a result that is an object', { results: { a: {} } }, '/results/a'],
    ['a result of 1,001 characters', { results: { 'a/b': long(1_001) } }, '/results/a~1b'],
    ['a result without a name', { results: { '': 1 } }, '/results/'],
    ['a result’s name of 101 characters', { results: { [long(101)]: 1 } }, `/results/${long(101)}`],
    [
      '201 results',
      { results: Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`r${index}`, 1])) },
      '/results',
    ],
    ['51 keywords', { keywords: Array.from({ length: 51 }, (_, index) => `k${index}`) }, '/keywords'],
    ['an empty keyword', { keywords: ['a', ''] }, '/keywords/1'],
    ['a node that is not a path', { node: 'No Path' }, '/node'],
    ['an unknown node', { node: 'nowhere' }, '/node', 'unknown_node'],
    ['a study that is not an id', { study: 'mine' }, '/study'],
    ['an unknown study', { study: 'st_00000000000000000000' }, '/study', 'unknown_study'],
    [
      'a replication of an unknown pack',
      { replicates: { pack: 'pk_00000000000000000000', verdict: 'failed' } },
      '/replicates/pack',
      'unknown_pack',
    ],
    [
      'an unknown verdict',
      { replicates: { pack: 'pk_00000000000000000000', verdict: 'maybe' } },
      '/replicates/verdict',
    ],
    [
      'a version of an unknown pack',
      { supersedes: 'pk_00000000000000000000' },
      '/supersedes',
      'unknown_pack',
    ],
    [
      'an unknown relation',
      { related: [{ relation: 'likes', identifier: 'https://a.example/' }] },
      '/related/0/relation',
    ],
    [
      'an invalid identifier',
      { related: [{ relation: 'Cites', identifier: 'a book' }] },
      '/related/0/identifier',
    ],
    ['an unknown field', { doi: '10.1/1' }, '/doi', 'unknown_field'],
    ['a field that the server adds', { tag: 'replicable' }, '/tag', 'unknown_field'],
    ['an invalid digest', { files: [{ ...file('a'), sha256: 'A'.repeat(64) }] }, '/files/0/sha256'],
    ['half a byte', { files: [{ ...file('a'), bytes: 0.5 }] }, '/files/0/bytes'],
    ['an invalid media type', { files: [{ ...file('a'), media_type: 'text' }] }, '/files/0/media_type'],
    ['two equal paths', { files: [file('a'), file('a')] }, '/files/1/path'],
    [
      'two paths that differ only in ß and ss',
      { files: [file('Straße.csv'), file('STRASSE.csv')] },
      '/files/1/path',
    ],
    [
      'two paths that differ only in case',
      { files: [file('Data/Ä.csv'), file('data/ä.CSV')] },
      '/files/1/path',
    ],
    ['a path that is another’s folder', { files: [file('a/b'), file('a')] }, '/files/1/path'],
  ];
  test.each(refused)('%s', async (_name, changes, path, code = 'invalid_field') => {
    expect(await problemOf(upload(changes))).toMatchObject({ status: 422, code, errors: [{ path }] });
  });

  test.each([
    '',
    '/a',
    'a/',
    'a//b',
    './a',
    'a/../b',
    '..',
    'a\\b',
    'a\u0000b',
    'a\nb',
    'a\u007fb',
    'a\u0085b',
    '100%',
    'a:b',
    'a?',
    'con',
    'sub/NUL.txt',
    'com1.csv',
    'dot.',
    'space ',
    'cafe\u0301.csv',
    'x'.repeat(1025),
    'ä'.repeat(513),
  ])('the file path %j', async (path) => {
    expect(await problemOf(upload({ files: [file('ok'), file(path)] }))).toMatchObject({
      status: 422,
      code: 'invalid_field',
      errors: [{ path: '/files/1/path' }],
    });
  });

  test('none of them wrote anything', async () => {
    expect(await (await node.fetch('/api/ledger')).json()).toMatchObject({ total: 0 });
  });
});

describe('a record without a canonical form is refused and never corrected', () => {
  test.each([
    ['a key given twice', '"results":{"a":1,"a":2}', '/results/a'],
    ['a field given twice', '"title":"Again"', '/title'],
    ['a number beyond a double', '"results":{"a":1e400}', '/results/a'],
    ['an integer beyond 2^53-1', '"results":{"a":9007199254740993}', '/results/a'],
    ['a lone surrogate', '"summary":"\\ud83d"', '/summary'],
  ])('%s: 422', async (_name, changes, path) => {
    expect(await problemOf(uploadText(changes))).toMatchObject({
      status: 422,
      code: 'not_canonical',
      errors: [{ path }],
    });
  });

  test('a record that is nested too deeply or has too many fields is 400', async () => {
    const nested = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
    const many = Array.from({ length: 100_001 }, (_, index) => `"f${index}":0`).join(',');
    for (const text of [nested, `{${many}}`]) {
      expect(await problemOf(uploadPack(node, text))).toMatchObject({ status: 400, code: 'invalid_json' });
    }
  });

  test.each(['{', '', 'nothing', '[1,]', '{"a":NaN}'])(
    'a record that is not JSON, %j, is 400',
    async (text) => {
      expect(await problemOf(uploadPack(node, text))).toMatchObject({ status: 400, code: 'invalid_json' });
    },
  );

  test('a record that is not UTF-8 is 400, as a field and as a file', async () => {
    for (const disposition of ['name="record"', 'name="record"; filename="record.json"']) {
      const body = Buffer.concat([
        Buffer.from(`--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n{"title":"`),
        Buffer.of(0xff, 0xfe),
        Buffer.from('"}\r\n--b--\r\n'),
      ]);
      const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
      expect(
        await problemOf(node.fetchAsOwner('/api/packs', { method: 'POST', body, headers })),
      ).toMatchObject({ status: 400, code: 'invalid_json' });
    }
  });
});

describe('a valid record is accepted unchanged', () => {
  test('returns the largest and most unusual values of every field unchanged', async () => {
    const results = JSON.parse(
      '{"__proto__":"p","constructor":1,"toString":null,"10":1,"9":2,"a b":true,"\\u0000":"","é":-0.5,"big":1e300}',
    ) as Record<string, number>;
    const record = {
      ...sampleRecord(),
      title: '🧪'.repeat(300),
      summary: '\u0000\u001f\u2028 <script>alert(1)</script> \ufffd',
      authors: [
        { name: 'Ada', orcid: '0000-0002-1825-0097', affiliation: 'Zürich' },
        { name: 'Bo', orcid: '0000-0002-1694-233X' },
      ],
      method: { link: 'https://example.org/method?x=1#y', complete: false },
      results,
      keywords: ['k', 'k'],
      related: [
        { relation: 'IsDerivedFrom', identifier: '10.1000/182' },
        { relation: 'Cites', identifier: 'https://doi.org/10.1000/182' },
        { relation: 'HasPart', identifier: 'a'.repeat(64) },
      ],
    };
    const response = await uploadPack(node, record);
    expect(response.status).toBe(201);
    const text = await response.text();
    const pack = JSON.parse(text) as Pack;
    expect(pack).toMatchObject({
      title: record.title,
      summary: record.summary,
      authors: [
        { name: 'Ada', orcid: '0000-0002-1825-0097', affiliation: 'Zürich' },
        { name: 'Bo', orcid: '0000-0002-1694-233X', affiliation: '' },
      ],
      method: { text: '', link: 'https://example.org/method?x=1#y', complete: false },
      related: record.related,
      keywords: ['k', 'k'],
    });
    expect(new Map(Object.entries(pack.results))).toEqual(new Map(Object.entries(results)));
    expect(Object.hasOwn(pack.results, '__proto__')).toBe(true);
  });

  test('omitted optional fields have their defaults', async () => {
    const pack = await uploadNewPack(node, { title: 'Bare' });
    expect(pack).toMatchObject({
      summary: '',
      method: null,
      results: {},
      keywords: [],
      node: null,
      study: null,
      replicates: null,
      supersedes: null,
      related: [],
      files: [],
    });
  });

  test('sorts files by the UTF-8 bytes of their paths', async () => {
    const files = {
      // These look similar but do not differ only in case, so they are two files on every system.
      '①.csv': '7',
      '1.csv': '8',
      'ä.csv': '1',
      'z/b.csv': '2',
      '\u{1f9ea}.csv': '3',
      '\uff21.csv': '4',
      'B.csv': '5',
      'z.csv': '6',
    };
    const unsorted = filesOf(files).reverse();
    const response = await uploadPack(node, sampleRecord({ title: 'Sorted', files: unsorted }), files);
    expect(response.status).toBe(201);
    const pack = (await response.json()) as Pack;
    const byBytes = Object.keys(files).sort((left, right) =>
      Buffer.compare(Buffer.from(left), Buffer.from(right)),
    );
    expect(pack.files.map(({ path }) => path)).toEqual(byBytes);
  });
});
