import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import {
  closeScriptedWebs,
  cutShort,
  endless,
  page,
  redirect,
  reset,
  ScriptedWeb,
  silence,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock();
  web = await ScriptedWeb.open();
  web.script('/private/page', page('text'));
  node = await openCollectingNode({}, { clock });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const text = (rules: string) => page(rules, { headers: { 'Content-Type': 'text/plain' } });
const DISALLOW = text('User-agent: *\nDisallow: /private/\n');

/** Watches the page, checks it once and returns the attempt. */
async function lastAttempt(fields: object = {}) {
  const { id } = await node.watch(web.url('/private/page'), fields);
  await node.check();
  return (await node.retrievals(id)).at(-1);
}

describe('robots.txt is obeyed', () => {
  test('a disallowed page is not requested and fails with robots_disallowed', async () => {
    web.script('/robots.txt', DISALLOW);
    expect(await lastAttempt()).toMatchObject({ error: 'robots_disallowed', status: null, sha256: null });
    expect(web.requests('/private/page')).toEqual([]);
    expect(web.requests('/robots.txt')[0]?.headers['user-agent']).toMatch(
      /^Strongroom\/\d+\.\d+\.\d+ \(\+http/,
    );
  });

  test.each<[string, Record<string, string>, (rules: string) => Buffer]>([
    ['gzip', { 'Content-Encoding': 'gzip' }, gzipSync],
    [
      'gzip with text behind it',
      { 'Content-Encoding': 'gzip' },
      (rules) => Buffer.concat([gzipSync(rules), Buffer.from('# cache')]),
    ],
    ['deflate', { 'Content-Encoding': 'deflate' }, deflateSync],
    ['Brotli', { 'Content-Encoding': 'br' }, brotliCompressSync],
    ['a coding that was not applied', { 'Content-Encoding': 'gzip' }, (rules) => Buffer.from(rules)],
    ['UTF-8 with a mark', {}, (rules) => Buffer.from(`\ufeff${rules}`)],
    ['UTF-16', {}, (rules) => Buffer.from(`\ufeff${rules}`, 'utf16le')],
    ['UTF-16, big-endian', {}, (rules) => Buffer.from(`\ufeff${rules}`, 'utf16le').swap16()],
  ])('in %s', async (_title, headers, encode) => {
    web.script('/robots.txt', page(encode('User-agent: *\nDisallow: /private/\n'), { headers }));
    expect(await lastAttempt()).toMatchObject({ error: 'robots_disallowed' });
  });

  test('a robots.txt that expands beyond its limit allows nothing', async () => {
    const bomb = gzipSync(Buffer.alloc(64_000_000));
    web.script('/robots.txt', page(bomb, { headers: { 'Content-Encoding': 'gzip' } }));
    expect(await lastAttempt()).toMatchObject({ error: 'robots_unreachable' });
  });

  test('unless the source ignores robots.txt', async () => {
    web.script('/robots.txt', DISALLOW);
    expect(await lastAttempt({ ignore_robots: true })).toMatchObject({ error: null, status: 200 });
    expect(web.requests('/robots.txt')).toEqual([]);
  });

  test('rules for the product name of the User-Agent override the rules for all', async () => {
    web.script('/robots.txt', text('User-agent: *\nDisallow: /\n\nUser-agent: Curator\nDisallow: /other/\n'));
    await node.set({ user_agent: 'Curator/2 (+mailto:us@example.org)' });
    expect(await lastAttempt()).toMatchObject({ error: null });
    expect(web.requests('/private/page')[0]?.headers['user-agent']).toBe(
      'Curator/2 (+mailto:us@example.org)',
    );
  });

  test('at every target of a redirect', async () => {
    const other = await ScriptedWeb.open();
    other.script('/robots.txt', DISALLOW);
    web.script('/private/page', redirect(other.url('/private/page')));
    expect(await lastAttempt()).toMatchObject({
      error: 'robots_disallowed',
      final_url: other.url('/private/page'),
    });
    expect(other.requests('/private/page')).toEqual([]);
  });
});

describe('the response to robots.txt (RFC 9309, section 2.3.1)', () => {
  test.each([
    ['404', page('', { status: 404 })],
    ['403', page('', { status: 403 })],
    ['a page instead of rules', page('<!doctype html><title>Welcome</title>')],
  ])('%s: everything is allowed', async (_title, response) => {
    web.script('/robots.txt', response);
    expect(await lastAttempt()).toMatchObject({ error: null });
  });

  test('a redirect is followed', async () => {
    web.script('/robots.txt', redirect('/rules.txt'));
    web.script('/rules.txt', DISALLOW);
    expect(await lastAttempt()).toMatchObject({ error: 'robots_disallowed' });
  });

  test('too many redirects: everything is allowed', async () => {
    web.script('/robots.txt', redirect('/robots.txt'));
    expect(await lastAttempt()).toMatchObject({ error: null });
    expect(web.requests('/robots.txt')).toHaveLength(6);
  });

  test('5xx or an incomplete body: the page is not requested and fails with robots_unreachable', async () => {
    web.script('/robots.txt', page('', { status: 503 }), cutShort(100, 'User-agent'), DISALLOW);
    const { id } = await node.watch(web.url('/private/page'));
    for (let round = 0; round < 3; round += 1) await node.check();
    const unreachable = { error: 'robots_unreachable', status: null, final_url: web.url('/private/page') };
    expect(await node.retrievals(id)).toMatchObject([
      { ...unreachable, sha256: null, headers: [] },
      unreachable,
      { error: 'robots_disallowed', status: null },
    ]);
    expect(web.requests('/private/page')).toEqual([]);
  });

  test('no response: the page fails with the error of the connection', async () => {
    web.script('/robots.txt', reset());
    expect(await lastAttempt()).toMatchObject({
      error: 'connection_reset',
      status: null,
      final_url: web.url('/private/page'),
    });
    expect(web.requests('/private/page')).toEqual([]);
  });

  test('a timeout fails the check, and the next check requests robots.txt again', async () => {
    web.script('/robots.txt', silence, text(''));
    const { id } = await node.watch(web.url('/private/page'));
    const checking = node.check();
    await web.asked('/robots.txt');
    await clock.turn(60_000);
    expect(await checking).toMatchObject({ failed: 1 });
    expect(await node.check()).toMatchObject({ changed: 1 });
    expect((await node.retrievals(id)).map(({ error }) => error)).toEqual(['timeout', null]);
  });

  test('an endless body is read up to the limit', async () => {
    web.script('/robots.txt', endless('# padding\n'));
    expect(await lastAttempt()).toMatchObject({ error: null, status: 200 });
  });

  test('a redirect without a valid target: everything is allowed', async () => {
    web.script(
      '/robots.txt',
      redirect('http://[::/'),
      page('', { status: 302 }),
      redirect('mailto:a@b.example'),
    );
    const { id } = await node.watch(web.url('/private/page'));
    for (let round = 0; round < 3; round += 1) {
      await node.check();
      await clock.turn(24 * 3_600_000);
    }
    expect((await node.retrievals(id)).map(({ error }) => error)).toEqual([null, null, null]);
  });

  test('a byte order mark before the first rule is ignored', async () => {
    web.script('/robots.txt', text('\ufeffUser-agent: *\nDisallow: /private/\n'));
    expect(await lastAttempt()).toMatchObject({ error: 'robots_disallowed' });
  });

  test('robots.txt is requested once a day; if that fails, the previous rules stay in force', async () => {
    web.script('/robots.txt', text(''), page('', { status: 500 }));
    await node.watch(web.url('/private/page'));
    await node.check();
    await clock.turn(24 * 3_600_000 - 1);
    await node.check();
    expect(web.requests('/robots.txt')).toHaveLength(1);
    await clock.turn(1);
    expect(await node.check()).toMatchObject({ checked: 1, failed: 0 });
    expect(await node.check()).toMatchObject({ checked: 1, failed: 0 });
    expect(web.requests('/robots.txt')).toHaveLength(2);
  });

  test('only the first 512 KiB are read', async () => {
    web.script('/robots.txt', text(`${'# padding\n'.repeat(60_000)}User-agent: *\nDisallow: /\n`));
    expect(await lastAttempt()).toMatchObject({ error: null });
  });
});
