import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Delivery } from '../../shared/alerts/alert.ts';
import { closeMailServers, MailServer } from '../alerts/mailServer.ts';
import { dataOf } from '../alerts/support.ts';
import { closeReceivers, WebhookReceiver } from '../alerts/webhookReceiver.ts';
import { end, type ServedNode, serveNode } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

let running: ServedNode | undefined;
afterEach(async () => {
  if (running) await end(running, 'SIGKILL');
  running = undefined;
  closeReceivers();
  await closeMailServers();
  await closeScriptedWebs();
  await closeTestNodes();
});

async function start(folder: string): Promise<ServedNode> {
  running = await serveNode(folder);
  return running;
}

async function kill(node: ServedNode | undefined): Promise<void> {
  running = undefined;
  if (node) await end(node, 'SIGKILL');
}

/** Sends a request to a served node as its owner. */
async function asOwner<Body>(node: ServedNode, method: string, path: string, body?: unknown): Promise<Body> {
  const token = await readFile(node.token_file, 'utf8');
  const response = await fetch(new URL(path, node.url), {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true);
  return (await response.json()) as Body;
}

async function deliveries(node: ServedNode): Promise<Delivery[]> {
  return (await asOwner<{ items: Delivery[] }>(node, 'GET', '/manage/alerts/deliveries')).items;
}

/** A node with a rule for these targets, and sources that were never checked. */
async function nodeWithRule(folder: string, to: object[], smtp: object | null, sources: number) {
  const web = await ScriptedWeb.open();
  const node = await start(folder);
  await asOwner(node, 'PATCH', '/manage/settings', { per_host_pause_ms: 0, smtp });
  await asOwner(node, 'POST', '/manage/alerts', { name: 'Rule', when: {}, to });
  for (let number = 0; number < sources; number += 1) {
    web.script(`/${number}`, page(`page ${number}`));
    await asOwner(node, 'POST', '/manage/sources', { url: web.url(`/${number}`) });
  }
  return node;
}

test('a node killed while a mail server has the text and has not answered does not send it again, and says so', async () => {
  const folder = join(await temporaryFolder(), 'data');
  let killed: Promise<void> | undefined;
  const server = await MailServer.open({
    onText: async () => {
      killed ??= kill(running);
      await killed;
    },
  });
  const to = [{ kind: 'email', address: 'reader@example.org' }];
  const node = await nodeWithRule(folder, to, server.settings(), 1);
  await asOwner(node, 'POST', '/manage/collections', {});
  await eventually(() => expect(killed).toBeDefined());
  await killed;
  const again = await start(folder);
  const [delivery] = await deliveries(again);
  expect(delivery).toMatchObject({ state: 'failed', sent_at: null });
  expect(delivery?.error).toContain('It may have arrived');
  expect(server.mails).toHaveLength(1);
  await asOwner(again, 'POST', `/manage/alerts/deliveries/${delivery?.id}/retry`, {});
  await eventually(() => expect(server.mails).toHaveLength(2));
});

test('a node killed while a webhook is called calls it again with the same id', async () => {
  const folder = join(await temporaryFolder(), 'data');
  let killed: Promise<void> | undefined;
  const receiver = await WebhookReceiver.open(() => {
    killed ??= kill(running);
  }, 204);
  const node = await nodeWithRule(folder, [receiver.target], null, 1);
  await asOwner(node, 'POST', '/manage/collections', {});
  await eventually(() => expect(killed).toBeDefined());
  await killed;
  const again = await start(folder);
  await eventually(async () => expect(await deliveries(again)).toMatchObject([{ state: 'sent' }]));
  expect(receiver.calls).toHaveLength(2);
  expect(new Set(receiver.calls.map(({ id }) => id)).size).toBe(1);
  expect(new Set(receiver.calls.map(({ body }) => body)).size).toBe(1);
});

test('killing a node again and again loses no alert and makes none twice', async () => {
  const SOURCES = 16;
  const folder = join(await temporaryFolder(), 'data');
  const receiver = await WebhookReceiver.open();
  let node = await nodeWithRule(folder, [receiver.target], null, SOURCES);
  for (const at of [1, 4, 9]) {
    const collecting = asOwner(node, 'POST', '/manage/collections', {}).catch(() => undefined);
    await collecting;
    await eventually(() => expect(receiver.calls.length).toBeGreaterThanOrEqual(at));
    await kill(node);
    node = await start(folder);
  }
  await asOwner(node, 'POST', '/manage/collections?wait=true', {});
  const sent = () =>
    receiver.calls.flatMap((call) => dataOf(call).alerts.map(({ event }) => ({ id: call.id, event })));
  await eventually(() => expect(new Set(sent().map(({ event }) => event)).size).toBe(SOURCES));
  await eventually(async () =>
    expect((await deliveries(node)).every(({ state }) => state === 'sent')).toBe(true),
  );
  // Each event was sent under one id only.
  expect(new Set(sent().map(({ id, event }) => `${id} ${event}`)).size).toBe(SOURCES);
});
