import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Alert } from '../../shared/alerts/alert.ts';
import type { ProblemDocument } from '../../shared/problems.ts';
import { AlertingNode, closeAll } from './support.ts';
import { isSigned, SECRET, WebhookReceiver } from './webhookReceiver.ts';

afterEach(closeAll);

const MAIL = { kind: 'email', address: 'reader@example.org' };

test('a rule is added, read, changed, paused, listed and removed', async () => {
  const { node, ...alerting } = await AlertingNode.open();
  const added = await node.sendJson('POST', '/manage/alerts', {
    name: 'Fees',
    when: { event_types: ['changed'], words: ['fee'] },
    to: [{ kind: 'desktop' }, MAIL],
    every: 'daily',
  });
  expect(added.status).toBe(201);
  const alert = (await added.json()) as Alert;
  expect(added.headers.get('Location')).toBe(`/manage/alerts/${alert.id}`);
  expect(alert).toEqual({
    id: expect.stringMatching(/^al_[0-9a-f]{20}$/),
    name: 'Fees',
    when: { event_types: ['changed'], words: ['fee'] },
    to: [{ kind: 'desktop' }, MAIL],
    every: 'daily',
    paused: false,
    created_at: expect.any(String),
  });
  const path = `/manage/alerts/${alert.id}`;
  const changed = await node.sendJson('PATCH', path, { name: 'Prices', paused: true });
  expect(await changed.json()).toEqual({ ...alert, name: 'Prices', paused: true });
  expect(await (await node.fetchAsOwner(path)).json()).toEqual({ ...alert, name: 'Prices', paused: true });
  expect(await (await node.fetchAsOwner('/manage/alerts')).json()).toMatchObject({ total: 1 });
  // Kinds that are no events, and a single word, may be given in the shorter form.
  const shorter = {
    event_types: ['changed', 'passage_changed', 'watch_lost'],
    appears: 'fee',
    disappears: ['tax'],
  };
  const longer = {
    event_types: ['changed'],
    passage_changed: true,
    watch_lost: true,
    appears: ['fee'],
    disappears: ['tax'],
  };
  const other = await node.sendJson('PATCH', path, { when: shorter });
  expect(await other.json()).toMatchObject({ when: longer });
  const kind = await node.sendJson('PATCH', path, { when: { event_types: ['profile_expired'] } });
  expect(((await kind.json()) as Alert).when).toEqual({ profile_expired: true });
  expect((await node.fetchAsOwner(path, { method: 'DELETE' })).status).toBe(204);
  expect((await node.fetchAsOwner(path)).status).toBe(404);
  expect((await node.fetch('/manage/alerts')).status).toBe(401);
  expect(alerting).toEqual({});
});

test.for<[string, object, string]>([
  ['an unknown event type', { when: { event_types: ['exploded'] } }, '/when/event_types/0'],
  ['an empty list', { when: { tags: [] } }, '/when/tags'],
  ['words without letters', { when: { words: ['--'] } }, '/when/words/0'],
  ['one word without letters', { when: { appears: '--' } }, '/when/appears'],
  ['one of several words without letters', { when: { appears: ['fee', '--'] } }, '/when/appears/1'],
  ['an unknown label', { when: { labels: ['nice'] } }, '/when/labels/0'],
  ['no target', { to: [] }, '/to'],
  [
    'a line break in an address',
    { to: [{ kind: 'email', address: 'a@example.org\r\nBcc: b@c.de' }] },
    '/to/0/address',
  ],
  [
    'a short secret',
    { to: [{ kind: 'webhook', url: 'https://example.org/', secret: 'whsec_YWJj' }] },
    '/to/0/secret',
  ],
  ['credentials in an address', { to: [{ kind: 'webhook', url: 'https://a:b@example.org/' }] }, '/to/0/url'],
  ['a target twice', { to: [MAIL, MAIL] }, '/to'],
])('%s is refused', async ([, fields, path]) => {
  const { node } = await AlertingNode.open();
  const response = await node.sendJson('POST', '/manage/alerts', {
    name: 'Rule',
    when: {},
    to: [MAIL],
    ...fields,
  });
  expect(response.status).toBe(422);
  const problem = (await response.json()) as ProblemDocument;
  expect(problem.errors?.map((error) => error.path)).toContain(path);
});

test('a source that nobody watches is refused', async () => {
  const { node } = await AlertingNode.open();
  const when = { sources: ['so_00000000000000000000'] };
  const response = await node.sendJson('POST', '/manage/alerts', { name: 'Rule', when, to: [MAIL] });
  expect([response.status, ((await response.json()) as ProblemDocument).code]).toEqual([
    422,
    'unknown_source',
  ]);
});

test.for([
  'http://127.0.0.1:9/',
  'http://[::1]/',
  'http://192.168.1.1/',
  'http://printer.local/',
  'http://localhost/',
])('the private address %s is refused unless the owner allows it', async (url) => {
  const { node } = await AlertingNode.open();
  const send = (more: object, path = '/manage/alerts', method = 'POST') =>
    node.sendJson(method, path, { name: 'Rule', when: {}, to: [{ kind: 'webhook', url, ...more }] });
  const refused = await send({});
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'private_address', errors: [{ path: '/to/0/url' }] });
  const allowed = await send({ allow_private: true });
  expect(allowed.status).toBe(201);
  const { id } = (await allowed.json()) as Alert;
  expect((await send({}, `/manage/alerts/${id}`, 'PATCH')).status).toBe(422);
});

test('a name that resolves to a private address is refused', async () => {
  const lookup = async () => [{ address: '10.1.2.3', family: 4 }];
  const { node } = await AlertingNode.open({ network: { lookup } });
  const to = [{ kind: 'webhook', url: 'https://hooks.example.org/' }];
  const response = await node.sendJson('POST', '/manage/alerts', { name: 'Rule', when: {}, to });
  expect([response.status, ((await response.json()) as ProblemDocument).code]).toEqual([
    422,
    'private_address',
  ]);
});

test('a secret that the node makes is shown once, signs, and stays when the rule changes', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const target = { kind: 'webhook', url: receiver.url, allow_private: true };
  const alert = await alerting.alert({}, [target]);
  const [made] = alert.to;
  const secret = made?.kind === 'webhook' ? (made.secret ?? '') : '';
  expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32);
  const path = `/manage/alerts/${alert.id}`;
  const changed = await (await alerting.node.sendJson('PATCH', path, { to: [target] })).json();
  const read = await (await alerting.node.fetchAsOwner(path)).json();
  const listed = await (await alerting.node.fetchAsOwner('/manage/alerts')).text();
  expect(JSON.stringify([changed, read]) + listed).not.toContain(secret);
  await alerting.sendTest(alert.id);
  expect(receiver.calls.map((call) => isSigned(call, secret))).toEqual([true]);
});

test('secrets are kept in a file that only the owner reads, and are forgotten with the rule', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const alert = await alerting.alert({}, [receiver.target]);
  const file = join(alerting.node.dataFolder, 'alert-secrets');
  expect(await readFile(file, 'utf8')).toContain(SECRET);
  if (process.platform !== 'win32') expect((await stat(file)).mode & 0o777).toBe(0o600);
  await alerting.node.fetchAsOwner(`/manage/alerts/${alert.id}`, { method: 'DELETE' });
  expect(await readFile(file, 'utf8')).not.toContain(SECRET);
});

test('the password of the mail server is kept and never shown, and does not go to another server', async () => {
  const { node } = await AlertingNode.open();
  const smtp = {
    host: 'mail.example.org',
    port: 587,
    tls: 'starttls',
    user: 'keeper',
    from: 'a@example.org',
  };
  const change = async (next: object | null) => {
    const response = await node.sendJson('PATCH', '/manage/settings', { smtp: next });
    expect(response.status, await response.clone().text()).toBe(200);
    return ((await response.json()) as { smtp: object | null }).smtp;
  };
  const kept = await change({ ...smtp, password: 'never shown' });
  expect(kept).toEqual({ ...smtp, has_password: true });
  expect(await (await node.fetchAsOwner('/manage/settings')).json()).toMatchObject({ smtp: kept });
  const file = join(node.dataFolder, 'alert-secrets');
  expect(await readFile(file, 'utf8')).toContain('never shown');
  expect(await change({ ...kept, port: 465 })).toEqual({ ...smtp, port: 465, has_password: true });
  expect(await change({ ...smtp, host: 'other.example.org' })).toMatchObject({ has_password: false });
  expect(await readFile(file, 'utf8')).not.toContain('never shown');
  expect(await change(null)).toBeNull();
  const hostile = { ...smtp, from: 'a@example.org\r\nBcc: b@example.org' };
  expect((await node.sendJson('PATCH', '/manage/settings', { smtp: hostile })).status).toBe(422);
});
