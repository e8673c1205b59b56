import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ObjectMetadata } from '../../../shared/collection/retrieval.ts';
import { rawRequest } from '../../support/network/rawRequest.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

describe('/archive/<sha256>', () => {
  test.each([
    ['text/html', '<script>fetch("/manage/sources")</script>'],
    ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['text/javascript; charset=utf-8', 'alert(1)'],
    ['application/xhtml+xml', '<html xmlns="http://www.w3.org/1999/xhtml"><script>1</script></html>'],
    ['text/plain;charset=x-unknown', 'text'],
  ])('serves %s as recorded, with security headers', async (type, body) => {
    web.script(
      '/page',
      page(body, {
        headers: {
          'Content-Type': type,
          'Content-Security-Policy': 'script-src *',
          'Set-Cookie': 'a=1',
          Refresh: '0',
        },
      }),
    );
    await node.watch(web.url('/page'));
    await node.check();
    const answer = await node.node.fetch(`/archive/${sha256(body)}`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe(body);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': type,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'content-disposition': 'attachment',
      etag: `"${sha256(body)}"`,
    });
    for (const name of ['set-cookie', 'refresh']) expect(answer.headers.get(name)).toBeNull();
  });

  test.each([
    ['no', undefined],
    ['an invalid', 'text/html\u00e9\u0007'],
    ['an empty', ''],
  ])('serves an object with %s content type as application/octet-stream', async (_title, type) => {
    const head = type === undefined ? '' : `Content-Type: ${type}\r\n`;
    web.script(
      '/page',
      (socket) => void socket.end(`HTTP/1.1 200 OK\r\n${head}Content-Length: 2\r\n\r\nhi`, 'latin1'),
    );
    await node.watch(web.url('/page'));
    await node.check();
    const answer = await node.node.fetch(`/archive/${sha256('hi')}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
  });

  test('serves no script or style type to subresource requests of the node’s own pages', async () => {
    web.script('/page', page('alert(1)', { headers: { 'Content-Type': 'text/javascript' } }));
    await node.watch(web.url('/page'));
    await node.check();
    const typeFor = async (use: string) => {
      // `fetch` does not allow setting Sec-Fetch-Dest.
      const answer = await rawRequest(`${node.node.url}/archive/${sha256('alert(1)')}`, {
        headers: { 'Sec-Fetch-Dest': use },
      });
      return answer.headers['content-type'];
    };
    for (const use of [
      'script',
      'worker',
      'sharedworker',
      'serviceworker',
      'style',
      'object',
      'embed',
      'iframe',
    ])
      expect(await typeFor(use), use).toBe('application/octet-stream');
    for (const use of ['document', 'image', 'empty']) expect(await typeFor(use), use).toBe('text/javascript');
  });

  test('uses the content type of the newest retrieval that has one', async () => {
    web.script(
      '/page',
      page('same', { headers: { 'Content-Type': 'text/plain' } }),
      page('same', { headers: { 'Content-Type': 'text/csv' } }),
    );
    await node.watch(web.url('/page'));
    await node.check();
    await node.check();
    const answer = await node.node.fetch(`/archive/${sha256('same')}`);
    expect(answer.headers.get('content-type')).toBe('text/csv');
  });

  test('supports HEAD, ranges and conditional requests, with the same security headers', async () => {
    web.script('/page', page('0123456789'));
    await node.watch(web.url('/page'));
    await node.check();
    const path = `/archive/${sha256('0123456789')}`;
    const part = await node.node.fetch(path, { headers: { Range: 'bytes=2-4' } });
    expect([part.status, await part.text()]).toEqual([206, '234']);
    const head = await node.node.fetch(path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
    const same = await node.node.fetch(path, { headers: { 'If-None-Match': `"${sha256('0123456789')}"` } });
    expect(same.status).toBe(304);
    for (const answer of [part, head, same])
      expect(answer.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
  });

  test.each([
    ['x', 400, 'invalid_digest'],
    ['A'.repeat(64), 400, 'invalid_digest'],
    ['0'.repeat(64), 404, 'not_found'],
  ])('answers the digest %s with %i', async (digest, status, code) => {
    for (const path of [`/archive/${digest}`, `/archive/${digest}/metadata`]) {
      const answer = await node.node.fetch(path);
      expect(answer.status).toBe(status);
      expect(await answer.json()).toMatchObject({ code });
    }
  });
});

describe('/archive/<sha256>/metadata', () => {
  const file = (digest: string) =>
    join(node.node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest);

  test('lists every retrieval of the object from any source, newest first', async () => {
    web.script('/one', page('same', { headers: { 'Content-Type': 'text/plain' } }));
    web.script('/two', page('same', { status: 404 }));
    await node.watch(web.url('/one'));
    await node.check();
    await node.watch(web.url('/two'));
    await node.check();
    const metadata = await node.read<ObjectMetadata>(`/archive/${sha256('same')}/metadata`);
    expect(metadata).toMatchObject({ sha256: sha256('same'), bytes: 4 });
    expect(metadata.retrievals).toHaveLength(3);
    expect(metadata.retrievals.at(-1)).toEqual({
      url: web.url('/one'),
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      status: 200,
      content_type: 'text/plain',
      content_encoding: null,
      observer: 'self',
      original_observed_at: null,
      part_of: null,
      intact: true,
      connection: { address: '127.0.0.1', port: expect.any(Number), dns: null, http: '1.1', tls: null },
    });
    expect(new Set(metadata.retrievals.map(({ url, status }) => `${url} ${status}`))).toEqual(
      new Set([`${web.url('/one')} 200`, `${web.url('/two')} 404`]),
    );
  });

  async function archived(body: string): Promise<{ digest: string; intact: () => Promise<boolean[]> }> {
    const digest = sha256(body);
    web.script('/page', page(body));
    await node.watch(web.url('/page'));
    await node.check();
    const intact = async () =>
      (await node.read<ObjectMetadata>(`/archive/${digest}/metadata`)).retrievals.map(
        (retrieval) => retrieval.intact,
      );
    return { digest, intact };
  }

  test('an altered, cut or missing object is not intact, as of the request', async () => {
    const { digest, intact } = await archived('the text');
    expect(await intact()).toEqual([true]);
    for (const damage of ['The text', 'the tex', '']) {
      await writeFile(file(digest), damage);
      expect(await intact()).toEqual([false]);
    }
    await rm(file(digest));
    expect(await intact()).toEqual([false]);
    await writeFile(file(digest), 'the text');
    expect(await intact()).toEqual([true]);
  });

  test('hashes a large object too', async () => {
    const body = 'x'.repeat(5_000_000);
    const { digest, intact } = await archived(body);
    expect(await intact()).toEqual([true]);
    await writeFile(file(digest), `${body.slice(1)}y`);
    expect(await intact()).toEqual([false]);
  });
});
