import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { maxBlockedCpu } from '../../support/blockedCpu.ts';
import { closeScriptedWebs, page, raw, redirect, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { http, record } from '../../support/warcFiles.ts';
import { sendFile } from '../captures/support.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

/** Untrusted input is parsed on the event loop. No input may block it. */

let web: ScriptedWeb;
let node: CollectingNode;

beforeAll(async () => {
  node = await openCollectingNode();
});
beforeEach(async () => {
  web = await ScriptedWeb.open();
});
afterEach(closeScriptedWebs);
afterAll(closeTestNodes);

/** Without limits in the parsers, each of these inputs blocks the event loop for much longer. */
const MAX_BLOCKED_MS = 2_000;
const text = (rules: string) => page(rules, { headers: { 'Content-Type': 'text/plain' } });

describe('a hostile robots.txt does not block the event loop', () => {
  const group = (...rules: string[]) => `User-agent: *\n${rules.join('\n')}\n`;
  const HOSTILE: [string, string][] = [
    ['250 rules of 1,000 wildcards', group(...Array<string>(250).fill(`Disallow: /${'*a'.repeat(1_000)}*b`))],
    [
      'rules of one star and many near matches',
      group(...Array<string>(500).fill(`Disallow: /*${'a'.repeat(900)}b`)),
    ],
    ['50,000 rules of one star', group(...Array<string>(50_000).fill('Allow: *b'))],
    ['as many names as rules', `${'User-agent: *\n'.repeat(18_000)}${'Disallow: /x\n'.repeat(18_000)}`],
    ['only line ends', '\n'.repeat(524_288)],
    ['one rule of 500,000 wildcards', group(`Disallow: /${'*'.repeat(500_000)}b`)],
    ['one rule of characters that must be encoded', group(`Disallow: /${'\u2603'.repeat(170_000)}`)],
  ];

  test.each(HOSTILE)('%s', async (_title, robots) => {
    const path = (number: number) => `/${'a'.repeat(15_000)}${number}`;
    web.script('/robots.txt', text(robots));
    web.script('/page', redirect(path(0)));
    for (let hop = 0; hop < 9; hop += 1) web.script(path(hop), redirect(path(hop + 1)));
    web.script(path(9), page('end'));
    const { id } = await node.watch(web.url('/page'));
    expect(await maxBlockedCpu(() => node.check([id]))).toBeLessThan(MAX_BLOCKED_MS);
    expect((await node.retrievals(id)).at(-1)?.error).toBeOneOf([null, 'robots_unreachable']);
  });
});

describe('a hostile response does not block the event loop', () => {
  const head = (...lines: string[]) =>
    raw(`HTTP/1.1 503 No\r\n${lines.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`);
  const ok = (...lines: string[]) =>
    raw(`HTTP/1.1 200 OK\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n<title>x</title>`);
  const LONG = 60_000;
  const html = (body: string) => page(body, { headers: { 'Content-Type': 'text/html' } });

  test.each([
    ['Retry-After of blanks', head(`Retry-After: 1${' '.repeat(LONG)}x`)],
    ['Retry-After of digits', head(`Retry-After: ${'1'.repeat(LONG)}x`)],
    ['Retry-After of brackets', head(`Retry-After: ${'('.repeat(LONG)}`)],
    ['a content type of many parameters', ok(`Content-Type: text/html${'; charset='.repeat(6_000)}`)],
    [
      'invalid dates',
      ok(`Last-Modified: ${'Mon, '.repeat(6_000)}`, `Date: ${'1 '.repeat(12_000)}`, 'ETag: "x"'),
    ],
    [
      'a Location with a host name of 60,000 characters',
      raw(`HTTP/1.1 302 X\r\nLocation: http://xn--${'a'.repeat(LONG)}/\r\n\r\n`),
    ],
    ['a Location of many dot segments', raw(`HTTP/1.1 302 X\r\nLocation: ${'../'.repeat(20_000)}x\r\n\r\n`)],
    ['12,000 headers', ok(...Array<string>(12_000).fill('a:'))],
    ['a title of blanks', html(`<title>${' '.repeat(LONG)}x</title>`)],
    ['unclosed title tags', html('<title '.repeat(9_000))],
    ['unclosed scripts', html('<script>'.repeat(8_000))],
    ['unclosed tags', html('<'.repeat(65_000))],
    ['closing tags with blanks', html(`<script>${`</script${' '.repeat(100)}`.repeat(600)}`)],
    ['a title of separators', html(`<title>${' - '.repeat(20_000)}</title>`)],
    ['references in a title', html(`<title>${'&'.repeat(LONG)}</title>`)],
  ])('%s', async (_title, response) => {
    web.script('/page', response);
    const { id } = await node.watch(web.url('/page'), { ignore_robots: true });
    expect(await maxBlockedCpu(() => node.check([id]))).toBeLessThan(MAX_BLOCKED_MS);
  });
});

describe('a hostile archive does not block the event loop', () => {
  const MB = 1_000_000;
  const timeMap = (body: string) => async () => {
    web.script('/timemap', page(body, { headers: { 'Content-Type': 'application/link-format' } }));
    const request = { timemap: web.url('/timemap'), ignore_robots: true, limit: 1 };
    await node.node.sendJson('POST', '/manage/captures?observer=Archive&wait=true', request);
  };
  const next = (number: number) => `<http://a.example/${number}>; rel="next"`;

  test.each([
    ['a TimeMap of angle brackets', '<'.repeat(MB)],
    ['a TimeMap of escaped quotes', `<a>; rel=${'"\\'.repeat(MB)}`],
    ['a TimeMap of one link with many attributes', `<a>${';a'.repeat(MB)}`],
    ['a TimeMap of long links', `<a>${';a'.repeat(4_000)},`.repeat(400)],
    ['a TimeMap of 200,000 next links', Array.from({ length: 200_000 }, (_, at) => next(at)).join(',')],
    [
      'an index of 350,000 rows',
      `[["timestamp","original"]${',["20200101000000","http://a.example/"]'.repeat(350_000)}]`,
    ],
  ])('%s', async (_title, body) => {
    expect(await maxBlockedCpu(timeMap(body))).toBeLessThan(MAX_BLOCKED_MS);
  });

  const LONG = 60_000;
  const response = (line: string) => Buffer.from(`HTTP/1.1 200 OK\r\n${line}\r\n\r\nx`);
  test.each([
    ['a header without a colon', record({ block: response(`a${' '.repeat(LONG)}`) })],
    ['a header of blanks', record({ block: response(`a: b${' '.repeat(LONG)}c`) })],
    [
      'a digest of padding',
      record({ block: http('x'), fields: { 'WARC-Block-Digest': `sha1:${'='.repeat(LONG)}x` } }),
    ],
    ['fields without a colon', Buffer.from(`WARC/1.0\r\n${'a\r\n'.repeat(300_000)}\r\n`)],
  ])('a WARC record with %s', async (_title, file) => {
    expect(await maxBlockedCpu(() => sendFile(node, file))).toBeLessThan(MAX_BLOCKED_MS);
  });
});
