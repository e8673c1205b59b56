import { afterEach, describe, expect, test } from 'vitest';
import { isLoginAddress } from '../../../server/collection/profiles/logins.ts';
import { AlertingNode, closeAll, dataOf } from '../../alerts/support.ts';
import { WebhookReceiver } from '../../alerts/webhookReceiver.ts';
import { eventually } from '../../support/eventually.ts';
import { page, redirect, ScriptedWeb, type Step } from '../../support/network/scriptedWeb.ts';
import { addProfile, CANARY, cookie, cookiesOf, LOGIN_PAGE, members, readProfile } from './support.ts';

afterEach(closeAll);

const MINE = page('<title>Mine</title><p>For members.</p>');

/** Opens a node with a source that was checked once and whose login works. */
async function openWatching(first: Step = MINE) {
  const web = await ScriptedWeb.open();
  web.script('/', first);
  web.script('/login', LOGIN_PAGE);
  const node = await AlertingNode.open();
  const { id: profile } = await addProfile(node);
  const { id: source } = await node.watch(web.url('/'), { profile });
  await node.check();
  expect(await node.source(source)).toMatchObject({ login: 'works' });
  return { web, node, profile, source };
}

describe('that a profile no longer works is noticed', () => {
  test.each<[string, Step, string, number]>([
    ['by a redirect to a login page', redirect('/login'), 'login_page', 200],
    ['by 401', page('who?', { status: 401 }), 'unauthorized', 401],
    ['by 403 where it was 200', page('no', { status: 403 }), 'forbidden', 403],
    ['by a field for a password that was not there', LOGIN_PAGE, 'password_field', 200],
  ])('%s', async (_, step, reason, status) => {
    const { web, node, profile, source } = await openWatching();
    const { last_sha256 } = await node.source(source);
    web.script('/', step);
    expect(await node.check()).toMatchObject({ failed: 1, events: [] });
    expect((await node.retrievals(source)).at(-1)).toMatchObject({ error: 'profile_expired', status });
    expect(await node.source(source)).toMatchObject({
      login: 'expired',
      login_expired_at: expect.any(String),
      last_error: 'profile_expired',
      // What came is no version of the page.
      last_sha256,
    });
    expect(await readProfile(node, profile)).toMatchObject({
      state: 'expired',
      expired_reason: reason,
      expired_source: source,
    });
    expect(await node.timeline()).toEqual(['first_seen']);
    // What came was got with the login, too.
    const { sha256 } = (await node.retrievals(source)).at(-1) ?? {};
    expect((await node.node.fetch(`/archive/${sha256}`)).status).toBe(451);
    web.script('/', MINE);
    expect(await node.check()).toMatchObject({ failed: 0, unchanged: 1 });
    expect(await node.source(source)).toMatchObject({ login: 'works', login_expired_at: null });
    expect(await readProfile(node, profile)).toMatchObject({
      state: 'works',
      expired_at: null,
      expired_reason: null,
      expired_source: null,
    });
  });

  test.each<[string, Step]>([
    [
      '403 from a bot wall',
      page('<title>Just a moment...</title>', { status: 403, headers: { 'cf-mitigated': 'challenge' } }),
    ],
    ['404', page('gone', { status: 404 })],
    ['500', page('broken', { status: 500 })],
    ['a redirect to another page', redirect('/news')],
    ['a page that speaks of a password', page('<p>Choose a good password.</p>')],
  ])('but not by %s', async (_, step) => {
    const { web, node, profile, source } = await openWatching();
    web.script('/', step);
    web.script('/news', page('news'));
    await node.check();
    expect(await node.source(source)).toMatchObject({ login: 'works' });
    expect(await readProfile(node, profile)).toMatchObject({ state: 'works' });
  });

  test('at the first check by a login page, by 401, and not by 403', async () => {
    const web = await ScriptedWeb.open();
    const node = await AlertingNode.open();
    const { id: profile } = await addProfile(node);
    const watch = async (path: string, step: Step) => {
      web.script(path, step);
      const { id } = await node.watch(web.url(path), { profile });
      await node.check([id]);
      return node.source(id);
    };
    web.script('/enter', LOGIN_PAGE);
    web.script('/login', page('log in here'));
    expect(await watch('/forbidden', page('no', { status: 403 }))).toMatchObject({
      login: 'untried',
      last_error: 'http_error',
    });
    for (const [path, step] of [
      ['/a', redirect('/login')],
      ['/b', redirect('/enter')],
      ['/c', page('who?', { status: 401 })],
    ] as const)
      expect(await watch(path, step)).toMatchObject({ login: 'expired', last_sha256: null, state: 'new' });
  });

  test('also if robots.txt keeps the node from the login page', async () => {
    const { web, node, source } = await openWatching();
    web.script('/', redirect(web.url('/login', 'localhost')));
    web.script('/robots.txt', page('User-agent: *\nDisallow: /login'));
    await node.check();
    expect(await node.source(source)).toMatchObject({ login: 'expired' });
  });
});

test('a login page takes no place in the profile, so that the session goes on when the site does', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', members('mine'));
  web.script('/login?next=x', page('<p>Log in</p>', { headers: { 'Set-Cookie': 'sid=anonymous; Path=/' } }));
  const node = await AlertingNode.open();
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  await node.check();
  web.script('/', redirect('/login?next=x'));
  await node.check();
  expect(await node.source(id)).toMatchObject({ login: 'expired' });
  web.script('/', members('mine'));
  await node.check();
  expect(await node.source(id)).toMatchObject({ login: 'works' });
  expect(cookiesOf(web, '/')).toEqual(Array(3).fill(`sid=${CANARY}`));
});

test('one alert says that a profile has expired, and the next one only after it has worked again', async () => {
  const receiver = await WebhookReceiver.open();
  const { web, node, profile, source } = await openWatching();
  web.script('/two', MINE);
  const { id: second } = await node.watch(web.url('/two'), { profile });
  await node.check();
  await node.alert({ profile_expired: true }, [receiver.target]);
  await node.alert({ profile_expired: true, sources: [second] }, [receiver.target], { name: 'Second' });
  const sent = () => receiver.calls.map((call) => dataOf(call));
  const expire = () => {
    web.script('/', redirect('/login'));
    web.script('/two', page('who?', { status: 401 }));
  };
  web.script('/', redirect('/login'));
  await node.check();
  await node.check();
  await eventually(() => expect(sent()).toHaveLength(1));
  expect(sent()[0]?.alerts).toMatchObject([
    {
      kind: 'profile_expired',
      title: 'The login at 127.0.0.1 has expired',
      text: expect.stringContaining('login page'),
      link: expect.stringContaining('/settings#profiles'),
      source: { id: source },
    },
  ]);
  expect(JSON.stringify(sent())).not.toContain(CANARY);
  // The other rule waits for its own source.
  expire();
  await node.check();
  await eventually(() => expect(sent()).toHaveLength(2));
  expect(sent()[1]).toMatchObject({ rule: { name: 'Second' }, alerts: [{ source: { id: second } }] });
  // The profile works again only once it does for both.
  web.script('/', MINE);
  await node.check();
  expect(await readProfile(node, profile)).toMatchObject({ state: 'expired' });
  web.script('/two', MINE);
  await node.check();
  expect(await readProfile(node, profile)).toMatchObject({ state: 'works' });
  expect(sent()).toHaveLength(2);
  expire();
  await node.check();
  await eventually(() => expect(sent()).toHaveLength(4));
  // Logged in again.
  const content = { storage_state: { cookies: [cookie('new')] } };
  const replaced = await node.node.sendJson('PATCH', `/manage/profiles/${profile}`, content);
  expect(await replaced.json()).toMatchObject({ state: 'untried', expired_at: null, left_out: 0 });
  expect(await node.source(source)).toMatchObject({ login: 'untried', login_expired_at: null });
  web.script('/', MINE);
  await node.check([source]);
  expect(cookiesOf(web, '/').at(-1)).toBe('sid=new');
});

test.each([
  ['https://a.example/login', true],
  ['https://a.example/users/sign_in?next=/x', true],
  ['https://a.example/account/Login.aspx', true],
  ['https://login.a.example/', true],
  ['https://a.example/#/login', true],
  ['https://a.example/wp-login.php', true],
  ['https://a.example/articles/logins-in-numbers', false],
  ['https://a.example/signing', false],
  ['https://a.example/?next=/login', false],
  ['https://a.example/blog/catalogin', false],
])('whether %s is an address for logging in: %s', (address, expected) => {
  expect(isLoginAddress(address)).toBe(expected);
});
