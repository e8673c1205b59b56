import { createHash } from 'node:crypto';
import LinkHeader from 'http-link-header';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addSource } from '../../../../server/collection/sources/sources.ts';
import { insertRetrieval, type NewRetrieval } from '../../../../server/store/sqlite/collection/retrievals.ts';
import { sourceById } from '../../../../server/store/sqlite/collection/sources.ts';
import { createBlobRowIfAbsent } from '../../../../server/store/sqlite/node/blobs.ts';
import { openStore } from '../../../../server/store/store.ts';
import { mementoTimestamp } from '../../../../shared/collection/captures.ts';
import { newSourceSchema } from '../../../../shared/collection/source.ts';
import { pathOf } from '../../../../shared/routes/route.ts';
import { ROUTES } from '../../../../shared/routes.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb, tagged } from '../../../support/network/scriptedWeb.ts';
import { closeAlteredNodes, openTestNode, temporaryFolder } from '../../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../../support.ts';

const HOUR = 3_600_000;

let clock: ManualClock;
let node: CollectingNode;
let web: ScriptedWeb;

beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.123Z');
  node = await openCollectingNode({}, { clock });
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeAlteredNodes();
  await closeScriptedWebs();
});

/** Makes three observations, an hour apart, the last two of the same bytes; then one of an error page. */
async function observed(path = '/page?a=1&b=%2F'): Promise<string> {
  const url = web.url(path);
  web.script(path, page('one'), tagged('two', '"2"'), tagged('two', '"2"'), page('gone', { status: 404 }));
  await node.watch(url, { ignore_robots: true });
  for (let round = 0; round < 4; round += 1) {
    await node.check();
    await clock.turn(HOUR);
  }
  return url;
}

function memento(stamp: string, url: string): string {
  return `${node.node.url}/memento/${stamp}/${url}`;
}

interface FoundLink {
  uri: string;
  rel: string;
  datetime?: string;
}

/** Parses links with another library. It returns one link per relation, so links of one target are joined again. */
function linksOf(text: string): FoundLink[] {
  const found: FoundLink[] = [];
  for (const { uri, rel, ...attributes } of LinkHeader.parse(text.replaceAll('\n', ' ')).refs) {
    const last = found.at(-1);
    if (last?.uri === uri && attributes.datetime !== undefined) last.rel += ` ${rel}`;
    else found.push({ uri, rel, ...attributes });
  }
  return found;
}

const STAMPS = ['20261120100000123', '20261120110000123', '20261120120000123'] as const;

function instant(minutes: number): string {
  return new Date(Date.parse('2026-01-01T00:00:00.000Z') + minutes * 60_000).toISOString();
}

/** Creates a data folder with one source and these observations. */
async function folderOf(
  url: string,
  observations: (Pick<NewRetrieval, 'observed_at' | 'original_observed_at'> & { observer?: string })[],
): Promise<string> {
  const folder = await temporaryFolder();
  const store = await openStore({ folder, clock });
  const { id } = await addSource(store, newSourceSchema.parse({ url }));
  const sha256 = createHash('sha256').update('x').digest('hex');
  await store.write((database) => {
    createBlobRowIfAbsent(database, { sha256, bytes: 1, stored_at: instant(0) });
    const source_key = sourceById(database, id)?.key ?? 0;
    for (const observation of observations)
      insertRetrieval(database, { ...RETRIEVAL, source_key, sha256, ...observation });
  });
  await store.close();
  return folder;
}

const RETRIEVAL: Omit<NewRetrieval, 'source_key' | 'observed_at' | 'original_observed_at'> = {
  round: null,
  url: '',
  final_url: '',
  redirects: [],
  observer: 'self',
  status: 200,
  error: null,
  content_type: null,
  headers: [],
  sha256: null,
  bytes: 1,
  duration_ms: 1,
  page_label: null,
};

describe('GET /timemap/link/<url> (RFC 7089, section 5)', () => {
  test('lists every observation, including those of unchanged bytes, but no error page', async () => {
    const url = await observed();
    const answer = await node.node.fetch(`/timemap/link/${url}`);
    expect(answer.headers.get('Content-Type')).toMatch(/^application\/link-format\b/);
    const text = await answer.text();
    expect(linksOf(text).map(({ rel, uri, datetime }) => [rel, uri, datetime])).toEqual([
      ['original', url, undefined],
      ['timegate', `${node.node.url}/timegate/${url}`, undefined],
      ['self', `${node.node.url}/timemap/link/${url}`, undefined],
      ['first memento', memento(STAMPS[0], url), 'Fri, 20 Nov 2026 10:00:00 GMT'],
      ['memento', memento(STAMPS[1], url), 'Fri, 20 Nov 2026 11:00:00 GMT'],
      ['last memento', memento(STAMPS[2], url), 'Fri, 20 Nov 2026 12:00:00 GMT'],
    ]);
    expect(linksOf(text)[2]).toMatchObject({
      type: 'application/link-format',
      from: 'Fri, 20 Nov 2026 10:00:00 GMT',
      until: 'Fri, 20 Nov 2026 12:00:00 GMT',
    });
    const json = (await (await node.node.fetch(`/timemap/json/${url}`)).json()) as {
      mementos: { list: { uri: string }[] };
    };
    expect(json.mementos.list.map(({ uri }) => uri)).toEqual(STAMPS.map((stamp) => memento(stamp, url)));
  });

  test('accepts every form of the source’s address, including percent-encoded', async () => {
    const url = await observed('/caf%C3%A9/%E9?x=%2520&y');
    const { host } = new URL(url);
    const forms = [
      url.replace('http://', 'HTTP://'),
      url.replace('http://', 'http:/'),
      `http%3A%2F%2F${host}%2Fcaf%25C3%25A9%2F%25E9?x=%2520&y`,
    ];
    for (const form of forms) expect((await node.node.fetch(`/timemap/${form}`)).status, form).toBe(200);
    expect((await node.node.fetch(pathOf(ROUTES.readTimeMap.path, { url }))).status).toBe(200);
  });

  test('returns a problem, not a page, for an address that was never observed', async () => {
    await node.watch(web.url('/new'));
    for (const url of [
      web.url('/new'),
      web.url('/never'),
      'ftp://x.example/',
      'nonsense',
      'http%3A%2F%2Fx%zz',
    ]) {
      for (const way of ['timemap', 'timemap/link', 'timemap/json', 'timegate', `memento/${STAMPS[0]}`]) {
        const answer = await node.node.fetch(`/${way}/${url}`, { headers: { Accept: 'text/html' } });
        expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([404, 'not_found']);
      }
    }
  });

  test('lists many observations completely and in order, captures at their capture time', async () => {
    const url = 'https://many.example/';
    const dataFolder = await folderOf(url, [
      ...Array.from({ length: 1_201 }, (_, index) => ({
        observed_at: instant(index),
        original_observed_at: null,
      })),
      { observed_at: instant(1_201), original_observed_at: '1999-12-31T23:59:59.000Z', observer: 'other' },
      { observed_at: instant(5), original_observed_at: null, observer: 'other' },
    ]);
    const many = await openTestNode({ dataFolder });
    const links = linksOf(await (await many.fetch(`/timemap/${url}`)).text());
    const stamps = links.slice(3).map(({ uri }) => /memento\/(\d+)\//.exec(uri)?.[1]);
    expect(stamps).toEqual([
      '19991231235959000',
      ...Array.from({ length: 1_201 }, (_, index) => mementoTimestamp(instant(index))),
    ]);
    expect(links[3]).toMatchObject({ rel: 'first memento', datetime: 'Fri, 31 Dec 1999 23:59:59 GMT' });
  });
});

describe('GET /timegate/<url> (RFC 7089, section 4)', () => {
  test('redirects to the nearest observation and links its neighbours', async () => {
    const url = await observed();
    const wanted: [string | undefined, string][] = [
      ['Fri, 20 Nov 2026 10:00:00 GMT', STAMPS[0]],
      ['Fri, 20 Nov 2026 10:29:00 GMT', STAMPS[0]],
      ['Fri, 20 Nov 2026 10:31:00 GMT', STAMPS[1]],
      ['Mon, 01 Jan 2001 00:00:00 GMT', STAMPS[0]],
      ['Tue, 01 Jan 2030 00:00:00 GMT', STAMPS[2]],
      [undefined, STAMPS[2]],
    ];
    for (const [datetime, stamp] of wanted) {
      const headers = datetime === undefined ? undefined : { 'Accept-Datetime': datetime };
      const answer = await node.node.fetch(`/timegate/${url}`, headers && { headers });
      expect([answer.status, answer.headers.get('Location')], datetime).toEqual([302, memento(stamp, url)]);
      expect(answer.headers.get('Vary')).toBe('accept-datetime');
      expect(answer.headers.get('Memento-Datetime')).toBeNull();
    }
    const answer = await node.node.fetch(`/timegate/${url}`, {
      headers: { 'Accept-Datetime': 'Fri, 20 Nov 2026 11:00:00 GMT' },
    });
    expect(linksOf(answer.headers.get('Link') ?? '').map(({ rel, uri }) => [rel, uri])).toEqual([
      ['original', url],
      ['timegate', `${node.node.url}/timegate/${url}`],
      ['timemap', `${node.node.url}/timemap/link/${url}`],
      ['first prev memento', memento(STAMPS[0], url)],
      ['memento', memento(STAMPS[1], url)],
      ['last next memento', memento(STAMPS[2], url)],
    ]);
  });

  test('refuses an invalid HTTP date', async () => {
    const url = await observed();
    for (const datetime of ['2026-11-20T10:00:00Z', 'yesterday', 'Fri, 31 Feb 2026 10:00:00 GMT', '']) {
      const answer = await node.node.fetch(`/timegate/${url}`, { headers: { 'Accept-Datetime': datetime } });
      expect(answer.status, datetime).toBe(400);
      expect(await answer.json()).toMatchObject({ code: 'invalid_datetime' });
    }
  });
});

describe('GET /memento/<time>/<url>', () => {
  test('serves the bytes of that time with the security headers of archived objects', async () => {
    const url = await observed();
    const answer = await node.node.fetch(`/memento/${STAMPS[1]}/${url}`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('two');
    expect(answer.headers.get('Memento-Datetime')).toBe('Fri, 20 Nov 2026 11:00:00 GMT');
    expect(answer.headers.get('Content-Security-Policy')).toBe("sandbox; default-src 'none'");
    expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(answer.headers.get('Content-Disposition')).toBe('attachment');
    expect(answer.headers.get('Content-Type')).toBe('text/html');
    expect(answer.headers.get('Link')).toContain('rel="first prev memento"');
    const etag = answer.headers.get('ETag') ?? '';
    const again = await node.node.fetch(`/memento/${STAMPS[1]}/${url}`, {
      headers: { 'If-None-Match': etag },
    });
    expect([again.status, again.headers.get('Memento-Datetime')]).toEqual([
      304,
      'Fri, 20 Nov 2026 11:00:00 GMT',
    ]);
    expect(await (await node.node.fetch(`/memento/${STAMPS[0].slice(0, 14)}/${url}`)).text()).toBe('one');
    for (const stamp of ['20261120100000124', '20261120130000123', '2026', 'now'])
      expect((await node.node.fetch(`/memento/${stamp}/${url}`)).status, stamp).toBe(404);
  });

  test('handles other methods like other addresses', async () => {
    const url = await observed();
    const head = await node.node.fetch(`/timegate/${url}`, { method: 'HEAD' });
    expect(head.status).toBe(302);
    const post = await node.node.fetch(`/timegate/${url}`, { method: 'POST' });
    expect([post.status, post.headers.get('Allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('refuses pages of other sites while the node is private, and serves them while it is shared', async () => {
    const url = await observed();
    const init = { headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' } };
    for (const way of ['timemap', 'timegate', `memento/${STAMPS[0]}`]) {
      const answer = await node.node.fetch(`/${way}/${url}`, init);
      expect(answer.status, way).toBe(403);
    }
    await node.node.sendJson('PUT', '/manage/sharing', { mode: 'read', require_invitation: false });
    const shared = await node.node.fetch(`/memento/${STAMPS[0]}/${url}`, init);
    expect([shared.status, shared.headers.get('Access-Control-Allow-Origin')]).toEqual([200, '*']);
    expect(shared.headers.get('Access-Control-Expose-Headers')).toContain('Memento-Datetime');
  });
});
