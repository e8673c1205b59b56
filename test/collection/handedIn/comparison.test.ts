import { afterEach, expect, test } from 'vitest';
import { mayHoldToken } from '../../../shared/collection/handedIn.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { savedPage } from '../../support/savedPages.ts';
import { openCollectingNode } from '../support.ts';
import { handIn, readHandIn, refusedWith, sendFile } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const HTML = { headers: { 'Content-Type': 'text/html; charset=utf-8' } };
const both = '<h1>Terms of use</h1><p>They apply from today.</p>';
const PUBLIC = `<!doctype html><html><head><title>Terms</title></head><body>${both}<p>Sign in to see more.</p></body></html>`;
const SEEN = `<!doctype html><html><head><title>Terms</title></head><body>${both}<p>Your fee is 12 €.</p><p>Your contract ends in May.</p></body></html>`;

test('what the person saw is shown beside what the public gets, with the blocks that both have', async () => {
  const web = await ScriptedWeb.open();
  web.script('/terms', page(PUBLIC, HTML));
  const node = await openCollectingNode();
  const url = web.url('/terms');
  const file = savedPage(url, [
    { type: 'text/html', location: url, encoding: 'quoted-printable', content: SEEN },
  ]);
  const handed = await handIn(node.node, file, 'multipart/related', { fetch: 'true' });
  expect(handed.page).toMatch(/^pg_/);
  const { comparison } = await readHandIn(node.node, handed.id);
  expect(comparison).toMatchObject({
    page: { id: handed.page, url, outcome: 'complete' },
    shared: ['Terms of use', 'They apply from today.'],
    only_handed_in: 2,
    only_public: 1,
    truncated: false,
  });
  // What the public gets is public.
  expect((await node.node.fetch(`/archive/${comparison?.page.picture}`)).status).toBe(200);
  expect((await node.node.fetch(`/archive/${handed.document}`)).status).toBe(451);
  const events = await node.events();
  expect(events.map(({ observer }) => observer).sort()).toEqual(['browser', handed.observer, 'self']);
});

test('a page that cannot be had is said, and the file is kept', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  const html = Buffer.from('<html><p>Text</p></html>');
  const handed = await handIn(node.node, html, 'text/html', { url: web.url('/none'), fetch: 'true' });
  expect(handed).toMatchObject({ page: null, page_error: expect.stringContaining('http_error') });
  expect((await readHandIn(node.node, handed.id)).comparison).toBeNull();
});

test('an address that may hold a token is fetched only if that is confirmed', async () => {
  const web = await ScriptedWeb.open();
  web.script('/terms?token=abc', page(PUBLIC, HTML));
  const node = await openCollectingNode();
  const html = Buffer.from(SEEN);
  const said = { url: web.url('/terms?token=abc'), fetch: 'true' };
  const refused = await sendFile(node.node, html, 'text/html', said);
  expect((await refusedWith(refused.clone())).slice(0, 2)).toEqual([422, 'invalid_field']);
  expect(await refused.json()).toMatchObject({ errors: [{ path: '/fetch_confirmed' }] });
  // The address in the file counts, too.
  const inFile = savedPage(said.url, [{ type: 'text/html', location: said.url, content: SEEN }]);
  expect((await sendFile(node.node, inFile, 'multipart/related', { fetch: 'true' })).status).toBe(422);
  expect(web.requests('/terms?token=abc')).toEqual([]);
  const handed = await handIn(node.node, html, 'text/html', { ...said, fetch_confirmed: 'true' });
  expect(handed.page).toMatch(/^pg_/);
});

test.each([
  ['https://a.example/', false],
  ['https://a.example/articles/how-to-write-a-letter-in-2026?page=2&sort=date#section-3', false],
  ['https://a.example/search?q=fees&author=Ada&keyword=x&country=de', false],
  ['https://a.example/?token=x', true],
  ['https://a.example/?accessToken=x', true],
  ['https://a.example/?PHPSESSID=x', true],
  ['https://a.example/#access_token=x', true],
  ['https://a.example/#!/?code=x', true],
  ['https://a.example/?u=9f86d081884c7d659a2feaa0c55ad015', true],
  ['https://a.example/reset/eyJhbGciOiJIUzI1NiJ9eyJzdWIiOiIx', true],
  ['https://a.example/share/550e8400-e29b-41d4-a716-446655440000', true],
  ['https://user:x@a.example/', true],
  ['https://a.example/?token=', false],
])('whether %s may hold a token: %s', (address, expected) => {
  expect(mayHoldToken(address)).toBe(expected);
});
