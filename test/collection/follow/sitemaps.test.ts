import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { followedList, foundLinks, pathsOf, xml } from './support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const foundPaths = () => pathsOf(foundLinks(node), web);
const followed = (body: ReturnType<typeof page>, follow: object) => followedList({ node, web }, body, follow);

describe('sitemaps', () => {
  const urlset = (...paths: string[]) =>
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${paths
      .map((path) => `<url><loc> ${web.url(path)} </loc><lastmod>2026</lastmod></url>`)
      .join('')}</urlset>`;

  test.each([
    ['compressed', ''],
    ['compressed with text behind it', '<!-- behind it -->'],
  ])('a sitemap that is %s lists its addresses', async (_how, behind) => {
    const body = Buffer.concat([gzipSync(urlset('/a', '/b?x=1&amp;y=2')), Buffer.from(behind)]);
    await followed(page(body, { headers: { 'Content-Type': 'application/gzip' } }), { kind: 'sitemap' });
    expect(await foundPaths()).toEqual(['/a', '/b?x=1&y=2']);
  });

  test.each([
    ['within an address', '<url><loc>http://example.com/c', false],
    ['between addresses', '', false],
    ['not at all', '</urlset>', true],
  ])('a sitemap that is cut off %s says so', async (_where, end, complete) => {
    const source = await followed(xml(urlset('/a', '/b').replace('</urlset>', end)), { kind: 'sitemap' });
    expect(await foundPaths()).toEqual(['/a', '/b']);
    expect(source.follow_run).toMatchObject({ complete });
  });

  test('the sitemaps of an index are fetched, whichever of them fails, and again although the index is the same', async () => {
    const index = `<sitemapindex>${['/1.xml.gz', '/2.xml', '/missing.xml', '/bomb.xml.gz']
      .map((path) => `<sitemap><loc>${web.url(path)}</loc></sitemap>`)
      .join('')}</sitemapindex>`;
    web.script(
      '/1.xml.gz',
      page(gzipSync(urlset('/a')), { headers: { 'Content-Type': 'application/x-gzip' } }),
    );
    web.script('/2.xml', xml(urlset('/b')), xml(urlset('/b', '/c')));
    web.script('/bomb.xml.gz', page(gzipSync(Buffer.alloc(80_000_000, 0x20))));
    const source = await followed(xml(index), { kind: 'sitemap' });
    expect(await foundPaths()).toEqual(['/a', '/b']);
    expect(source.follow_run).toMatchObject({
      problem: '2 of 4 sitemaps could not be read.',
      complete: false,
    });
    await node.check();
    expect(await foundPaths()).toEqual(['/a', '/b', '/c']);
  });

  test('the sitemaps of an index that take too long are left out, and that is said', async () => {
    const clock = new ManualClock('2026-11-20T10:00:00.000Z');
    node = await openCollectingNode({ request_timeout_seconds: 3600 }, { clock });
    const index = ['/1.xml', '/2.xml'].map((path) => `<sitemap><loc>${web.url(path)}</loc></sitemap>`);
    web.script('/1.xml', async (socket, request) => {
      await clock.jump(6 * 60_000);
      await xml(urlset('/a'))(socket, request);
    });
    web.script('/2.xml', xml(urlset('/b')));
    const source = await followed(xml(`<sitemapindex>${index.join('')}</sitemapindex>`), { kind: 'sitemap' });
    expect(source.follow_run).toMatchObject({ problem: '1 of 2 sitemaps could not be read.' });
    expect(await foundPaths()).toEqual(['/a']);
    expect(web.requests('/2.xml')).toHaveLength(0);
  });

  test.each([
    ['text', () => page(`${web.url('/a')}\r\n\r\n${web.url('/b')}\nnothing\n`), ['/a', '/b']],
    ['a prefix', () => xml(`<s:urlset><s:url><s:loc>${web.url('/a')}</s:loc></s:url></s:urlset>`), ['/a']],
    [
      'images with a loc of their own',
      () =>
        xml(
          `<urlset><url><loc>${web.url('/a')}</loc><image:image><image:loc>${web.url('/i.png')}</image:loc></image:image></url></urlset>`,
        ),
      ['/a'],
    ],
    [
      'CDATA',
      () => xml(`<urlset><url><loc><![CDATA[${web.url('/a?x=1&y=2')}]]></loc></url></urlset>`),
      ['/a?x=1&y=2'],
    ],
    ['no end', () => xml(`<urlset><url><loc>${web.url('/a')}</loc></url><url><loc>${web.url('/b')}`), ['/a']],
    ['a feed', () => xml(`<rss><channel><item><link>${web.url('/a')}</link></item></channel></rss>`), ['/a']],
  ])('reads a sitemap with %s', async (_what, body, paths) => {
    await followed(body(), { kind: 'sitemap' });
    expect(await foundPaths()).toEqual(paths);
  });
});
