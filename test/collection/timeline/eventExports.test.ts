import { parse } from 'csv-parse/sync';
import { XMLParser } from 'fast-xml-parser';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Event } from '../../../shared/collection/event.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let clock: ManualClock;
let node: CollectingNode;
let web: ScriptedWeb;

beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.123Z');
  node = await openCollectingNode({}, { clock, ...DERIVING });
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const NAME = '=HYPERLINK("x") <b>]]>\u0001 & Söhne';

/** Creates two sources with three events in total. */
async function filled(): Promise<Event[]> {
  web.script('/a?x=1&y', page('one'), page('two'));
  web.script('/b', page('b'));
  await node.watch(web.url('/a?x=1&y'), {
    name: NAME,
    agency: '-1',
    tags: ['t', 'u, v'],
    ignore_robots: true,
  });
  await node.watch(web.url('/b'), { ignore_robots: true });
  await node.check();
  await clock.turn(60_000);
  await node.check();
  return node.summarizedEvents();
}

async function rowsOf(query: string): Promise<Record<string, string>[]> {
  const answer = await node.node.fetch(`/api/events?format=csv&${query}`);
  expect(answer.headers.get('Content-Type')).toBe('text/csv; charset=utf-8; header=present');
  expect(answer.headers.get('Content-Disposition')).toBe('attachment; filename="events.csv"');
  const text = await answer.text();
  expect(text.endsWith('\r\n')).toBe(true);
  return parse(text, { columns: true, record_delimiter: '\r\n' });
}

describe('GET /api/events?format=csv', () => {
  test('writes one line per event, and escapes spreadsheet formulas', async () => {
    const events = await filled();
    const rows = await rowsOf('limit=1');
    expect(rows.map(({ id }) => Number(id))).toEqual(events.map(({ id }) => id));
    const [newest] = events;
    expect(rows[0]).toEqual({
      id: String(newest?.id),
      source: newest?.source.id,
      url: newest?.source.url,
      name: `'${NAME}`,
      agency: "'-1",
      tags: 't; u, v',
      event_type: 'changed',
      observer: 'self',
      observed_at: newest?.observed_at,
      original_observed_at: '',
      sha256: newest?.sha256,
      previous_sha256: newest?.previous_sha256,
      reverts_to: '',
      page_label: '',
      page: '',
      is_noise: '',
      summary: newest?.summary,
      ledger_entry: String(newest?.ledger_entry),
    });
  });

  test('accepts the filters of the timeline and returns the same events', async () => {
    const [newest] = await filled();
    const queries = [
      'event_type=changed',
      'q=s%C3%B6hne',
      `q=${newest?.sha256?.slice(0, 8)}`,
      'tag=t&event_type=first_seen',
      `source=${newest?.source.id}`,
      `since=${newest?.observed_at}`,
      'until=2026-11-20T10:00:30Z',
      'since=2027-01-01',
      'observer=other',
      'agency=-1',
    ];
    for (const query of queries) {
      const ids = (await node.events(query)).map(({ id }) => String(id));
      expect(
        (await rowsOf(query)).map(({ id }) => id),
        query,
      ).toEqual(ids);
    }
    const odd = await node.node.fetch('/api/events?format=xml');
    expect([odd.status, await odd.json()]).toMatchObject([400, { code: 'invalid_format' }]);
    const head = await node.node.fetch('/api/events?format=csv', { method: 'HEAD' });
    expect([head.status, head.headers.get('Content-Type')]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
    ]);
  });
});

interface HtmlText {
  type: 'html';
  '#text': string;
}

interface AtomFeed {
  feed: {
    id: string;
    updated: string;
    link: { rel: string; href: string }[];
    author: { name: string };
    entry: { id: string; updated: string; link: { href: string }; title: HtmlText; content: HtmlText }[];
  };
}

async function feedOf(path: string): Promise<AtomFeed['feed']> {
  const answer = await node.node.fetch(path);
  expect(answer.headers.get('Content-Type')).toBe('application/atom+xml; charset=utf-8');
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '',
    isArray: (name) => name === 'entry',
    processEntities: true,
  });
  return (parser.parse(await answer.text(), true) as AtomFeed).feed;
}

describe('GET /api/events.atom', () => {
  test('has one entry per event with links to its page and its objects', async () => {
    const events = await filled();
    const feed = await feedOf('/api/events.atom');
    expect(feed.updated).toBe(events[0]?.observed_at);
    expect(feed.link).toContainEqual({ rel: 'self', href: `${node.node.url}/api/events.atom` });
    expect(feed.entry.map(({ link }) => link.href)).toEqual(
      events.map(({ id }) => `${node.node.url}/timeline/${id}`),
    );
    expect(feed.entry.map(({ updated }) => updated)).toEqual(events.map(({ observed_at }) => observed_at));
    const [newest] = feed.entry;
    expect(newest?.id).toMatch(/^tag:node-[0-9a-f]+\.local,2026:event\/3$/);
    expect(newest?.title['#text']).toBe(
      `Changed: =HYPERLINK(&quot;x&quot;) &lt;b&gt;]]&gt;\ufffd &amp; Söhne (${events[0]?.summary})`,
    );
    expect(newest?.content['#text']).toContain(`href="${node.node.url}/archive/${events[0]?.sha256}"`);
    expect(newest?.content['#text']).toContain(
      `href="${node.node.url}/archive/${events[0]?.previous_sha256}"`,
    );
    expect(new Set(feed.entry.map(({ id }) => id)).size).toBe(3);
  });

  test('accepts the filters of the timeline, and has the same ids at another address', async () => {
    await filled();
    const all = await feedOf('/api/events.atom');
    const some = await feedOf('/api/events.atom?event_type=first_seen&limit=1');
    expect(some.entry).toHaveLength(1);
    expect(some.id).not.toBe(all.id);
    expect(all.entry.map(({ id }) => id)).toContain(some.entry[0]?.id);
    const other = new URL(node.node.url);
    other.hostname = 'localhost';
    const text = await (await fetch(new URL('/api/events.atom', other))).text();
    for (const { id } of all.entry) expect(text).toContain(id);
    expect((await node.node.fetch('/api/events.atom?nonsense=1')).status).toBe(400);
  });

  test('answers conditional requests with 304', async () => {
    await filled();
    const first = await node.node.fetch('/api/events.atom');
    const ask = async (headers: Record<string, string>) =>
      (await node.node.fetch('/api/events.atom', { headers })).status;
    const etag = first.headers.get('ETag') ?? '';
    expect(await ask({ 'If-None-Match': etag })).toBe(304);
    // Its summaries change without a new event.
    expect(await ask({ 'If-Modified-Since': 'Fri, 20 Nov 2026 10:01:00 GMT' })).toBe(200);
    await clock.turn(60_000);
    web.script('/b', page('other'));
    await node.check();
    expect(await ask({ 'If-None-Match': etag })).toBe(200);
  });

  test('is a valid feed without events', async () => {
    expect((await feedOf('/api/events.atom')).entry).toBeUndefined();
  });
});
