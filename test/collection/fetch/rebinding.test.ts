import { isIPv6, type Socket } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isPrivateAddress } from '../../../server/collection/fetch/connect.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

/** Whether a source may be at a private address is decided when it is added, not when its name is resolved later. */

const PUBLIC = '127.0.0.2';
const PRIVATE = '127.0.0.1';
/** The current addresses of each name. */
let names: Record<string, string[]>;
let dataFolder: string;
let web: ScriptedWeb;
let inside: ScriptedWeb;
let node: CollectingNode;

const network = {
  lookup: async (hostname: string) => {
    const addresses = names[hostname];
    if (!addresses) throw Object.assign(new Error('No such name.'), { code: 'ENOTFOUND' });
    return addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  },
  isPrivateAddress: (address: string) => address !== PUBLIC && isPrivateAddress(address),
};

/** Opens a server at both addresses with the same port. A port that is free at one of them may be taken at the other. */
async function openBothWebs(): Promise<void> {
  for (;;) {
    web = await ScriptedWeb.open({ host: PUBLIC });
    try {
      inside = await ScriptedWeb.open({ host: PRIVATE, port: web.port });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
    await closeScriptedWebs();
  }
}

beforeEach(async () => {
  names = {};
  dataFolder = join(await temporaryFolder(), 'data');
  await openBothWebs();
  for (const each of [web, inside]) each.script('/page', page(each === web ? 'public' : 'secret'));
  node = await openCollectingNode({}, { dataFolder, network });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const watched = (host: string) => node.watch(web.url('/page', host), { ignore_robots: true });

async function checkOnce(id: string) {
  await node.check([id]);
  return (await node.retrievals(id)).at(-1);
}

const REFUSED = { error: 'redirect_refused', status: null, sha256: null };

describe('a public name that later resolves to a private address is refused', () => {
  test('without a request to that address', async () => {
    names['rebound.test'] = [PUBLIC];
    const { id, allow_private } = await watched('rebound.test');
    expect(allow_private).toBe(false);
    expect(await checkOnce(id)).toMatchObject({ error: null, bytes: 6 });
    for (const address of [PRIVATE, '0.0.0.0', '::1', '::ffff:127.0.0.1', '169.254.1.1']) {
      names['rebound.test'] = [address];
      expect(await checkOnce(id)).toMatchObject(REFUSED);
    }
    expect(inside.requests('/page')).toEqual([]);
    expect((await node.status()).failing).toMatchObject([{ error: 'redirect_refused', consecutive: 5 }]);
  });

  test('for robots.txt too', async () => {
    names['rebound.test'] = [PUBLIC];
    const { id } = await node.watch(web.url('/page', 'rebound.test'));
    names['rebound.test'] = [PRIVATE];
    expect(await checkOnce(id)).toMatchObject(REFUSED);
    expect(inside.requests('/robots.txt')).toEqual([]);
  });

  test('unless it also has a public address, which is used', async () => {
    names['both.test'] = [PRIVATE, PUBLIC];
    const { id, allow_private } = await watched('both.test');
    expect(allow_private).toBe(false);
    expect(await checkOnce(id)).toMatchObject({ error: null, bytes: 6 });
    expect(inside.requests('/page')).toEqual([]);
  });

  test('also if it could not be resolved when it was added', async () => {
    const { id, allow_private } = await watched('later.test');
    expect(allow_private).toBe(false);
    names['later.test'] = [PRIVATE];
    expect(await checkOnce(id)).toMatchObject(REFUSED);
  });

  test('also as the target of a redirect', async () => {
    names['outside.test'] = [PUBLIC];
    names['other.test'] = [PRIVATE];
    const { id } = await watched('outside.test');
    web.script('/page', redirect(web.url('/page', 'other.test')));
    expect(await checkOnce(id)).toMatchObject({
      error: 'redirect_refused',
      final_url: web.url('/page', 'other.test'),
    });
    expect(inside.requests('/page')).toEqual([]);
  });

  test('also over an idle connection of another source with the same name', async () => {
    const keptOpen = (body: string) => (socket: Socket) =>
      void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    names['rebound.test'] = [PUBLIC];
    const publicOne = await node.watch(web.url('/public', 'rebound.test'), { ignore_robots: true });
    names['rebound.test'] = [PRIVATE];
    const privateOne = await node.watch(web.url('/private', 'rebound.test'), { ignore_robots: true });
    inside.script('/private', keptOpen('open'));
    inside.script('/public', keptOpen('open'));
    await node.set({ per_host_concurrency: 1 });
    expect(await node.check([privateOne.id, publicOne.id])).toMatchObject({ changed: 1, failed: 1 });
    expect((await node.retrievals(publicOne.id)).at(-1)).toMatchObject(REFUSED);
    expect(inside.requests('/public')).toEqual([]);
  });
});

describe('a name that resolved to a private address when it was added', () => {
  test('may resolve to a private address later', async () => {
    names['intranet.test'] = [PRIVATE];
    const { id, allow_private } = await watched('intranet.test');
    expect(allow_private).toBe(true);
    expect(await checkOnce(id)).toMatchObject({ error: null });
    expect(inside.requests('/page')).toHaveLength(1);
  });

  test('may not redirect to a private address once it resolves to a public one', async () => {
    names['intranet.test'] = [PRIVATE];
    const { id } = await watched('intranet.test');
    names['intranet.test'] = [PUBLIC];
    web.script('/page', redirect(inside.url('/page')));
    expect(await checkOnce(id)).toMatchObject({ error: 'redirect_refused' });
    expect(inside.requests('/page')).toEqual([]);
  });

  test('is refused or allowed when the owner changes allow_private', async () => {
    names['intranet.test'] = [PRIVATE];
    const { id } = await watched('intranet.test');
    const change = (allow_private: boolean) =>
      node.node.sendJson('PATCH', `/manage/sources/${id}`, { allow_private });
    expect(await (await change(false)).json()).toMatchObject({ allow_private: false });
    expect(await checkOnce(id)).toMatchObject(REFUSED);
    expect(await (await change(true)).json()).toMatchObject({ allow_private: true });
    expect(await checkOnce(id)).toMatchObject({ error: null });
  });
});

test('an import decides for each name of the list', async () => {
  names = { 'a.test': [PUBLIC], 'b.test': [PRIVATE] };
  const urls = ['a.test', 'b.test', 'c.test', PRIVATE, 'localhost', 'printer.local', 'wiki'].map(
    (host) => `http://${host}/`,
  );
  const headers = { 'Content-Type': 'text/plain' };
  const body = urls.join('\n');
  const response = await node.node.fetchAsOwner('/manage/sources/import', { method: 'POST', headers, body });
  expect(response.status).toBe(200);
  const { items } = await node.read<{ items: { url: string; allow_private: boolean }[] }>('/manage/sources');
  const allowed = items.filter(({ allow_private }) => allow_private).map(({ url }) => url);
  expect(allowed.reverse()).toEqual(urls.filter((url) => !/\/\/[ac]\.test/.test(url)));
});

test('an import and a test fetch by an address decide like a source that is added, before they connect', async () => {
  const importFrom = async (host: string) => {
    const url = web.url('/page', host);
    const preview = await node.node.sendJson('POST', '/manage/sources/preview', { url });
    await node.node.sendJson('POST', '/manage/captures?observer=Archive&wait=true', { timemap: url });
    await node.node.sendJson('POST', '/manage/import?wait=true', { url });
    return preview.json();
  };
  names['mixed.test'] = [PRIVATE, PUBLIC];
  expect(await importFrom('mixed.test')).toMatchObject({ private_address: false, bytes: 'public'.length });
  expect(inside.requests('/page')).toEqual([]);
  expect(web.requests('/page')).toHaveLength(3);
  names['inside.test'] = [PRIVATE];
  expect(await importFrom('inside.test')).toMatchObject({ private_address: true, bytes: 'secret'.length });
  expect(inside.requests('/page')).toHaveLength(3);
  expect(web.requests('/page')).toHaveLength(3);
});

test('for sources without a decision, a private IP address is allowed and a name counts as public', async () => {
  names['old.test'] = [PRIVATE];
  const byName = await watched('old.test');
  const byAddress = await watched(PRIVATE);
  await node.node.close();
  const database = new Database(join(dataFolder, 'strongroom.db'));
  database.exec('UPDATE sources SET allow_private = NULL');
  database.close();
  node = await openCollectingNode({}, { dataFolder, network });
  expect((await node.source(byName.id)).allow_private).toBe(false);
  expect(await checkOnce(byName.id)).toMatchObject(REFUSED);
  expect(await checkOnce(byAddress.id)).toMatchObject({ error: null });
});
