import { afterEach, describe, expect, test } from 'vitest';
import type { NodeConfig } from '../../server/config.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { type RawResponse, rawRequest } from '../support/network/rawRequest.ts';
import { closeTlsProxies, type Rewrite, TlsProxy } from '../support/network/tlsProxy.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { asSend, createPageKey, openLink, prove } from '../support/ownerPage.ts';
import { runHere } from '../support/runHere.ts';

const NAME = 'archive.example';
const PUBLIC = `https://${NAME}`;

afterEach(async () => {
  closeTlsProxies();
  await closeTestNodes();
});

async function openBehindProxy(rewrite?: Rewrite, config: Partial<NodeConfig> = {}) {
  const node = await openTestNode({ publicUrl: PUBLIC, clock: new ManualClock(), ...config });
  return { node, proxy: await TlsProxy.open(NAME, node.url, rewrite) };
}

function codeOf({ body }: RawResponse): unknown {
  return (JSON.parse(body) as { code: unknown }).code;
}

async function share(node: TestNode, mode: string, require_invitation = false): Promise<void> {
  const answer = await node.sendJson('PUT', '/manage/sharing', { mode, require_invitation });
  expect(answer.status).toBe(200);
}

/** Signs a page of the public origin in through the proxy. `door` is the cookie that only opens the interface. */
async function signIn(node: TestNode, proxy: TlsProxy) {
  const send = asSend((path, init) => proxy.ask(path, init));
  const { code, cookie: set } = await openLink(send, node.createSignInLink());
  const door = set.split(';', 1)[0] ?? '';
  const page = await prove(send, {
    key: createPageKey(),
    origin: PUBLIC,
    headers: { Origin: PUBLIC, Cookie: door },
    code,
  });
  return { ...page, set, door, send };
}

const JSON_BODY = { 'Content-Type': 'application/json' };

describe('a node behind a proxy that terminates TLS (contract-2, section 7)', () => {
  test('the owner signs a page of the public origin in, which alone can write', async () => {
    const { node, proxy } = await openBehindProxy();
    const { set, door, headers: own, key, send } = await signIn(node, proxy);
    for (const flag of [/; Secure/, /; HttpOnly/, /; SameSite=Lax/, /; Path=\//]) expect(set).toMatch(flag);
    expect(set).toMatch(/^__Host-/);
    expect(set).not.toContain('Domain');
    const session = await proxy.ask('/api/session', { headers: own });
    expect(JSON.parse(session.body)).toMatchObject({ owner: true });
    // The cookie opens the program of the interface, which then proves its key, and no data.
    const opened = async (path: string) => (await proxy.ask(path, { headers: { Cookie: door } })).status;
    expect(await opened('/api/session/challenge')).toBe(200);
    // 503 where the interface was not built.
    for (const path of ['/', '/packs']) expect(await opened(path), path).toBeOneOf([200, 503]);
    for (const path of ['/api/session', '/api/stats', '/api/packs', '/manage/settings', '/archive/pages'])
      expect(await opened(path), path).toBe(403);
    // A page at another address of the node is another page.
    const sent = { Origin: PUBLIC, Cookie: door };
    await prove(send, { key, origin: PUBLIC, headers: sent });
    await expect(prove(node, { key, origin: node.url })).rejects.toThrow('401');

    const patch = (origin: string) =>
      proxy.ask('/manage/settings', {
        method: 'PATCH',
        headers: { ...JSON_BODY, ...own, Origin: origin },
        body: '{}',
      });
    expect((await patch(PUBLIC)).status).toBe(200);
    for (const origin of ['https://evil.example', `http://${NAME}`, `${PUBLIC}:444`, 'null', node.url]) {
      const refused = await patch(origin);
      expect([refused.status, codeOf(refused)], origin).toEqual([403, 'foreign_origin']);
    }
    expect((await node.fetch(node.createSignInLink())).headers.get('Set-Cookie')).toBeNull();
  });

  test('clients of the proxy are not local: they cannot read while the node is not shared', async () => {
    const { node, proxy } = await openBehindProxy();
    for (const path of ['/', '/api/stats', '/manage/settings', '/api/docs']) {
      const refused = await proxy.ask(path);
      expect([refused.status, codeOf(refused)], path).toEqual([403, 'not_shared']);
    }
    expect((await proxy.ask('/api/health')).status).toBe(200);
    expect((await node.fetch('/api/stats')).status).toBe(200);
    await share(node, 'read');
    expect((await proxy.ask('/api/stats')).status).toBe(200);
    const manage = await proxy.ask('/manage/settings');
    expect([manage.status, codeOf(manage)]).toEqual([403, 'not_shared']);
  });

  test('nor are they if the proxy sets its own Host and only forwards the client’s address', async () => {
    const { node, proxy } = await openBehindProxy((headers, client) => {
      headers.host = '127.0.0.1';
      headers.forwarded = `for="${client}";proto=https`;
    });
    expect((await proxy.ask('/api/stats')).status).toBe(403);
    const { set, headers } = await signIn(node, proxy);
    expect(set).toContain('; Secure');
    const own = { ...JSON_BODY, ...headers, Origin: PUBLIC };
    expect((await proxy.ask('/manage/settings', { method: 'PATCH', headers: own, body: '{}' })).status).toBe(
      200,
    );
  });

  test('limits by address use the last hop that the proxy reports, not what the visitor sends', async () => {
    const { node, proxy } = await openBehindProxy();
    await node.sendJson('PATCH', '/manage/settings', { ip_writes_per_hour: 1, min_free_disk_gb: 0 });
    await share(node, 'contribute');
    let made = 0;
    const write = async (headers: Record<string, string> = {}) => {
      made += 1;
      const body = JSON.stringify({ path: `n${made}`, title: 'A node' });
      return (await proxy.ask('/api/nodes', { method: 'POST', headers: { ...JSON_BODY, ...headers }, body }))
        .status;
    };
    expect([await write(), await write()]).toEqual([201, 429]);
    expect(await write({ 'X-Forwarded-For': '198.51.100.1' })).toBe(429);
    // If the two headers differ, the visitor sent one of them. Both then count for the proxy, which has one write per hour.
    expect(await write({ Forwarded: 'for=198.51.100.2' })).toBe(201);
    expect(await write({ Forwarded: 'for=198.51.100.3' })).toBe(429);
    proxy.client = '203.0.113.8';
    expect([await write(), await write()]).toEqual([201, 429]);
    proxy.client = '[2001:db8:1:2::1]:4711';
    expect(await write()).toBe(201);
    proxy.client = '2001:db8:1:2::9';
    expect(await write()).toBe(429);
  });

  test('an idle connection is kept for longer than proxies use it', async () => {
    const { node } = await openBehindProxy();
    const { headers } = await rawRequest(`${node.url}/api/health`, { headers: { Connection: 'keep-alive' } });
    expect(headers['keep-alive']).toBe('timeout=65');
  });

  test('without a public address all such headers are ignored', async () => {
    const node = await openTestNode({ clock: new ManualClock() });
    await node.sendJson('PATCH', '/manage/settings', { ip_writes_per_hour: 1, min_free_disk_gb: 0 });
    await share(node, 'contribute');
    const statuses = [];
    for (const client of ['203.0.113.1', '203.0.113.2']) {
      const body = JSON.stringify({ path: `n${client.slice(-1)}`, title: 'A node' });
      const headers = { ...JSON_BODY, 'X-Forwarded-For': client, Forwarded: `for=${client}` };
      statuses.push((await node.fetch('/api/nodes', { method: 'POST', headers, body })).status);
    }
    expect(statuses).toEqual([201, 429]);
  });

  test('links in responses use the public address for requests to it, and the local one otherwise', async () => {
    const { node, proxy } = await openBehindProxy();
    await share(node, 'read');
    const { id } = await uploadNewPack(node);
    const path = `/api/items/${id}/cite`;
    expect(JSON.parse((await proxy.ask(path)).body)).toMatchObject({
      url: expect.stringMatching(`^${PUBLIC}/`) as string,
    });
    expect(await (await node.fetch(path)).json()).toMatchObject({
      url: expect.stringMatching(`^${node.url}/`) as string,
    });
    expect((await proxy.ask('/api/events.atom')).body).toContain(`href="${PUBLIC}/timeline"`);
    expect((await proxy.ask('/api/docs')).body).toContain(PUBLIC);
    const links = await node.fetchAsOwner('/manage/sign-in-links', { method: 'POST' });
    const { url, public_url } = (await links.json()) as { url: string; public_url: string };
    expect([url.startsWith(node.url), public_url]).toEqual([true, PUBLIC + new URL(url).pathname]);
    const { addresses } = (await (await node.fetchAsOwner('/manage/addresses')).json()) as {
      addresses: { url: string }[];
    };
    expect(addresses[0]).toEqual({ url: PUBLIC, address: NAME, interface: 'public address' });
  });

  test('an invitation entered there is stored in a Secure cookie', async () => {
    const { node, proxy } = await openBehindProxy();
    await share(node, 'contribute', true);
    const invited = await node.fetchAsOwner('/manage/invitations', { method: 'POST' });
    const { token } = (await invited.json()) as { token: string };
    const entered = await proxy.ask('/invitation', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: PUBLIC },
      body: new URLSearchParams({ token }).toString(),
    });
    expect([entered.status, String(entered.headers['set-cookie'])]).toEqual([
      204,
      expect.stringMatching(/^__Host-strongroom-.*; Secure/),
    ]);
  });

  test('the setting has the same effect without a restart, and must be an origin', async () => {
    const node = await openTestNode();
    const statusAt = async (host: string) =>
      (await rawRequest(`${node.url}/api/health`, { headers: { Host: host } })).status;
    expect(await statusAt(NAME)).toBe(421);
    for (const public_url of [
      `${PUBLIC}/path`,
      `${PUBLIC}?q`,
      'https://a:b@x.example',
      'ftp://x.example',
      'x',
    ]) {
      const refused = await problemOf(node.sendJson('PATCH', '/manage/settings', { public_url }));
      expect(refused, public_url).toMatchObject({ status: 422, code: 'invalid_field' });
      expect(refused.errors).toEqual([
        {
          path: '/public_url',
          message: 'Give the scheme, host and port only, as in https://archive.example.',
        },
      ]);
    }
    const trusted = await problemOf(node.sendJson('PATCH', '/manage/settings', { trusted_proxy: 'proxy' }));
    expect(trusted).toMatchObject({ status: 422, code: 'invalid_field' });
    await node.sendJson('PATCH', '/manage/settings', { public_url: PUBLIC });
    expect([await statusAt(NAME), await statusAt('other.example')]).toEqual([200, 421]);
    await node.sendJson('PATCH', '/manage/settings', { public_url: '' });
    expect(await statusAt(NAME)).toBe(421);
  });

  test('serve refuses a public address that is not an origin, with exit code 2 and a sentence', async () => {
    const { code, stderr } = await runHere(['serve', '--public-url', `${PUBLIC}/path`]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('Give the scheme, host and port only') as string,
    ]);
  });
});
