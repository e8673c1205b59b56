import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LinksTask } from '../../../server/collection/derived/process/tasks.ts';
import { makeLinks } from '../../../server/collection/follow/makeLinks.ts';
import type { FoundLink } from '../../../shared/collection/follow.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;
let documents = 0;
/** The source of the last document. */
let id: string;

/** All documents are followed by one node, which keeps its derive process. Each has an address of its own. */
beforeAll(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Follows a document in the folder `/dir` and returns what was found, as `path title`. */
async function foundIn(
  body: string,
  { type = 'application/xml', ...follow }: { type?: string; kind?: string; types?: string[] } = {},
): Promise<string[]> {
  documents += 1;
  const path = `/dir/feed${documents}`;
  web.script(path, page(body, { headers: { 'Content-Type': type } }));
  ({ id } = await node.watch(web.url(path), { follow: { kind: 'feed', limit: 100, ...follow } }));
  await node.check([id]);
  const { items } = await node.read<{ items: FoundLink[] }>(`/manage/found?source=${id}`);
  return items.map(({ url, title }) => `${url.replace(web.url(''), '')} ${title}`.trim()).sort();
}

describe('feeds', () => {
  test('RSS 2.0: links, guids that are addresses, and enclosures', async () => {
    const rss = `<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
      <title>Feed</title><link>/home</link><atom:link href="/dir/feed" rel="self"/>
      <item><title>One &amp; two</title><link>/1?a=1&amp;b=2</link><guid>/other</guid></item>
      <item><title><![CDATA[Three <b>]]></title><link><![CDATA[ /3 ]]></link></item>
      <item><title>Four</title><guid>${web.url('/4')}</guid></item>
      <item><title>Five</title><guid isPermaLink="false">${web.url('/5')}</guid></item>
      <item><title>Six</title><enclosure url="/6.bin" type="application/pdf" length="1"/></item>
    </channel></rss>`;
    expect(await foundIn(rss)).toEqual(['/1?a=1&b=2 One & two', '/3 Three <b>', '/4 Four', '/6.bin Six']);
  });

  test('RSS 0.91 and RSS 1.0 (RDF)', async () => {
    expect(
      await foundIn('<rss version="0.91"><channel><item><link>/a</link></item></channel></rss>'),
    ).toEqual(['/a']);
    const rdf = `<rdf:RDF xmlns:rdf="x" xmlns="y"><channel><link>/home</link></channel>
      <item rdf:about="/a"><title>A</title><link>/b</link></item></rdf:RDF>`;
    expect(await foundIn(rdf)).toEqual(['/b A']);
  });

  test('Atom: alternates and enclosures, relative to xml:base', async () => {
    const atom = `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/base/"><link href="/self" rel="self"/>
      <entry><title type="html">A</title><link href="a"/><link rel="edit" href="/no"/></entry>
      <entry xml:base="sub/"><title>B</title><link rel="alternate" href="b"/><link rel="enclosure" type="application/pdf" href="/b.pdf"/></entry>
      </feed>`;
    expect(await foundIn(atom)).toEqual(['/b.pdf B', '/base/a A', '/base/sub/b B'].sort());
  });

  test('JSON Feed: items and attachments', async () => {
    const feed = {
      version: 'https://jsonfeed.org/version/1.1',
      home_page_url: '/home',
      items: [
        { id: '1', url: '/a', title: 'A', attachments: [{ url: '/a.pdf', mime_type: 'application/pdf' }] },
        { id: '2', external_url: '/b' },
        { id: '3' },
        null,
        { url: 7, attachments: 'none' },
      ],
    };
    expect(await foundIn(JSON.stringify(feed), { type: 'application/feed+json' })).toEqual([
      '/a A',
      '/a.pdf A',
      '/b',
    ]);
  });

  test('only the given types, by declared type or by extension', async () => {
    const rss = `<rss><channel><item><link>/page</link><enclosure url="/x" type="application/pdf"/></item>
      <item><link>/b.PDF?x=1</link></item><item><link>/c.docx</link></item></channel></rss>`;
    expect(await foundIn(rss, { types: ['pdf'] })).toEqual(['/b.PDF?x=1', '/x']);
  });

  test.each([
    [
      'text before the declaration',
      '\n\n <?xml version="1.0"?><rss><channel><item><link>/a</link></item></channel></rss>',
    ],
    ['a byte order mark', '\ufeff<rss><channel><item><link>/a</link></item></channel></rss>'],
    [
      'entities of HTML',
      '<rss><channel><item><title>&nbsp;&eacute;</title><link>/a</link></item></channel></rss>',
    ],
    ['an unescaped ampersand', '<rss><channel><item><link>/a?x=1&y=2</link></item></channel></rss>'],
    ['upper case', '<RSS><CHANNEL><ITEM><LINK>/a</LINK></ITEM></CHANNEL></RSS>'],
    ['unclosed elements', '<rss><channel><item><title>A<link>/a</link></item><item><link>/b-is-cut'],
    ['a prefix', '<a10:feed xmlns:a10="x"><a10:entry><a10:link href="/a"/></a10:entry></a10:feed>'],
    ['the type of a page', '<rss><channel><item><link>/a</link></item></channel></rss>', 'text/html'],
  ])('a feed with %s is read', async (_what, body, type = 'text/xml') => {
    const found = await foundIn(body, { type });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^\/a/);
  });

  test.each([
    ['a page', '<!doctype html><title>x</title><a href="/a">A</a>'],
    ['JSON that is no feed', '{"a":1}'],
    ['broken JSON', '{"items":['],
    ['nothing', ' '],
  ])('%s is not a feed, and the source says so', async (_what, body) => {
    expect(await foundIn(body, { type: 'text/html' })).toEqual([]);
    expect((await node.source(id)).follow_run).toMatchObject({
      problem: expect.stringMatching(/not a feed|not valid JSON/),
    });
  });
});

describe('hostile documents', () => {
  test('entities that a document defines are not expanded', async () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "/aaaaaaaaaa">${Array.from({ length: 9 }, (_, at) => `<!ENTITY a${at} "${`&a${at === 0 ? '' : at - 1};`.repeat(10)}">`).join('')}<!ENTITY x SYSTEM "file:///etc/passwd">]>
      <rss><channel><item><title>&a8;&x;</title><link>/a</link></item></channel></rss>`;
    expect(await foundIn(bomb)).toEqual(['/a &a8;&x;']);
  });

  test('of too many links only as many are read as are allowed, and that is said', async () => {
    const links = Array.from({ length: 1_010 }, (_, at) => `<a href=/${at}>`).join('');
    const bytes = Buffer.from(`<!doctype html>${links}`);
    const url = 'https://example.org/';
    const task: LinksTask = {
      task: 'links',
      object: { sha256: '', file: '', bytes, contentType: 'text/html', contentEncoding: null },
      url,
      self: url,
      follow: { kind: 'links', match: '/', limit: 100, approve: false },
      hosts: ['example.org'],
      known: [],
    };
    const found = makeLinks(task, 1_000);
    expect(found).toMatchObject({ listed: 1_000, complete: false, links: { length: 1_000 } });
    expect(makeLinks(task)).toMatchObject({ listed: 1_010, complete: true });
  });

  test('an expression that backtracks elsewhere runs in linear time', async () => {
    web.script('/backtracking', page(`<!doctype html><a href="/${'a'.repeat(4_000)}!">A</a>`));
    const { id } = await node.watch(web.url('/backtracking'), {
      follow: { kind: 'links', match: '/(a|aa|a+)+b$', limit: 5 },
    });
    await node.check([id]);
    expect((await node.source(id)).follow_run).toMatchObject({ listed: 1, matched: 0, problem: null });
  });

  test('a page on the internet does not lead to the own network', async () => {
    const online = await openCollectingNode(
      {},
      {
        network: {
          lookup: async () => [{ address: '127.0.0.1', family: 4 }],
          isPrivateAddress: (address) => address !== '127.0.0.1',
        },
      },
    );
    web.script(
      '/p',
      page(
        '<!doctype html><a href="http://10.0.0.1/a">A</a><a href="http://printer/b">B</a><a href="/c">C</a>',
      ),
    );
    const watched = await online.watch(web.url('/p'), { follow: { kind: 'links', match: 'http', limit: 5 } });
    await online.check([watched.id]);
    const { items } = await online.read<{ items: FoundLink[] }>('/manage/found');
    expect(items.map(({ url }) => url)).toEqual([web.url('/c')]);
  });
});

describe('what cannot be followed is refused', () => {
  test.each([
    [{ kind: 'links', match: '(?=a)', limit: 1 }, '/follow/match'],
    [{ kind: 'links', match: '(', limit: 1 }, '/follow/match'],
    [{ kind: 'links', match: '((a{100}){100}){100}', limit: 1 }, '/follow/match'],
    [{ kind: 'links' }, '/follow/limit'],
    [{ kind: 'links', limit: 0 }, '/follow/limit'],
    [{ kind: 'page', limit: 1 }, '/follow/kind'],
    [{ kind: 'links', limit: 1, types: ['no type'] }, '/follow/types/0'],
  ])('%j', async (follow, path) => {
    const response = await node.node.sendJson('POST', '/manage/sources', { url: web.url('/p'), follow });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: 'invalid_field', errors: [{ path }] });
  });
});
