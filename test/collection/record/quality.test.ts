import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findingsOf, labelOf } from '../../../server/collection/record/quality/judgePage.ts';
import type { Event, EventQuality } from '../../../shared/collection/event.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const url = 'https://agency.example/report';

async function judged(html: string, { status = 200, headers = [] as [string, string][] } = {}) {
  const findings = await findingsOf({
    url,
    final_url: url,
    status,
    headers,
    content_type: 'text/html',
    beginning: Buffer.from(html),
  });
  return { label: labelOf(findings)?.label ?? null, rules: findings.map(({ rule }) => rule) };
}

describe('rules', () => {
  test.each([
    ['<title>Too Many Requests</title>', {}, 'rate_limit'],
    ['<title>429 Too Many Requests</title>', {}, 'rate_limit'],
    ['<p>slow down', { status: 429 }, 'rate_limit'],
    ['<p>Too many requests', {}, 'rate_limit'],
    [
      '<title>x</title><p>You have exceeded your request limit.',
      { headers: [['Retry-After', '60']] },
      'rate_limit',
    ],
    ['<title>Agency</title><h1>404</h1><p>The page you requested could not be found.', {}, 'error_page'],
    ['<title>Just a moment...</title>', {}, 'bot_wall'],
    ['<title>404 Not Found</title>', {}, 'error_page'],
  ] as const)('%s %j: %s', async (html, answer, label) => {
    expect(await judged(html, answer as object)).toMatchObject({ label });
  });

  test.each([
    ['<title>Rates</title><p>Our rate limits are described here.', {}],
    ['<title>Agency</title><p>This page has been moved.', {}],
    [`<title>API</title><h1>Too many requests</h1><p>${'Long text of a manual. '.repeat(60)}`, {}],
    ['<title>Report</title><p>Text', { headers: [['Retry-After', '60']] }],
  ] as const)('one weak sign is no label: %s', async (html, answer) => {
    expect(await judged(html, answer as object)).toMatchObject({ label: null });
  });

  test('weak signs add up, and each is named', async () => {
    const found = await judged('<h1>404</h1><p>Sorry, the page does not exist.');
    expect(found).toEqual({ label: 'error_page', rules: ['error.heading', 'error.sentence'] });
  });

  test('a bot wall is not called a rate limit, whatever else is found', async () => {
    expect(
      await judged('<title>Just a moment...</title><p>Too many requests', { status: 429 }),
    ).toMatchObject({
      label: 'bot_wall',
    });
  });
});

describe('events', () => {
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

  const quality = (id: number) => node.read<EventQuality>(`/api/events/${id}/quality`);

  async function labels(query: string): Promise<(string | undefined)[]> {
    const { items } = await node.read<{ items: Event[] }>(`/api/events?${query}`);
    return items.map(({ page_label }) => page_label?.label);
  }

  test('are filtered by label, and say what was found; the row itself stays as it is', async () => {
    web.script('/wall', page('<title>Just a moment...</title>'));
    web.script('/busy', page('<title>Too many requests</title>'));
    web.script('/well', page('<title>Report</title><p>Its text is here.'));
    for (const path of ['/wall', '/busy', '/well']) await node.watch(web.url(path));
    await node.check();
    expect(await labels('label=bot_wall')).toEqual(['bot_wall']);
    expect(await labels('label=rate_limit')).toEqual(['rate_limit']);
    expect(new Set(await labels('label=any'))).toEqual(new Set(['bot_wall', 'rate_limit']));
    expect(await labels('label=none')).toEqual([undefined]);
    expect(await labels('label=error_page')).toEqual([]);
    expect((await node.node.fetch('/api/events?label=nice')).status).toBe(400);
    const csv = await (await node.node.fetch('/api/events?label=any&format=csv')).text();
    expect(csv.trim().split('\r\n')).toHaveLength(3);
    const [wall] = await node.events('label=bot_wall');
    const found = await quality(wall?.id ?? 0);
    expect(found).toMatchObject({
      recorded: wall?.page_label,
      found: wall?.page_label,
      threshold: 100,
      findings: [
        { rule: 'wall.title', label: 'bot_wall', score: expect.any(Number), reason: expect.any(String) },
      ],
    });
    const [well] = await node.events('label=none');
    expect(await quality(well?.id ?? 0)).toMatchObject({ recorded: null, found: null, findings: [] });
    expect(Object.keys(wall ?? {})).not.toContain('quality');
  });

  test('of captures in a WARC are judged and filtered in the same way', async () => {
    const body = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Too many requests</title>';
    const record = [
      'WARC/1.0',
      'WARC-Type: response',
      'WARC-Target-URI: https://agency.example/report',
      'WARC-Date: 2026-01-01T00:00:00Z',
      'WARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789012>',
      'Content-Type: application/http; msgtype=response',
      `Content-Length: ${body.length}`,
    ].join('\r\n');
    const imported = await node.node.fetchAsOwner('/manage/captures?observer=Archive', {
      method: 'POST',
      headers: { 'Content-Type': 'application/warc' },
      body: `${record}\r\n\r\n${body}\r\n\r\n`,
    });
    expect(imported.status).toBe(200);
    const [event] = await node.events('label=rate_limit&observer=Archive');
    expect(event).toMatchObject({ event_type: 'first_seen' });
    expect((await quality(event?.id ?? 0)).findings.map(({ rule }) => rule)).toContain('rate.title');
  });
});
