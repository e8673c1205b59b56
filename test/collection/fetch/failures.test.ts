import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Retrieval } from '../../../shared/collection/retrieval.ts';
import { failureWords } from '../../../shared/collection/retrievalWords.ts';
import {
  chunked,
  closeScriptedWebs,
  cutChunks,
  cutShort,
  endless,
  LOOPBACK_CERTIFICATE,
  page,
  raw,
  redirect,
  reset,
  ScriptedWeb,
  type Step,
  unreachableUrl,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

let node: TestNode;
let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openTestNode();
  await node.sendJson('PATCH', '/manage/settings', { per_host_pause_ms: 0, retry_delays_seconds: [] });
});

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Watches these URLs, checks them in one round and returns the attempts in the order of the URLs. */
async function retrieve(urls: readonly string[]): Promise<Retrieval[]> {
  const ids: string[] = [];
  for (const url of urls) {
    const added = await node.sendJson('POST', '/manage/sources', { url });
    ids.push(((await added.json()) as { id: string }).id);
  }
  expect((await node.sendJson('POST', '/manage/collections?wait=true', { sources: ids })).status).toBe(200);
  const found: Retrieval[] = [];
  for (const id of ids) {
    const { items } = (await (await node.fetchAsOwner(`/manage/sources/${id}/retrievals`)).json()) as {
      items: Retrieval[];
    };
    expect(items).toHaveLength(1);
    found.push(...items);
  }
  return found;
}

type Expected = { error: string | null; status: number | null };

const HEAD = 'HTTP/1.1 200 OK\r\n';
const FAILURES: Record<string, [Step, Expected]> = {
  'fewer bytes than Content-Length': [cutShort(100, 'short'), { error: 'body_cut_short', status: 200 }],
  'chunks without an end': [cutChunks('half'), { error: 'body_cut_short', status: 200 }],
  'a chunk that is shorter than declared': [
    raw(`${HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\nfew`),
    { error: 'body_cut_short', status: 200 },
  ],
  'a reset within the body': [reset({ afterHead: true }), { error: 'body_cut_short', status: 200 }],
  'a reset at the end of a body without a length': [
    (socket) => void socket.write(`${HEAD}Connection: close\r\n\r\nsome`, () => socket.resetAndDestroy()),
    { error: 'body_cut_short', status: 200 },
  ],
  'a reset before a response': [reset(), { error: 'connection_reset', status: null }],
  'an end before a response': [raw(''), { error: 'connection_reset', status: null }],
  'another protocol': [raw('SSH-2.0-OpenSSH_9.2\r\n'), { error: 'invalid_response', status: null }],
  'an invalid chunk size': [
    raw(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`),
    { error: 'invalid_response', status: 200 },
  ],
  'two lengths': [
    raw(`${HEAD}Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde`),
    { error: 'invalid_response', status: null },
  ],
  'headers that are too large': [
    raw(`${HEAD}X: ${'x'.repeat(100_000)}\r\n\r\n`),
    { error: 'invalid_response', status: null },
  ],
  'an unrequested 304': [page('', { status: 304 }), { error: 'invalid_response', status: 304 }],
  'an unrequested 206': [page('part', { status: 206 }), { error: 'invalid_response', status: 206 }],
  '403': [page('no', { status: 403 }), { error: 'http_error', status: 403 }],
  '404': [page('gone', { status: 404 }), { error: 'http_error', status: 404 }],
  '500 whose body is cut short': [
    raw('HTTP/1.1 500 Broken\r\nContent-Length: 100\r\n\r\nshort'),
    { error: 'http_error', status: 500 },
  ],
  'a redirect without Location': [page('', { status: 302 }), { error: 'invalid_response', status: 302 }],
  'a redirect to a file': [redirect('file:///etc/passwd'), { error: 'redirect_refused', status: 302 }],
  'a redirect to data': [redirect('data:text/plain,words'), { error: 'redirect_refused', status: 302 }],
  'a redirect to itself': [redirect('#again'), { error: 'redirect_loop', status: 302 }],
};

test('each kind of failure has its own error code', async () => {
  const urls = Object.values(FAILURES).map(([step], index) => {
    web.script(`/${index}`, step);
    return web.url(`/${index}`);
  });
  const found = await retrieve(urls);
  const recorded = Object.fromEntries(
    Object.keys(FAILURES).map((title, index) => [
      title,
      { error: found[index]?.error, status: found[index]?.status },
    ]),
  );
  const expected = Object.entries(FAILURES).map(([title, [, failure]]) => [title, failure]);
  expect(recorded).toEqual(Object.fromEntries(expected));
  expect(failureWords('redirect_refused', 302), 'what the pages say of data, too').toBe(
    'The address leads to a private address, or to something other than http or https, which was blocked',
  );
  const stats = (await (await node.fetch('/api/stats')).json()) as object;
  expect(stats, 'no failure is an observation').toMatchObject({ observations: 0, events: 0 });
});

test('refused connections, unknown names and invalid certificates have different error codes', async () => {
  const secure = await ScriptedWeb.open({ secure: true });
  const found = await retrieve([
    web.url('/'),
    await unreachableUrl('/'),
    'http://no-such-name.invalid/',
    secure.url('/'),
  ]);
  expect(found.map(({ error }) => error)).toEqual([
    'http_error',
    'connection_refused',
    'dns_error',
    'tls_error',
  ]);
});

test('an https source with a trusted certificate is retrieved', async () => {
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, LOOPBACK_CERTIFICATE]);
  try {
    const secure = await ScriptedWeb.open({ secure: true });
    secure.script('/page', page('sealed'));
    const [found] = await retrieve([secure.url('/page')]);
    expect(found).toMatchObject({ error: null, status: 200, bytes: 6 });
  } finally {
    setDefaultCACertificates(trusted);
  }
});

describe('redirects', () => {
  test('up to 10 redirects are followed and recorded; an 11th is a failure', async () => {
    const chain = (name: string, length: number) => {
      for (let hop = 0; hop < length; hop += 1)
        web.script(`/${name}${hop}`, redirect(`/${name}${hop + 1}`, 301 + (hop % 3)));
      web.script(`/${name}${length}`, page('the end'));
      return web.url(`/${name}0`);
    };
    const [ten, eleven] = await retrieve([chain('a', 10), chain('b', 11)]);
    expect(ten).toMatchObject({ error: null, status: 200, url: web.url('/a0'), final_url: web.url('/a10') });
    expect(ten?.redirects).toHaveLength(10);
    expect(ten?.redirects[1]).toMatchObject({ url: web.url('/a1'), status: 302 });
    expect(eleven).toMatchObject({ error: 'too_many_redirects', sha256: null });
    expect(web.requests('/b11')).toEqual([]);
  });

  test('a loop over several URLs fails with redirect_loop', async () => {
    web.script('/one', redirect('/two'));
    web.script('/two', redirect('/one'));
    const [found] = await retrieve([web.url('/one')]);
    expect(found).toMatchObject({ error: 'redirect_loop', status: 302 });
  });

  test('the owner’s headers are sent only to the source’s origin', async () => {
    const other = await ScriptedWeb.open();
    web.script('/from', redirect(other.url('/to')));
    other.script('/to', page('there'));
    await node.sendJson('POST', '/manage/sources', {
      url: web.url('/from'),
      headers: { Cookie: 'key=1', Accept: 'text/csv' },
    });
    await node.sendJson('POST', '/manage/collections?wait=true', {});
    expect(web.requests('/from')[0]?.headers).toMatchObject({ cookie: 'key=1', accept: 'text/csv' });
    expect(other.requests('/to')[0]?.headers).toMatchObject({ accept: '*/*' });
    expect(other.requests('/to')[0]?.headers).not.toHaveProperty('cookie');
  });
});

describe('the size limit', () => {
  test('a body beyond the limit fails before it is read completely, and nothing is stored', async () => {
    web.script('/endless', endless('x'));
    web.script('/declared', cutShort(2_000_000, 'never more'));
    web.script('/fits', page('x'.repeat(1_000_000)));
    await node.sendJson('PATCH', '/manage/settings', { max_object_mb: 1 });
    const found = await retrieve([web.url('/endless'), web.url('/declared'), web.url('/fits')]);
    expect(found.map(({ error }) => error)).toEqual(['object_too_large', 'object_too_large', null]);
    const { archived_objects } = (await (await node.fetch('/api/stats')).json()) as {
      archived_objects: number;
    };
    expect(archived_objects).toBe(1);
  });

  test('a source’s own limit overrides the setting', async () => {
    web.script('/page', page('x'.repeat(2_000)));
    const url = web.url('/page');
    await node.sendJson('POST', '/manage/sources', { url, max_object_mb: 0.001 });
    const { failed } = (await (await node.sendJson('POST', '/manage/collections?wait=true', {})).json()) as {
      failed: number;
    };
    expect(failed).toBe(1);
  });
});

test('the bytes are stored after transfer decoding and without content decoding', async () => {
  const gzip = Buffer.from('1f8b08000000000000034b4c4a06000c77af0c03000000', 'hex');
  web.script(
    '/gzip',
    page(gzip, { headers: { 'Content-Encoding': 'gzip', 'Content-Type': 'text/html; charset=utf-8' } }),
  );
  web.script('/chunks', chunked(['a', 'bc', 'déf']));
  web.script('/plain', raw('HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end'));
  web.script('/nothing', raw('HTTP/1.1 204 No Content\r\n\r\n'));
  const found = await retrieve(['/gzip', '/chunks', '/plain', '/nothing'].map((path) => web.url(path)));
  expect(found.map(({ error }) => error)).toEqual([null, null, null, null]);
  const bodies: Buffer[] = [];
  for (const { sha256 } of found) {
    const response = await node.fetch(`/archive/${sha256}`);
    expect(response.headers.get('content-encoding')).toBeNull();
    bodies.push(Buffer.from(await response.arrayBuffer()));
  }
  expect(bodies).toEqual([gzip, Buffer.from('abcdéf'), Buffer.from('until the end'), Buffer.alloc(0)]);
  expect(found[0]?.headers).toContainEqual(['Content-Encoding', 'gzip']);
  expect(web.requests('/gzip')[0]?.headers).toMatchObject({ 'accept-encoding': 'identity' });
});
