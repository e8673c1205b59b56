import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isAllowedBy, parseRobotsTxt } from '../../server/collection/fetch/robots.ts';
import type { Study } from '../../shared/archive/study.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

interface Listed {
  loc: string;
  lastmod?: string;
}
const parser = new XMLParser({ isArray: (name) => name === 'sitemap' || name === 'url' });

let clock: ManualClock;
let node: TestNode;
beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.000Z');
  node = await openTestNode({ clock });
});
afterEach(closeTestNodes);

async function share(): Promise<void> {
  const shared = await node.sendJson('PUT', '/manage/sharing', { mode: 'read', require_invitation: false });
  expect(shared.status).toBe(200);
}

async function xmlAt(path: string) {
  const response = await node.fetch(path);
  expect(response.status).toBe(200);
  const text = await response.text();
  expect(XMLValidator.validate(text)).toBe(true);
  return parser.parse(text) as { sitemapindex?: { sitemap?: Listed[] }; urlset?: { url: Listed[] } };
}

describe('sitemaps', () => {
  test('list every pack and study with the second of its last change in the ledger', async () => {
    await share();
    const created = await node.sendJson('POST', '/api/studies', { title: 'Tides' });
    const study = (await created.json()) as Study;
    const first = await uploadNewPack(node);
    await clock.jump(86_400_000);
    const second = await uploadNewPack(node, { title: 'Second', supersedes: first.id, study: study.id });
    const index = await xmlAt('/sitemap.xml');
    const sitemaps = index.sitemapindex?.sitemap?.map(({ loc }) => loc) ?? [];
    expect(sitemaps).toEqual([`${node.url}/sitemap/packs-1.xml`, `${node.url}/sitemap/studies-1.xml`]);
    const listed: Listed[] = [];
    for (const url of sitemaps) listed.push(...((await xmlAt(new URL(url).pathname)).urlset?.url ?? []));
    const lastmod = '2026-11-21T10:00:00Z';
    expect(listed).toEqual([
      { loc: `${node.url}/packs/${first.id}`, lastmod },
      { loc: `${node.url}/packs/${second.id}`, lastmod },
      { loc: `${node.url}/studies/${study.id}`, lastmod },
    ]);
  });

  test('of an empty archive are none, and a sitemap that is not listed is not found', async () => {
    await share();
    expect((await xmlAt('/sitemap.xml')).sitemapindex).not.toHaveProperty('sitemap');
    for (const name of ['packs-1.xml', 'packs-0.xml', 'peers-1.xml', 'packs-999999.xml']) {
      expect((await node.fetch(`/sitemap/${name}`)).status, name).toBe(404);
    }
  });

  test('are not there while the node is not shared', async () => {
    await uploadNewPack(node);
    for (const path of ['/sitemap.xml', '/sitemap/packs-1.xml']) {
      expect((await node.fetchAsOwner(path)).status, path).toBe(404);
    }
  });
});

describe('robots.txt', () => {
  const rulesOf = async (headers: Record<string, string> = {}) => {
    const response = await node.fetch('/robots.txt', { headers });
    expect(response.status).toBe(200);
    const text = await response.text();
    return { text, rules: parseRobotsTxt(text, 'Googlebot') };
  };

  test('allows pages and items, and no exports, searches or resumptions', async () => {
    await share();
    const { text, rules } = await rulesOf();
    expect(text).toContain(`Sitemap: ${node.url}/sitemap.xml`);
    const allows = (path: string) => isAllowedBy(rules, new URL(path, node.url));
    const id = 'pk_00000000000000000000';
    const allowed = [
      '/',
      `/packs/${id}`,
      '/timeline/7',
      '/assets/index.js',
      `/api/packs/${id}`,
      `/api/items/${id}/cite?format=croissant`,
      `/api/items/${id}/linkset`,
      '/api/blobs/0',
      '/api/events.atom',
      '/oai?verb=Identify',
      '/sitemap.xml',
    ];
    const disallowed = [
      '/api/dump.jsonl',
      '/api/warc?source=so_0',
      '/api/packs?q=sea',
      '/api/search?q=sea',
      '/api/events?limit=100',
      `/api/packs/${id}/file`,
      '/oai?verb=ListRecords&resumptionToken=x',
      '/manage/settings',
      '/settings',
    ];
    expect(allowed.filter((path) => !allows(path))).toEqual([]);
    expect(disallowed.filter(allows)).toEqual([]);
  });

  test('allows nothing while the node is not shared, and says so to strangers too', async () => {
    await node.sendJson('PATCH', '/manage/settings', { public_url: 'https://archive.example' });
    const stranger = { 'X-Forwarded-For': '203.0.113.7' };
    for (const { rules } of [await rulesOf(), await rulesOf(stranger)]) {
      expect(isAllowedBy(rules, new URL('/', node.url))).toBe(false);
    }
  });
});
