import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { CollectionResult, Status } from '../../shared/collection/collection.ts';
import type { Retrieval } from '../../shared/collection/retrieval.ts';
import type { WatchedSource } from '../../shared/collection/source.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { requireThat } from '../support/requirements.ts';
import { Namespace } from './namespace.ts';

/**
 * A real node in a network of its own, where addresses are what they are elsewhere: 203.0.113.5 is public, and the
 * others are not. Names are looked up by the system, in the namespace's own hosts file.
 */
const PUBLIC = '203.0.113.5';
const PRIVATE = ['127.0.0.1', '10.9.9.9', '192.168.7.7', '169.254.7.7', '100.64.7.7'] as const;

let namespace: Namespace | undefined;
let whyNot = '';

beforeAll(async () => {
  const opened = await Namespace.openOrSayWhyNot();
  if (typeof opened === 'string') {
    whyNot = opened;
    return;
  }
  namespace = opened;
  await namespace.serve(PUBLIC, ...PRIVATE);
  const folder = join(await temporaryFolder(), 'data');
  await namespace.startNode(folder);
  await namespace.ask('PATCH', '/manage/settings', { per_host_pause_ms: 0, retry_delays_seconds: [] });
});
afterAll(async () => {
  await namespace?.close();
  await closeTestNodes();
});
beforeEach(({ skip }) => {
  requireThat(namespace !== undefined, whyNot, skip);
});
afterEach(async () => {
  await namespace?.resolve({});
});

function open(): Namespace {
  if (!namespace) throw new Error(whyNot);
  return namespace;
}

async function watch(url: string): Promise<WatchedSource> {
  return open().ask<WatchedSource>('POST', '/manage/sources', { url });
}

/** Checks one source; its last attempt. */
async function check(id: string): Promise<Retrieval | undefined> {
  await open().ask<CollectionResult>('POST', '/manage/collections?wait=true', { sources: [id] });
  const { items } = await open().ask<{ items: Retrieval[] }>('GET', `/manage/sources/${id}/retrievals`);
  return items[0];
}

test('a public name that later resolves to any private address is refused', async () => {
  // A kept connection leads to the public address for another 250 ms; here each check has to look the name up.
  open().script({ '/page': { headers: { Connection: 'close' }, body: 'text' } });
  await open().resolve({ 'rebound.example': PUBLIC });
  const { id, allow_private } = await watch('http://rebound.example/page');
  expect(allow_private).toBe(false);
  expect(await check(id)).toMatchObject({ error: null, status: 200 });
  expect(open().asked(PUBLIC)).toEqual(['/robots.txt', '/page']);
  for (const address of [...PRIVATE, '::1', '::ffff:10.9.9.9', '0.0.0.0']) {
    await open().resolve({ 'rebound.example': address });
    expect(await check(id), address).toMatchObject({ error: 'redirect_refused', status: null });
  }
  for (const address of PRIVATE) expect(open().asked(address)).toEqual([]);
  const { failing } = await open().ask<Status>('GET', '/api/status');
  expect(failing.map(({ error }) => error)).toEqual(['redirect_refused']);
});

test('a redirect from a public to a private name is refused', async () => {
  open().script({
    '/away': { status: 302, headers: { Location: 'http://inside.example/secret' }, body: '' },
  });
  await open().resolve({ 'outside.example': PUBLIC, 'inside.example': '10.9.9.9' });
  const { id } = await watch('http://outside.example/away');
  expect(await check(id)).toMatchObject({
    error: 'redirect_refused',
    final_url: 'http://inside.example/secret',
  });
  expect(open().asked('10.9.9.9')).toEqual([]);
});

test('a name that is private when added is checked at its private address', async () => {
  open().script({ '/wiki': { body: 'text' } });
  await open().resolve({ 'wiki.example': '192.168.7.7' });
  const { id, allow_private } = await watch('http://wiki.example/wiki');
  expect(allow_private).toBe(true);
  expect(await check(id)).toMatchObject({ error: null, status: 200 });
  expect(open().asked('192.168.7.7')).toEqual(['/robots.txt', '/wiki']);
});

test('the node stays responsive during a hostile robots.txt and redirects to long paths', async () => {
  const path = (hop: number) => `/${'a'.repeat(15_000)}${hop}`;
  const rules = Array<string>(250).fill(`Disallow: /${'*a'.repeat(1_000)}*b`);
  open().script({ '/robots.txt': { body: `User-agent: *\n${rules.join('\n')}\n` } });
  for (let hop = 0; hop < 9; hop += 1)
    open().script({ [path(hop)]: { status: 302, headers: { Location: path(hop + 1) }, body: '' } });
  open().script({ [path(9)]: { body: 'end' } });
  await open().resolve({ 'hostile.example': PUBLIC });
  const { id } = await watch(`http://hostile.example/${'a'.repeat(3_000)}`);
  open().script({ [`/${'a'.repeat(3_000)}`]: { status: 302, headers: { Location: path(0) }, body: '' } });
  let isOver = false;
  const checking = check(id).finally(() => {
    isOver = true;
  });
  let answered = 0;
  while (!isOver) {
    await open().ask('GET', '/api/health');
    if (!isOver) answered += 1;
  }
  // It was asked for and applied at each of eleven addresses.
  expect((await checking)?.error).toBeOneOf([null, 'robots_unreachable']);
  expect(
    open()
      .asked(PUBLIC)
      .filter((asked) => asked.length > 15_000).length,
  ).toBeGreaterThan(0);
  expect(answered).toBeGreaterThan(2);
});
