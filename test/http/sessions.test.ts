import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { migrate } from '../../server/store/sqlite/engine/migrate.ts';
import { RELEASE_0_1_0 } from '../../server/store/sqlite/engine/migrations/0001-0004.ts';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';
import type { OwnerSession } from '../../shared/node/owner.ts';
import { instantOf } from '../../shared/values/clock.ts';
import { problemOf, sha256Of } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

const DAY = 86_400_000;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';

/** Opens a sign-in link. Returns the cookie as a browser would send it, and as it was set. */
async function signIn(node: TestNode, headers: Record<string, string> = {}) {
  const set = (await node.fetch(node.createSignInLink(), { headers })).headers.get('Set-Cookie') ?? '';
  return { set, cookie: set.split(';', 1)[0] ?? '' };
}

function ask(node: TestNode, cookie: string, path = '/api/session', method = 'GET'): Promise<Response> {
  return node.fetch(path, { method, headers: { Cookie: cookie } });
}

async function isOwner(node: TestNode, cookie: string): Promise<boolean> {
  return ((await (await ask(node, cookie)).json()) as { owner: boolean }).owner;
}

async function sessionsOf(node: TestNode, cookie: string): Promise<OwnerSession[]> {
  return ((await (await ask(node, cookie, '/manage/sessions')).json()) as { items: OwnerSession[] }).items;
}

test('a session ends after 30 days without use, and so does its cookie', async () => {
  const clock = new ManualClock();
  const node = await openTestNode({ clock });
  const { set, cookie } = await signIn(node);
  expect(set).toContain(`Max-Age=${30 * 24 * 3600};`);
  await clock.turn(29 * DAY);
  const used = await ask(node, cookie);
  expect(await used.clone().json()).toMatchObject({ owner: true });
  expect(used.headers.get('Set-Cookie')).toContain(`Max-Age=${30 * 24 * 3600};`);
  expect(used.headers.get('Set-Cookie')).toContain(cookie);
  await expect
    .poll(async () => (await sessionsOf(node, cookie))[0]?.last_used_at)
    .toBe(instantOf(clock.now()));

  await clock.turn(29 * DAY);
  expect(await isOwner(node, cookie)).toBe(true);
  await clock.turn(30 * DAY + 1);
  expect(await isOwner(node, cookie)).toBe(false);
  expect((await ask(node, cookie, '/manage/settings')).status).toBe(401);
});

test('the use of a session is recorded once an hour, so reading does not cause writes', async () => {
  const clock = new ManualClock();
  const node = await openTestNode({ clock });
  const { cookie } = await signIn(node);
  const [begun] = await sessionsOf(node, cookie);
  await clock.turn(3_599_000);
  const early = await ask(node, cookie);
  expect(early.headers.get('Set-Cookie')).toBeNull();
  expect((await sessionsOf(node, cookie))[0]?.last_used_at).toBe(begun?.created_at);
  await clock.turn(1_000);
  await ask(node, cookie);
  await expect
    .poll(async () => (await sessionsOf(node, cookie))[0]?.last_used_at)
    .toBe(instantOf(clock.now()));
});

test('the owner lists the signed-in browsers and ends one of them', async () => {
  const node = await openTestNode({ clock: new ManualClock() });
  const mine = await signIn(node, { 'User-Agent': FIREFOX });
  const other = await signIn(node, { 'User-Agent': `curl/8 ${'x'.repeat(200)}` });
  const listed = await sessionsOf(node, mine.cookie);
  const current = listed.filter((session) => session.current).map(({ label }) => label);
  const others = listed.filter((session) => !session.current).map(({ label }) => label);
  expect(current).toEqual(['Firefox on Linux']);
  expect(others).toEqual([`curl/8 ${'x'.repeat(53)}`]);
  const [, secret = ''] = other.cookie.split('=');
  const text = JSON.stringify(listed);
  expect(text).not.toContain(secret);
  expect(text).not.toContain(sha256Of(secret));

  const ended = listed.find((session) => !session.current)?.id ?? '';
  expect((await ask(node, mine.cookie, `/manage/sessions/${ended}`, 'DELETE')).status).toBe(204);
  expect(await isOwner(node, other.cookie)).toBe(false);
  expect(await isOwner(node, mine.cookie)).toBe(true);
  expect(await problemOf(ask(node, mine.cookie, `/manage/sessions/${ended}`, 'DELETE'))).toMatchObject({
    status: 404,
  });
  expect(await (await node.fetchAsOwner('/manage/sessions')).json()).toMatchObject({
    total: 1,
    items: [{ current: false }],
  });
});

test('a browser that signs in again has only the new session', async () => {
  const node = await openTestNode({ clock: new ManualClock() });
  const first = await signIn(node);
  const second = await signIn(node, { Cookie: first.cookie });
  expect(await isOwner(node, first.cookie)).toBe(false);
  expect(await sessionsOf(node, second.cookie)).toHaveLength(1);
});

test('sessions from before sessions could expire stay valid, and are listed', async () => {
  const dataFolder = join(await temporaryFolder(), 'data');
  await mkdir(dataFolder);
  const database = openForWriting(join(dataFolder, 'strongroom.db'));
  migrate(database, RELEASE_0_1_0.slice(0, 1));
  const secret = 'a'.repeat(64);
  database
    .prepare('INSERT INTO owner_sessions (token_sha256, created_at) VALUES (?, ?)')
    .run(sha256Of(secret), '2020-01-01T00:00:00.000Z');
  database.close();
  const node = await openTestNode({ dataFolder });
  const { set } = await signIn(node);
  const cookie = `${set.split('=', 1)[0]}=${secret}`;
  expect(await isOwner(node, cookie)).toBe(true);
  expect((await sessionsOf(node, cookie)).find(({ current }) => current)).toMatchObject({
    id: expect.stringMatching(/^se_[0-9a-f]{20}$/) as string,
    created_at: '2020-01-01T00:00:00.000Z',
    label: '',
  });
});
