import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { SMTPServerOptions } from 'smtp-server';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { LOOPBACK_CERTIFICATE, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { bodyOf, MailServer, PASSWORD, USER } from './mailServer.ts';
import { AlertingNode, closeAll } from './support.ts';
import { WebhookReceiver } from './webhookReceiver.ts';

const TRUSTED = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...TRUSTED, LOOPBACK_CERTIFICATE]));
afterAll(() => setDefaultCACertificates(TRUSTED));
afterEach(closeAll);

const TO = { kind: 'email', address: 'reader@example.org' };

async function nodeWithMail(server: MailServer, more: object = {}, config = {}): Promise<AlertingNode> {
  const alerting = await AlertingNode.open(config);
  await alerting.set({ smtp: server.settings(more) });
  return alerting;
}

test('a change is mailed in plain text with the diff and a link', async () => {
  const server = await MailServer.open();
  const alerting = await nodeWithMail(server);
  const web = await ScriptedWeb.open();
  web.script('/fees', page('<p>Die Gebühr ist 120 €.</p>'), page('<p>Die Gebühr ist 145 €.</p>'));
  await alerting.watch(web.url('/fees'), { name: 'Gebühren' });
  await alerting.check();
  await alerting.alert({ words: ['gebuhr', '145'] }, [TO]);
  await alerting.check();
  const [delivery] = await alerting.untilDelivered('sent');
  expect(server.mails).toHaveLength(1);
  const [mail] = server.mails;
  expect(mail).toMatchObject({ from: 'archive@example.org', to: ['reader@example.org'] });
  expect(mail?.text).toMatch(/^From: Archive <archive@example.org>\r$/m);
  expect(mail?.text).toContain(`Message-ID: <${delivery?.id}@example.org>`);
  expect(mail?.text).toMatch(/^Content-Type: text\/plain; charset=utf-8\r$/m);
  const [event] = await alerting.events('event_type=changed');
  const body = mail ? bodyOf(mail) : '';
  expect(body).toContain('− Die Gebühr ist 120 €.\r\n+ Die Gebühr ist 145 €.');
  expect(body).toContain(`${alerting.node.url}/timeline/${event?.id}`);
});

test.for([
  ['none', {}, false],
  ['starttls', {}, true],
  ['tls', { secure: true }, true],
] as const)('mail goes by tls: %s with a user name and a password', async ([tls, options, isEncrypted]) => {
  const server = await MailServer.open({ options });
  const alerting = await nodeWithMail(server, { host: 'localhost', tls, user: USER, password: PASSWORD });
  const alert = await alerting.alert({}, [TO]);
  expect(await alerting.sendTest(alert.id)).toMatchObject([{ state: 'sent', error: null }]);
  expect(server.mails).toMatchObject([{ user: USER, isEncrypted }]);
});

test('nothing is sent to a server that offers no STARTTLS although it is asked for', async () => {
  const server = await MailServer.open({ options: { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] } });
  const alerting = await nodeWithMail(server, { tls: 'starttls', user: USER, password: PASSWORD });
  const alert = await alerting.alert({}, [TO]);
  expect(await alerting.sendTest(alert.id)).toMatchObject([{ state: 'failed' }]);
  expect(server.mails).toEqual([]);
});

test('a certificate that nobody trusts is refused', async () => {
  setDefaultCACertificates(TRUSTED);
  try {
    const server = await MailServer.open({ options: { secure: true } });
    const alerting = await nodeWithMail(server, { host: 'localhost', tls: 'tls' });
    const alert = await alerting.alert({}, [TO]);
    expect(await alerting.sendTest(alert.id)).toMatchObject([{ state: 'failed' }]);
    expect(server.mails).toEqual([]);
  } finally {
    setDefaultCACertificates([...TRUSTED, LOOPBACK_CERTIFICATE]);
  }
});

// Gmail refuses the password of an account with 534.
test.for([535, 534, 550])(
  'a login refused with %i is tried again, and a right one in the settings sends at once what waits',
  async (responseCode) => {
    const clock = new ManualClock();
    const onAuth: SMTPServerOptions['onAuth'] = ({ username, password }, _session, done) =>
      password === PASSWORD
        ? done(null, { user: username })
        : done(Object.assign(new Error('Refused'), { responseCode }));
    const server = await MailServer.open({ options: { onAuth } });
    const alerting = await nodeWithMail(server, { user: USER, password: 'wrong' }, { clock });
    const web = await ScriptedWeb.open();
    web.script('/a', page('One'));
    await alerting.alert({}, [TO]);
    await alerting.watch(web.url('/a'));
    await alerting.check();
    const waiting = await eventually(async () => {
      const [found] = await alerting.deliveries();
      expect(found).toMatchObject({ state: 'waiting', attempts: 1 });
      return found;
    });
    expect(waiting?.error).toContain(String(responseCode));
    expect(waiting?.error).not.toContain('wrong');
    await alerting.set({ smtp: server.settings({ user: USER, password: PASSWORD }) });
    await alerting.untilDelivered('sent');
    expect(server.mails).toHaveLength(1);
  },
);

test('a recipient that the server refuses for good is not tried again', async () => {
  const onRecipient = () => {
    throw Object.assign(new Error('No such user here\u202e <b>'), { responseCode: 550 });
  };
  const server = await MailServer.open({ onRecipient });
  const alerting = await nodeWithMail(server);
  const alert = await alerting.alert({}, [TO]);
  const [delivery] = await alerting.sendTest(alert.id);
  expect(delivery?.state).toBe('failed');
  expect(delivery?.error).toContain('550');
  expect(delivery?.error).not.toContain('\u202e');
});

test('without a mail server, an alert waits for one', async () => {
  const server = await MailServer.open();
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  web.script('/a', page('One'));
  await alerting.alert({}, [TO]);
  await alerting.watch(web.url('/a'));
  await alerting.check();
  await eventually(async () =>
    expect((await alerting.deliveries())[0]?.error).toBe('There is no mail server. Set one in the settings.'),
  );
  await alerting.set({ smtp: server.settings() });
  await alerting.untilDelivered('sent');
});

test('a server that takes the text and never answers does not get it a second time', async () => {
  const server = await MailServer.open({ onText: () => new Promise(() => {}) });
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  web.script('/a', page('One'));
  await alerting.alert({}, [TO]);
  await alerting.watch(web.url('/a'));
  await alerting.check();
  await eventually(async () => expect(await alerting.deliveries()).toMatchObject([{ attempts: 1 }]));
  // The delivery waited for a mail server, so that the page was read without the short timeout.
  await alerting.set({ smtp: server.settings(), request_timeout_seconds: 0.5 });
  const [delivery] = await alerting.untilDelivered('failed');
  expect(delivery?.error).toContain('It may have arrived');
  expect(server.mails).toHaveLength(1);
});

test('a server that never greets is tried again', async () => {
  const silent = await ScriptedWeb.open();
  const alerting = await AlertingNode.open({}, { request_timeout_seconds: 0.2 });
  await alerting.set({ smtp: { host: '127.0.0.1', port: silent.port, tls: 'none', from: 'a@example.org' } });
  const alert = await alerting.alert({}, [TO]);
  expect(await alerting.sendTest(alert.id)).toMatchObject([{ state: 'failed', attempts: 1 }]);
});

test('what strangers wrote adds no header and nothing that a mail program interprets', async () => {
  const server = await MailServer.open();
  const alerting = await nodeWithMail(server);
  const web = await ScriptedWeb.open();
  const hostile = 'x\\r\\nBcc: victim@example.org';
  web.script(
    '/a',
    page('<p>One</p>'),
    page(`<p>Two &lt;script&gt;alert(1)&lt;/script&gt; ${'long '.repeat(50_000)}</p>\r\n.\r\nQUIT\r\n`),
  );
  await alerting.watch(web.url('/a'), { name: `${hostile}\u2028Cc: b@example.org` });
  await alerting.check();
  await alerting.alert({ event_types: ['changed'] }, [TO]);
  await alerting.check();
  await alerting.untilDelivered('sent');
  const [mail] = server.mails;
  const head = mail?.text.split('\r\n\r\n', 1)[0] ?? '';
  expect(head.split(/\r\n(?![ \t])/).map((line) => line.split(':', 1)[0]?.toLowerCase())).toEqual(
    expect.not.arrayContaining(['bcc', 'cc']),
  );
  expect(head).not.toContain('text/html');
  expect(mail?.to).toEqual(['reader@example.org']);
  expect(mail?.text.length).toBeLessThan(10_000);
});

test('a digest is sent at the full hour with all that was found until then', async () => {
  const clock = new ManualClock('2026-11-20T10:40:00.000Z');
  const server = await MailServer.open();
  const alerting = await nodeWithMail(server, {}, { clock });
  const web = await ScriptedWeb.open();
  for (const path of ['/a', '/b']) web.script(path, page(path));
  const receiver = await WebhookReceiver.open();
  await alerting.alert({}, [TO], { every: 'hourly' });
  await alerting.alert({}, [receiver.target]);
  const sources = [await alerting.watch(web.url('/a')), await alerting.watch(web.url('/b'))];
  for (const { id } of sources) await alerting.check([id]);
  // All rules are applied in one transaction: what was sent at once waits in the digest, too.
  await eventually(() => expect(receiver.calls).toHaveLength(2));
  expect(server.mails).toEqual([]);
  await alerting.node.close();
  // A digest is due at the full hour of local time. Some time zones are offset by half an hour.
  await clock.jump((60 - new Date(clock.now()).getMinutes()) * 60_000);
  const again = await AlertingNode.reopen({ dataFolder: alerting.node.dataFolder, clock });
  const [, , delivery] = await again.untilDelivered('sent', 'sent', 'sent');
  expect(delivery).toMatchObject({ count: 2, title: '2 alerts: Rule' });
  expect(server.mails).toHaveLength(1);
  const body = server.mails[0] ? bodyOf(server.mails[0]) : '';
  for (const { url } of sources) expect(body).toContain(`${url} was seen for the first time`);
});
