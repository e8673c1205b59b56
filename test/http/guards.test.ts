import { afterEach, describe, expect, test } from 'vitest';
import { ROUTE_SPECS } from '../../shared/routes.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { createPageKey, prove, signIn } from '../support/ownerPage.ts';

afterEach(closeTestNodes);

const JSON_BODY = { 'Content-Type': 'application/json' };

async function codeOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { code: unknown }).code;
}

describe('access control (contract, section 4)', () => {
  test('everything under /manage, and every write of interface A, requires the owner: 401 owner_required', async () => {
    const node = await openTestNode();
    const guarded = Object.values(ROUTE_SPECS).filter(
      ({ access }) => access === 'owner' || access === 'paired' || access === 'contribute',
    );
    expect(guarded.length).toBeGreaterThan(15);
    for (const { method, path } of guarded) {
      const response = await node.fetch(path.replace(/\{\+?\w+\}/g, 'x'), { method });
      expect(response.status, `${method} ${path}`).toBe(401);
      expect(response.headers.get('WWW-Authenticate')).toContain('Bearer');
      expect(await codeOf(response)).toBe('owner_required');
    }
  });

  test('the owner’s token gives access to /manage; a wrong token is 401 even where none is required', async () => {
    const node = await openTestNode();
    expect((await node.fetchAsOwner('/manage/settings')).status).toBe(200);
    const wrong = await node.fetch('/api/ledger', { headers: { Authorization: `Bearer ${'0'.repeat(64)}` } });
    expect(wrong.status).toBe(401);
  });

  test('the sign-in link works once, sets no cookie, and leads a page to its session', async () => {
    const node = await openTestNode();
    const link = node.createSignInLink();
    expect((await node.fetch(link, { method: 'HEAD' })).status).toBe(403);
    const first = await node.fetch(link);
    expect(first.status).toBe(303);
    const [, code = ''] = /^\/#sign-in=([0-9a-f]{32})$/.exec(first.headers.get('Location') ?? '') ?? [];
    expect(first.headers.get('Set-Cookie')).toBeNull();
    const { headers } = await prove(node, { key: createPageKey(), origin: node.url, code });
    expect(await (await node.fetch('/api/session', { headers })).json()).toMatchObject({ owner: true });
    const second = await node.fetch(link);
    expect([second.status, await codeOf(second)]).toEqual([403, 'sign_in_refused']);

    expect((await node.fetch('/manage/session', { method: 'DELETE', headers })).status).toBe(204);
    expect((await node.fetch('/api/session', { headers })).status).toBe(401);
  });

  test('a session survives a restart, a sign-in link does not', async () => {
    const node = await openTestNode();
    const { key } = await signIn(node);
    const unused = new URL(node.createSignInLink()).pathname;
    const port = Number(new URL(node.url).port);
    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder, port });
    const { headers } = await prove(again, { key, origin: again.url });
    expect((await again.fetch('/manage/settings', { headers })).status).toBe(200);
    expect((await again.fetch(unused)).status).toBe(403);
  });

  test('a foreign Host is refused with 421 unknown_host, also for reading', async () => {
    const node = await openTestNode();
    for (const host of [
      'evil.example',
      '127.0.0.1.evil.example',
      'evil.example:7717',
      'localhost@evil.example',
      '10.0.0.1',
      'localhost#',
      'localhost?',
      'localhost/x/..',
      ':evil.example@localhost',
      '@localhost',
      'localhost\\',
      'loc\talhost',
      ' localhost:',
      'localhost:99999',
      '%6cocalhost',
      '2130706433',
      '0x7f.1',
      '127.0.0.1:8080#',
    ]) {
      const answer = await rawRequest(`${node.url}/api/ledger`, { headers: { Host: host } });
      expect([answer.status, JSON.parse(answer.body).code], host).toEqual([421, 'unknown_host']);
    }
    for (const host of [
      'localhost',
      'localhost:8080',
      'localhost.:8080',
      '127.0.0.1',
      '[::1]:7717',
      '[0:0:0:0:0:0:0:1]',
      'LOCALHOST',
    ]) {
      expect((await rawRequest(`${node.url}/api/health`, { headers: { Host: host } })).status, host).toBe(
        200,
      );
    }
  });

  test('links in an answer have the host as URLs write it', async () => {
    const node = await openTestNode();
    const { id } = await uploadNewPack(node);
    for (const [host, origin] of [
      ['LOCALHOST:80', 'http://localhost'],
      ['LocalHost.:08080', 'http://localhost.:8080'],
      ['[0:0:0:0:0:0:0:1]:7717', 'http://[::1]:7717'],
    ] as const) {
      const { headers } = await rawRequest(`${node.url}/api/packs/${id}`, { headers: { Host: host } });
      expect(headers.link).toContain(`<${origin}/`);
    }
  });

  test('a write from another origin is refused with 403 foreign_origin, even with the owner’s credentials', async () => {
    const node = await openTestNode();
    const { host } = new URL(node.url);
    const headers = { ...JSON_BODY, Host: host, Authorization: `Bearer ${node.token}` };
    for (const origin of ['http://evil.example', 'null', `https://${host}`, 'http://127.0.0.1:1']) {
      const answer = await rawRequest(`${node.url}/manage/settings`, {
        method: 'PATCH',
        headers: { ...headers, Origin: origin },
        body: '{}',
      });
      expect([answer.status, JSON.parse(answer.body).code], origin).toEqual([403, 'foreign_origin']);
    }
    const own = await rawRequest(`${node.url}/manage/settings`, {
      method: 'PATCH',
      headers: { ...headers, Origin: node.url },
      body: '{}',
    });
    expect(own.status).toBe(200);
  });
});

describe('HEAD, OPTIONS and other sites (contract, section 1)', () => {
  async function share(node: TestNode, mode: string): Promise<void> {
    expect((await node.sendJson('PUT', '/manage/sharing', { mode, require_invitation: false })).status).toBe(
      200,
    );
  }

  test('while the node is not shared, pages of other sites get 403 not_shared', async () => {
    const node = await openTestNode();
    for (const site of ['cross-site', 'same-site']) {
      const answer = await rawRequest(`${node.url}/api/ledger`, { headers: { 'Sec-Fetch-Site': site } });
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([403, 'not_shared']);
    }
    const own = await rawRequest(`${node.url}/api/ledger`, { headers: { 'Sec-Fetch-Site': 'same-origin' } });
    expect(own.status).toBe(200);
    expect(own.headers['access-control-allow-origin']).toBeUndefined();
    expect(own.headers['cross-origin-resource-policy']).toBe('same-origin');
  });

  test('while the node is shared, all origins may use GET and HEAD of A and B, but not /manage or writes', async () => {
    const node = await openTestNode();
    await share(node, 'read');
    const headers = { Origin: 'http://elsewhere.example', 'Sec-Fetch-Site': 'cross-site' };
    for (const method of ['GET', 'HEAD']) {
      const answer = await rawRequest(`${node.url}/api/ledger`, { method, headers });
      expect(answer.status).toBe(200);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
    const manage = await rawRequest(`${node.url}/manage/settings`, {
      headers: { ...headers, Authorization: `Bearer ${node.token}` },
    });
    expect(manage.headers['access-control-allow-origin']).toBeUndefined();
    const write = await rawRequest(`${node.url}/api/nodes`, { method: 'POST', headers });
    expect(write.status).toBe(403);
    expect(write.headers['access-control-allow-origin']).toBeUndefined();
    const preflight = await rawRequest(`${node.url}/api/ledger`, { method: 'OPTIONS', headers });
    expect(preflight.headers['access-control-allow-methods']).toBe('GET, HEAD, OPTIONS');
  });

  test('what only the owner gets is not for other origins, also where visitors get something', async () => {
    const node = await openTestNode();
    await share(node, 'read');
    const page = await signIn(node);
    const origin = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await rawRequest(`${node.url}${path}`, { headers });
      expect(answer.status).toBe(200);
      return [answer.headers['access-control-allow-origin'], answer.headers['cross-origin-resource-policy']];
    };
    const path = '/api/packs?limit=1';
    expect(await origin(path)).toEqual(['*', 'cross-origin']);
    expect(await origin(path, { Authorization: `Bearer ${node.token}` })).toEqual([undefined, 'same-origin']);
    expect(await origin(page.ticketed(path))).toEqual([undefined, 'same-origin']);
    const settings = await rawRequest(`${node.url}/manage/settings`);
    expect(settings.headers['cross-origin-resource-policy']).toBe('same-origin');
  });

  test('HEAD works wherever GET does, and OPTIONS lists the methods', async () => {
    const node = await openTestNode();
    const head = await rawRequest(`${node.url}/api/ledger`, { method: 'HEAD' });
    expect([head.status, head.body]).toEqual([200, '']);
    const options = await rawRequest(`${node.url}/api/packs/pk_0/verify`, { method: 'OPTIONS' });
    expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });
});

describe('errors (contract, section 1)', () => {
  test('an unknown path is 404 not_found, a wrong method 405 with Allow', async () => {
    const node = await openTestNode();
    for (const path of [
      '/api',
      '/api/nope',
      '/nope',
      '/api/packs/',
      '/API/packs',
      '/archive/',
      '/manage',
      '/manage/nope',
      '//evil.example/',
      '/api/packs/x/y',
    ]) {
      const response = await node.fetchAsOwner(`${node.url}${path}`);
      expect(response.headers.get('Content-Type'), path).toMatch(/^application\/problem\+json/);
      expect([response.status, await codeOf(response)], path).toEqual([404, 'not_found']);
    }
    const wrong = await node.fetchAsOwner('/api/ledger', { method: 'DELETE' });
    expect([wrong.status, wrong.headers.get('Allow'), await codeOf(wrong)]).toEqual([
      405,
      'GET, HEAD, OPTIONS',
      'method_not_allowed',
    ]);
  });

  test('every path refuses each method that it does not support', async () => {
    const node = await openTestNode();
    const byPath = Map.groupBy(Object.values(ROUTE_SPECS), ({ path }) => path);
    for (const [path, specs] of byPath) {
      const taken = new Set<string>(specs.map(({ method }) => method));
      const allowed = ['OPTIONS', ...taken, ...(taken.has('GET') ? ['HEAD'] : [])].sort().join(', ');
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !taken.has(one))) {
        const response = await node.fetchAsOwner(path.replace(/\{\+?\w+\}/g, 'x'), { method });
        const refusal = [response.status, response.headers.get('Allow'), await codeOf(response)];
        expect(refusal, `${method} ${path}`).toEqual([405, allowed, 'method_not_allowed']);
      }
    }
  });

  test.each(['/api/nodes', '/api/packs'])('JSON for %s in another charset is 415', async (path) => {
    const node = await openTestNode();
    const headers = { 'Content-Type': 'application/json; charset=utf-16' };
    const answer = await node.fetchAsOwner(path, { method: 'POST', headers, body: '{}' });
    expect([answer.status, await codeOf(answer)]).toEqual([415, 'unsupported_media_type']);
  });

  test('a path with an invalid percent encoding is 400', async () => {
    const node = await openTestNode();
    expect((await rawRequest(`${node.url}/api/packs/%zz`)).status).toBe(400);
  });

  test.each([
    ['malformed JSON', '{', JSON_BODY, 400, 'invalid_json'],
    ['not UTF-8', '\xff', JSON_BODY, 400, 'invalid_json'],
    [
      'a declared charset other than UTF-8',
      '{}',
      { 'Content-Type': 'application/json; charset=iso-8859-1' },
      415,
      'unsupported_media_type',
    ],
    ['another type', '{}', { 'Content-Type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['no type', '{}', {}, 415, 'unsupported_media_type'],
    ['an encoded body', '{}', { ...JSON_BODY, 'Content-Encoding': 'gzip' }, 415, 'unsupported_media_type'],
    ['an unknown field', '{"x":1}', JSON_BODY, 422, 'unknown_field'],
    ['a value out of range', '{"data_cap_gb":-1}', JSON_BODY, 422, 'invalid_field'],
    ['a key given twice', '{"data_cap_gb":1,"data_cap_gb":1}', JSON_BODY, 422, 'not_canonical'],
  ] as const)('%s', async (_what, body, headers, status, code) => {
    const node = await openTestNode();
    const response = await node.fetchAsOwner('/manage/settings', {
      method: 'PATCH',
      body: Buffer.from(body, 'latin1'),
      headers,
    });
    expect([response.status, await codeOf(response)]).toEqual([status, code]);
  });

  test.each(['/manage/audits', '/manage/ledger-verifications', '/manage/sign-in-links'])(
    'POST %s needs no body, and refuses unknown fields',
    async (path) => {
      const node = await openTestNode();
      const post = (body?: string) =>
        node.fetchAsOwner(path, {
          method: 'POST',
          ...(body === undefined ? {} : { body, headers: JSON_BODY }),
        });
      const refused = await post('{"sources":["so_1"]}');
      expect([refused.status, await codeOf(refused)]).toEqual([422, 'unknown_field']);
      for (const body of ['{}', undefined]) expect((await post(body)).ok).toBe(true);
    },
  );

  test('a body over 1 MiB is 413 body_too_large, announced or not', async () => {
    const node = await openTestNode();
    const large = `{"data_cap_gb":${' '.repeat(1_048_576)}1}`;
    const announced = await node.fetchAsOwner('/manage/settings', {
      method: 'PATCH',
      body: large,
      headers: JSON_BODY,
    });
    expect([announced.status, await codeOf(announced)]).toEqual([413, 'body_too_large']);
    const streamed = await node.fetchAsOwner('/manage/settings', {
      method: 'PATCH',
      body: new Blob([large]).stream(),
      duplex: 'half',
      headers: JSON_BODY,
    } as RequestInit);
    expect([streamed.status, await codeOf(streamed)]).toEqual([413, 'body_too_large']);
    expect(await (await node.fetchAsOwner('/manage/settings')).json()).toMatchObject({ data_cap_gb: 10 });
  });

  test.each([
    ['limit=0', 'invalid_limit'],
    ['limit=501', 'invalid_limit'],
    ['limit=1.5', 'invalid_limit'],
    ['limit=', 'invalid_limit'],
    ['limit=1&limit=2', 'invalid_limit'],
    ['offset=-1', 'invalid_offset'],
    ['offset=x', 'invalid_offset'],
    ['offset=99999999999999999999', 'invalid_offset'],
    ['nope=1', 'unknown_parameter'],
    ['__proto__=1', 'unknown_parameter'],
    ['outcome=great', 'invalid_parameter'],
  ])('a list with %s is 400 %s', async (query, code) => {
    const node = await openTestNode();
    const response = await node.fetch(`/api/packs?${query}`);
    expect([response.status, await codeOf(response)]).toEqual([400, code]);
  });
});

test('settings can be changed one by one and survive a restart', async () => {
  const node = await openTestNode();
  await node.sendJson('PATCH', '/manage/settings', { data_cap_gb: 3 });
  await node.sendJson('PATCH', '/manage/settings', { retry_delays_seconds: [] });
  await node.close();
  const again = await openTestNode({ dataFolder: node.dataFolder });
  const settings = await (await again.fetchAsOwner('/manage/settings')).json();
  expect(settings).toMatchObject({ data_cap_gb: 3, retry_delays_seconds: [], ip_writes_per_hour: 30 });
});
