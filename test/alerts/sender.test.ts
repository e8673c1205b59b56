import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { addRule, changeRule } from '../../server/alerts/alerts.ts';
import { AlertSecrets } from '../../server/alerts/secrets.ts';
import { Sender, type SenderServices } from '../../server/alerts/sending/sender.ts';
import type { Network } from '../../server/collection/fetch/requester.ts';
import { createLog } from '../../server/runtime/log.ts';
import {
  deliveryById,
  insertDelivery,
  type NewDelivery,
  ruleById,
  setMessage,
} from '../../server/store/sqlite/node/alerts.ts';
import type { Store } from '../../server/store/store.ts';
import { releaseNow } from '../../server/withholding/release.ts';
import type { AlertMessage, AlertTarget } from '../../shared/alerts/alert.ts';
import type { Diff } from '../../shared/collection/diff.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';
import { closeMailServers, MailServer } from './mailServer.ts';
import { AlertingNode } from './support.ts';

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-sender-'));
  store = await openTestStore(folder);
});
afterEach(async () => {
  await closeTestStores();
  await closeTestNodes();
  await closeScriptedWebs();
  await closeMailServers();
  await rm(folder, { recursive: true });
});

const webhook = (name: string): AlertTarget & { kind: 'webhook' } => ({
  kind: 'webhook',
  url: `http://127.0.0.1/${name}`,
  allow_private: true,
});

const idOf = (name: string | number) => `de_${String(name).padStart(20, '0')}`;

async function queue(id: string, target: AlertTarget, notices: NewDelivery['notices'] = []): Promise<void> {
  const at = store.instant();
  const delivery: NewDelivery = {
    id,
    rule: `al_${'0'.repeat(20)}`,
    rule_name: 'Rule',
    target,
    notices,
    count: 1,
    state: 'waiting',
    test: false,
    created_at: at,
    due_at: at,
    gives_up_at: '2999-01-01T00:00:00.000Z',
  };
  await store.write((database) => {
    insertDelivery(database, delivery);
    if (notices.length === 0) setMessage(database, id, { title: 'Title', alerts: [], count: 1 } as never);
  });
}

function senderWith(services: Partial<SenderServices>): Sender {
  return new Sender({
    store,
    settings: () => ({ smtp: null, request_timeout_seconds: 5 }) as never,
    reader: {} as never,
    secrets: {} as never,
    post: {} as never,
    log: createLog('silent'),
    origin: () => 'http://127.0.0.1',
    desktop: () => undefined,
    write: store.write,
    ...services,
  });
}

test('a message behind a hundred to a silent target is sent at once, not a minute later', async () => {
  for (let number = 0; number < 100; number += 1) await queue(idOf(number), webhook('silent'));
  await queue(idOf('a'), webhook('other'));
  const called: string[] = [];
  const sender = senderWith({
    secrets: {
      webhookSecret: (_rule: string, url: string) => {
        called.push(new URL(url).pathname);
        return new Promise(() => {});
      },
    } as never,
  });
  const { signal } = new AbortController();
  expect(await sender.poll(signal, () => {})).toBeLessThan(1_000);
  await sender.poll(signal, () => {});
  await expect.poll(() => called).toEqual(['/silent', '/other']);
});

test('mail that was cut off before its text is sent after the next start', async () => {
  const server = await MailServer.open();
  const stopping = new AbortController();
  await queue(idOf(1), { kind: 'email', address: 'reader@example.org' });
  const stateOf = () => deliveryById(store.read, idOf(1))?.state;
  const sender = senderWith({
    settings: () => ({ smtp: server.settings(), request_timeout_seconds: 5 }) as never,
    write: async (change) => {
      const result = await store.write(change);
      if (stateOf() === 'sending') stopping.abort();
      return result;
    },
  });
  const delivery = deliveryById(store.read, idOf(1));
  if (delivery) await sender.deliver(delivery, stopping.signal);
  expect(stopping.signal.aborted).toBe(true);
  expect(server.mails).toEqual([]);
  expect(stateOf()).toBe('waiting');
});

/** Adds a rule with one webhook, and returns its id and what changes it. */
async function addWebhookRule(secrets: AlertSecrets) {
  const services = { store, secrets, network: {} as Network };
  const to = (name: string) => [{ ...webhook(name), secret: secretOf(name) }] as never;
  const rule = { name: 'Rule', when: {}, to: to('old'), every: 'at_once', paused: false };
  const { id } = await addRule(services, rule as never);
  const change = (name: string, write: Store['write'] = store.write) =>
    changeRule({ ...services, store: { ...store, write } } as never, id, { to: to(name) });
  return { id, change };
}

const secretOf = (name: string) => `whsec_${Buffer.from(name).toString('base64')}`;

test('of two changes of a rule at once, the secrets are those of the one that came last', async () => {
  const secrets = new AlertSecrets(folder);
  const { id, change } = await addWebhookRule(secrets);
  let second: Promise<unknown> | undefined;
  const first = change('first', async (write) => {
    const written = await store.write(write);
    second = change('second');
    // The other change would end during these writes if it did not wait.
    for (let round = 0; round < 30; round += 1) await secrets.setSmtpPassword(`${round}`);
    return written;
  });
  await first;
  await second;
  expect(ruleById(store.read, id)?.to).toEqual([webhook('second')]);
  expect(await secrets.webhookSecret(id, webhook('second').url)).toBe(secretOf('second'));
  expect(await secrets.webhookSecret(id, webhook('first').url)).toBeUndefined();
});

test('a rule that was stored keeps its secrets if the old ones cannot be deleted', async () => {
  const secrets = new AlertSecrets(folder);
  const { id, change } = await addWebhookRule(secrets);
  const set = vi.spyOn(secrets, 'setWebhookSecrets');
  const changed = change('new', async (write) => {
    const written = await store.write(write);
    set.mockRejectedValueOnce(new Error('disk full'));
    return written;
  });
  await expect(changed).rejects.toThrow('disk full');
  expect(ruleById(store.read, id)?.to).toEqual([webhook('new')]);
  expect(await secrets.webhookSecret(id, webhook('new').url)).toBe(secretOf('new'));
});

test('a change of a rule that could not be stored leaves its secrets as they were', async () => {
  const secrets = new AlertSecrets(folder);
  const { id, change } = await addWebhookRule(secrets);
  const failing = () => Promise.reject(new Error('disk full'));
  await expect(change('new', failing)).rejects.toThrow('disk full');
  expect(await secrets.webhookSecret(id, webhook('old').url)).toBe(secretOf('old'));
  expect(await secrets.webhookSecret(id, webhook('new').url)).toBeUndefined();
  await change('new');
  expect(await secrets.webhookSecret(id, webhook('old').url)).toBeUndefined();
  expect(await secrets.webhookSecret(id, webhook('new').url)).toBe(secretOf('new'));
});

test('a message whose bytes are released while it is composed keeps and says none of their words', async () => {
  const [web, alerting] = [await ScriptedWeb.open(), await AlertingNode.open()];
  web.script('/diary', page('<p>Quibblesome today.</p>'), page('<p>Frangipane today.</p>'));
  await alerting.watch(web.url('/diary'), { name: 'Diary' });
  for (let round = 0; round < 2; round += 1) await alerting.check();
  const [event] = await alerting.events('event_type=changed');
  const comparison = await alerting.read<Diff>(`/api/events/${event?.id}/diff`);
  const { dataFolder } = alerting.node;
  await alerting.node.close();
  store = await openTestStore(dataFolder);
  const at = store.instant();
  const notice = {
    kind: 'changed',
    at,
    event: event?.id ?? 0,
    title: null,
    text: null,
    path: '/',
    source: null,
  };
  await queue(idOf('a'), { kind: 'desktop' }, [notice as never]);
  const shown: AlertMessage[] = [];
  let isReleased = false;
  const sender = senderWith({
    reader: { comparisonOf: async () => comparison } as never,
    desktop: () => (message) => void shown.push(message),
    write: async (work) => {
      if (!isReleased)
        await store.write((database) =>
          releaseNow(database, { sha256: event?.sha256 ?? '', reason: 'owner', note: null }, at),
        );
      isReleased = true;
      return store.write(work);
    },
  });
  const delivery = deliveryById(store.read, idOf('a'));
  if (!delivery) throw new Error('It was not queued.');
  await sender.deliver(delivery, new AbortController().signal);
  expect(shown).toMatchObject([{ title: 'Diary has changed', alerts: [{ diff: [] }] }]);
  const kept = deliveryById(store.read, idOf('a'))?.message;
  expect(kept).toMatchObject({ title: 'Diary has changed' });
  expect(JSON.stringify([shown, kept])).not.toMatch(/frangipane|quibblesome/i);
});
