import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Stats } from '../../../../shared/collection/collection.ts';
import type { ObjectText } from '../../../../shared/collection/derived.ts';
import { closeScriptedWebs } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../../support/node.ts';
import { sha256, TextNode } from '../support.ts';

let texts: TextNode;

beforeAll(async () => {
  texts = await TextNode.open();
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const PAGE = `<!doctype html><html><head><title>Sea level &amp; tides</title>
  <style>p { color: red }</style><script>alert("never shown")</script></head>
  <body><nav><a href="/reports?year=2026">Reports</a> <a href="#top">Up</a> <a href="javascript:alert(1)">Run</a></nav>
  <h1>Sea level</h1><p>It rose by <b>3</b>&nbsp;mm.<br>Again.</p>
  <ul><li>North</li><li>South</li></ul>
  <table><tr><th>Year</th><th>mm</th></tr><tr><td>2025</td><td>3.1</td></tr></table>
  <img src="x.png" alt="A chart"><noscript>Turn it on</noscript></body></html>`;

describe('the text of a page', () => {
  test('has the readable text, the title and the links, and names the object and the tool', async () => {
    const document = await texts.textOf(PAGE, 'text/html; charset=utf-8');
    expect(document).toEqual({
      sha256: sha256(PAGE),
      kind: 'html',
      title: 'Sea level & tides',
      text: [
        'Reports Up Run',
        '',
        'Sea level',
        '',
        'It rose by 3\u00a0mm.',
        'Again.',
        '',
        '- North',
        '- South',
        '',
        'Year\tmm',
        '2025\t3.1',
        '',
        'A chart',
      ].join('\n'),
      links: [{ text: 'Reports', href: '/reports?year=2026' }],
      pages: null,
      truncated: false,
      objects: [sha256(PAGE)],
      derived: {
        tool: 'strongroom-html-text',
        version: expect.stringMatching(/^\d+\+html-to-text\.\d+\.\d+\.\d+$/),
        made_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
  });

  test('is extracted, stored and counted once for many concurrent requests', async () => {
    const counted = async () => (await texts.node.read<Stats>('/api/stats')).derived_documents;
    const digest = await texts.archive(`<p>${'many readers '.repeat(1000)}`, { 'Content-Type': 'text/html' });
    const before = await counted();
    const read = () => texts.node.read<ObjectText>(`/archive/${digest}/text`);
    const answers = await Promise.all(Array.from({ length: 20 }, read));
    expect(new Set([...answers, await read()].map(({ derived }) => derived.made_at)).size).toBe(1);
    expect((await counted()) - before).toBe(1);
  });
});

describe('the text of other kinds of objects', () => {
  test.each([
    ['application/json', '{"b":1.0,"a":[12345678901234567890,{}],"é":"\\u00e9"}'],
    ['application/ld+json', '{"b":1.0,"a":[12345678901234567890,{}],"é":"\\u00e9"}'],
  ])('%s: one value per line, names in order and numbers as written', async (type, body) => {
    const { kind, text } = await texts.textOf(body, type);
    expect([kind, text]).toEqual([
      'json',
      '{\n  "b": 1.0,\n  "a": [\n    12345678901234567890,\n    {}\n  ],\n  "é": "\\u00e9"\n}',
    ]);
  });

  test.each([
    ['text/csv', 'name,note\r\n"A, B","two\r\nlines"\r\nC,"say ""so"""\r\n'],
    ['text/csv; header=present', '\ufeffname;note\nA, B;two lines\nC;"say ""so"""'],
    ['text/tab-separated-values', 'name\tnote\nA, B\ttwo lines\nC\tsay "so"'],
  ])('%s: one row per line with tab-separated cells', async (type, body) => {
    const { kind, text } = await texts.textOf(body, type);
    expect([kind, text]).toEqual(['csv', 'name\tnote\nA, B\ttwo lines\nC\tsay "so"']);
  });

  test('XML: the text of each element, and the links', async () => {
    const { kind, title, text, links } = await texts.textOf(
      `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
         <entry><title>First</title><link href="https://example.org/1"/><summary><![CDATA[a <b> c]]></summary></entry></feed>`,
      'application/atom+xml',
    );
    expect({ kind, title, text, links }).toEqual({
      kind: 'xml',
      title: 'News',
      text: 'News\nFirst\na <b> c',
      links: [{ text: '', href: 'https://example.org/1' }],
    });
  });

  test('plain text: unchanged except for normalised line ends', async () => {
    const { kind, text } = await texts.textOf('one\r\ntwo\rthree\u0000', 'text/markdown');
    expect([kind, text]).toEqual(['text', 'one\ntwo\nthree']);
  });

  test.each([
    ['a page', '<!DOCTYPE html><title>T</title><p>Hello', 'html'],
    ['JSON', ' [1]', 'json'],
    ['XML', '<?xml version="1.0"?><a>b</a>', 'xml'],
    ['text', 'Hello', 'text'],
  ])('recognises %s sent as application/octet-stream by its bytes', async (_title, body, kind) => {
    expect((await texts.textOf(body, 'application/octet-stream')).kind).toBe(kind);
  });
});

describe('the encoding of a text is detected by', () => {
  const latin = Buffer.from('<meta charset="iso-8859-1"><p>Crème brûlée', 'latin1');
  const pageWith = (before: string, meta = '<meta charset="iso-8859-1">') =>
    Buffer.from(`<!doctype html>${before}${meta}<p>Crème brûlée</p>`, 'latin1');
  test.each([
    [
      'the charset of the content type',
      Buffer.from('Crème brûlée', 'latin1'),
      'text/plain; charset=ISO-8859-1',
    ],
    [
      'the byte order mark, whatever the content type',
      Buffer.from('\ufeffCrème brûlée', 'utf16le'),
      'text/plain; charset=utf-8',
    ],
    ['the declaration in the page', latin, 'text/html'],
    [
      'a declaration behind long scripts',
      pageWith(`<script>${'let a;\n'.repeat(9_000)}</script>`),
      'text/html',
    ],
    ['a declaration behind the body', pageWith(`<body>${'\n'.repeat(70_000)}`), 'text/html'],
    [
      'the form http-equiv of the declaration',
      pageWith(' '.repeat(5_000), '<meta content="text/html; charset=\'latin1\'" HTTP-EQUIV=Content-Type>'),
      'text/html',
    ],
    ['no declaration in a comment', pageWith('<!-- <meta charset="koi8-r"> -->'), 'text/html'],
    ['no declaration in a script', pageWith('<script>x = "<meta charset=koi8-r>"</script>'), 'text/html'],
    ['no declaration of an unknown encoding', pageWith('<meta charset="x-no-such">'), 'text/html'],
    [
      'the content type before a late declaration',
      Buffer.from(`<script>${'x'.repeat(6_000)}</script><meta charset="koi8-r"><p>Crème brûlée`),
      'text/html; charset=utf-8',
    ],
    [
      'the XML declaration',
      Buffer.from('<?xml version="1.0" encoding="windows-1252"?><p>Crème brûlée</p>', 'latin1'),
      'text/xml',
    ],
    ['the default, UTF-8', Buffer.from('Crème brûlée'), 'text/plain'],
    [
      'the fallback windows-1252, if the bytes are not UTF-8',
      Buffer.from('Crème brûlée', 'latin1'),
      'text/plain',
    ],
    ['the bytes, if the charset is unknown', Buffer.from('Crème brûlée'), 'text/plain; charset=x-no-such'],
  ])('%s', async (_title, body, type) => {
    expect((await texts.textOf(body, type)).text).toBe('Crème brûlée');
  });
});

describe('decodes the body for the text, and stores it encoded', () => {
  const body = '<p>Read behind the encoding';
  test.each([
    ['gzip', gzipSync(body)],
    ['gzip', Buffer.concat([gzipSync(body), Buffer.from('<!-- behind it -->')])],
    ['x-gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['deflate', deflateRawSync(body)],
    ['br', brotliCompressSync(body)],
    ['zstd', zstdCompressSync(body)],
    ['gzip, br', brotliCompressSync(gzipSync(body))],
    ['gzip', Buffer.from(body)],
    ['br', Buffer.from(body)],
  ])('%s', async (encoding, encoded) => {
    const document = await texts.textOf(encoded, 'text/html', encoding);
    expect(document.text).toBe('Read behind the encoding');
    const stored = await texts.node.node.fetch(`/archive/${document.sha256}`);
    expect(Buffer.from(await stored.arrayBuffer())).toEqual(encoded);
  });
});

describe('reports an object without text:', () => {
  test.each([
    ['an image', Buffer.from('GIF89a\x01\x00'), { 'Content-Type': 'image/gif' }, 'unsupported'],
    ['an archive', Buffer.from('PK\x03\x04\x00'), { 'Content-Type': 'application/zip' }, 'unsupported'],
    [
      'an unknown encoding',
      Buffer.from('x'),
      { 'Content-Type': 'text/html', 'Content-Encoding': 'compress' },
      'unsupported',
    ],
    [
      'a damaged encoding',
      gzipSync('a page').subarray(0, 20),
      { 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' },
      'damaged',
    ],
  ])('%s', async (_title, body, headers, reason) => {
    const answer = await texts.ask(await texts.archive(body, headers));
    expect(answer.status).toBe(404);
    const problem = (await answer.json()) as { code: string; detail: string; reason: string };
    expect(problem).toMatchObject({ code: 'not_derivable', reason });
    expect(problem.detail).toMatch(/^This object has no readable text\. [A-Z“].*\.$/);
  });

  test('an object that was never archived is not found, and an invalid digest is refused', async () => {
    expect((await texts.ask('0'.repeat(64))).status).toBe(404);
    expect((await texts.ask('x')).status).toBe(400);
  });
});
