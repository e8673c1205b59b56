import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { authorize, mayContribute, type Visitor } from '../../server/http/security/access.ts';
import type { Sharing } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import type { Access } from '../../shared/routes/route.ts';
import { problemOf } from '../support/archive/packs.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import { contribute, invite, share, withToken } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { requireNetwork } from '../support/requirements.ts';

const blockers: Server[] = [];

afterEach(async () => {
  await closeTestNodes();
  for (const server of blockers.splice(0)) server.close();
});

/** A non-loopback address of this machine. Requests from there count as visitors from the network. */
const LAN = Object.values(networkInterfaces())
  .flat()
  .find((found) => found && !found.internal && found.family === 'IPv4')?.address;

function onLan(node: TestNode, path = ''): string {
  const url = new URL(path, node.url);
  url.hostname = LAN ?? '';
  return url.href;
}

describe('access control by the client’s address (contract, section 4)', () => {
  const visitor: Visitor = {
    owner: false,
    loopback: true,
    address: '127.0.0.1',
    session: undefined,
    invitation: undefined,
    wrongToken: false,
  };
  const fromNetwork = { ...visitor, loopback: false, address: '192.0.2.9' };
  const invited = { ...fromNetwork, invitation: 'in_1' };
  const off: Sharing = { mode: 'off', require_invitation: false };
  const read: Sharing = { mode: 'read', require_invitation: false };
  const all: Sharing = { mode: 'contribute', require_invitation: false };
  const asked: Sharing = { mode: 'contribute', require_invitation: true };

  test.each([
    ['open', fromNetwork, off, undefined],
    ['read', visitor, off, undefined],
    ['read', fromNetwork, off, 'not_shared'],
    ['contribute', fromNetwork, off, 'not_shared'],
    ['contribute', visitor, off, 'owner_required'],
    ['owner', fromNetwork, off, 'not_shared'],
    ['read', fromNetwork, read, undefined],
    ['contribute', fromNetwork, read, 'not_shared'],
    ['contribute', visitor, read, 'owner_required'],
    ['contribute', fromNetwork, all, undefined],
    ['contribute', visitor, all, undefined],
    ['contribute', fromNetwork, asked, 'invitation_required'],
    ['contribute', visitor, asked, 'invitation_required'],
    ['contribute', invited, asked, undefined],
    ['contribute', invited, read, 'not_shared'],
    ['owner', invited, asked, 'not_shared'],
    ['owner', visitor, all, 'owner_required'],
    ['read', { ...visitor, wrongToken: true }, all, 'owner_required'],
    ['contribute', { ...visitor, wrongToken: true }, all, 'owner_required'],
    ['owner', { ...fromNetwork, owner: true }, off, undefined],
  ] as [Access, Visitor, Sharing, string | undefined][])(
    '%s for %o while %o: %s',
    (access, who, sharing, code) => {
      const attempt = () => authorize(access, who, sharing);
      if (code === undefined) expect(attempt).not.toThrow();
      else expect(attempt).toThrow(expect.objectContaining({ constructor: Problem, code }) as Problem);
      if (access === 'contribute' && !who.wrongToken)
        expect(mayContribute(who, sharing)).toBe(code === undefined);
    },
  );
});

describe('whether an invitation is required (contract, section 23)', () => {
  async function change(node: TestNode, body: object): Promise<unknown> {
    return (await node.sendJson('PUT', '/manage/sharing', body)).json();
  }

  test('turning contributions on requires an invitation unless the owner says otherwise', async () => {
    const node = await openTestNode();
    const invited = { mode: 'contribute', require_invitation: true };
    const anyone = { mode: 'contribute', require_invitation: false };
    expect(await change(node, { mode: 'contribute' })).toEqual(invited);
    expect(await (await node.fetchAsOwner('/manage/sharing')).json()).toEqual(invited);
    expect(await problemOf(await contribute(node))).toMatchObject({ code: 'invitation_required' });
    expect((await contribute(node, (await invite(node)).token)).status).toBe(201);

    expect(await change(node, anyone)).toEqual(anyone);
    expect((await contribute(node)).status).toBe(201);
    expect(await change(node, { mode: 'contribute' }), 'already on').toEqual(anyone);

    expect(await change(node, { mode: 'read' })).toMatchObject({ mode: 'read' });
    expect(await change(node, { mode: 'contribute' }), 'on again').toEqual(invited);
  });
});

describe('the network (contract, section 4)', () => {
  beforeEach(({ skip }) => {
    requireNetwork(LAN, skip);
  });

  test('a new node listens only on loopback; sharing opens it without a restart, and unsharing closes it', async () => {
    const node = await openTestNode();
    await expect(fetch(onLan(node, '/api/health'))).rejects.toThrow();
    expect(await (await node.fetchAsOwner('/manage/addresses')).json()).toEqual({ addresses: [] });

    await share(node, 'read');
    expect((await fetch(onLan(node, '/api/stats'))).status).toBe(200);
    expect((await contribute(node, undefined, onLan(node))).status).toBe(403);
    expect((await fetch(onLan(node, '/manage/settings'))).status).toBe(403);
    expect((await fetch(onLan(node, '/manage/settings'), withToken(node.token))).status).toBe(200);
    const { addresses } = (await (await node.fetchAsOwner('/manage/addresses')).json()) as {
      addresses: { url: string }[];
    };
    expect(addresses.map(({ url }) => url)).toContain(onLan(node).replace(/\/$/, ''));
    for (const { url } of addresses) expect((await fetch(`${url}/api/health`)).status, url).toBe(200);

    await share(node, 'off');
    await expect(fetch(onLan(node, '/api/health'))).rejects.toThrow();
    expect((await node.fetch('/api/stats')).status).toBe(200);
    await share(node, 'contribute');
    expect((await contribute(node, undefined, onLan(node))).status).toBe(201);
  });

  test('sharing survives a restart', async () => {
    const node = await openTestNode();
    await share(node, 'read', true);
    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder });
    expect(await (await again.fetchAsOwner('/manage/sharing')).json()).toEqual({
      mode: 'read',
      require_invitation: true,
    });
    expect((await fetch(onLan(again, '/api/stats'))).status).toBe(200);
  });

  test('a shared node accepts the machine’s own names and addresses, and no others', async () => {
    const node = await openTestNode();
    const statusFor = async (host: string) =>
      (await rawRequest(`${node.url}/api/health`, { headers: { Host: host } })).status;
    expect(await statusFor(LAN ?? '')).toBe(421);
    await share(node, 'read');
    expect(await statusFor(LAN ?? '')).toBe(200);
    for (const host of ['evil.example', '10.255.255.1', `${LAN}.evil.example`])
      expect(await statusFor(host), host).toBe(421);
    await share(node, 'off');
    expect(await statusFor(LAN ?? '')).toBe(421);
  });

  test('if the port is in use on the network, sharing is refused and nothing changes', async () => {
    const node = await openTestNode();
    const blocker = createServer().listen(Number(new URL(node.url).port), LAN);
    blockers.push(blocker);
    await once(blocker, 'listening');
    const refused = await node.sendJson('PUT', '/manage/sharing', {
      mode: 'read',
      require_invitation: false,
    });
    expect(await problemOf(refused)).toMatchObject({ status: 409, code: 'port_taken' });
    expect(await (await node.fetchAsOwner('/manage/sharing')).json()).toMatchObject({ mode: 'off' });
    expect(await (await node.fetchAsOwner('/manage/addresses')).json()).toEqual({ addresses: [] });
  });

  test('on a node that listens on the network but is not shared, visitors only learn that it is running', async () => {
    const node = await openTestNode({ host: '0.0.0.0' });
    expect((await fetch(onLan(node, '/api/health'))).status).toBe(200);
    for (const path of ['/', '/api/stats', '/api/session', '/api/nope', '/packs', '/manage/settings']) {
      const refused = await fetch(onLan(node, path));
      expect(await problemOf(refused), path).toMatchObject({ status: 403, code: 'not_shared' });
    }
    expect((await fetch(onLan(node, '/api/packs'), { method: 'OPTIONS' })).status).toBe(403);
    expect((await fetch(onLan(node, '/manage/settings'), withToken(node.token))).status).toBe(200);
    const link = new URL(node.createSignInLink()).pathname;
    expect((await fetch(onLan(node, link), { redirect: 'manual' })).status).toBe(303);
    await share(node, 'read');
    expect((await fetch(onLan(node, '/api/stats'))).status).toBe(200);
  });

  test('a visitor’s stream ends when sharing ends', async () => {
    const node = await openTestNode();
    await share(node, 'read');
    const stream = await fetch(onLan(node, '/api/events/stream'));
    const reader = stream.body?.getReader();
    await reader?.read();
    await share(node, 'off');
    await expect(async () => {
      while (!(await reader?.read())?.done);
    }).rejects.toThrow();
  });
});
