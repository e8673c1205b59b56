import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createConnection } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Addresses } from '../../../shared/routes/node/manage.ts';
import { problemOf, sha256Of, uploadNewPack } from '../../support/archive/packs.ts';
import { readToEnd } from '../../support/network/rawConnection.ts';
import { invite, share, withToken } from '../../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';
import { asSend, createPageKey, openLink, prove } from '../../support/ownerPage.ts';
import { requireNetwork } from '../../support/requirements.ts';

afterEach(async () => {
  vi.useRealTimers();
  await closeTestNodes();
});

/** An address of this machine that is not loopback: requests to it come from it, as if from another machine. */
const networkAddress = Object.values(networkInterfaces())
  .flat()
  .find((found) => found?.family === 'IPv4' && !found.internal)?.address;

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  /** The SHA-256 of the server's certificate. */
  fingerprint: string;
}

/** Sends a request over HTTPS. The certificate must be the one in the node's folder, and be valid for the host. */
async function secureFetch(
  node: TestNode,
  url: string,
  {
    method = 'GET',
    headers = {},
    body: sentBody,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const ca = await readFile(join(node.dataFolder, 'tls.pem'), 'utf8');
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers, ca: ca.slice(ca.indexOf('-----BEGIN CERT')), agent: false },
      (response) => {
        const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body,
            fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
          }),
        );
      },
    );
    sent.on('error', reject).end(sentBody);
  });
}

const secureUrl = (node: TestNode, path: string) => `${node.tls?.url}${path}`;

describe('a node that serves HTTPS', () => {
  test('does so on the next port, with a certificate of its own that it keeps', async () => {
    const node = await openTestNode({ tls: true });
    const { url = '', fingerprint } = node.tls ?? {};
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const answer = await secureFetch(node, `${url}/api/health`);
    expect(answer).toMatchObject({ status: 200, fingerprint });
    expect((await node.fetch('/api/health')).status).toBe(200);

    const file = join(node.dataFolder, 'tls.pem');
    expect((await stat(file)).mode & 0o077).toBe(0);
    const certificate = new X509Certificate(await readFile(file));
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkHost('localhost')).toBe('localhost');
    await node.close();
    const again = await openTestNode({ tls: true, dataFolder: node.dataFolder });
    expect(again.tls?.fingerprint).toBe(fingerprint);
  });

  test('starts and stops with the setting, and accepts the owner’s token and pages there', async () => {
    const node = await openTestNode();
    expect(node.tls).toBeUndefined();
    expect(await (await node.sendJson('PATCH', '/manage/settings', { tls: true })).json()).toMatchObject({
      tls: true,
    });
    const owner = { headers: { Authorization: `Bearer ${node.token}` } };
    const addresses = await secureFetch(node, secureUrl(node, '/manage/addresses'), owner);
    expect(JSON.parse(addresses.body)).toEqual({ addresses: [], tls_fingerprint: node.tls?.fingerprint });

    const send = asSend((path, init) => secureFetch(node, secureUrl(node, path), init));
    const { code } = await openLink(send, node.createSignInLink());
    const { origin } = new URL(secureUrl(node, '/'));
    const session = await prove(send, { key: createPageKey(), origin, code });
    expect((await secureFetch(node, secureUrl(node, '/manage/settings'), session)).status).toBe(200);
    const foreign = { method: 'POST', headers: { ...session.headers, Origin: 'https://evil.example' } };
    expect((await secureFetch(node, secureUrl(node, '/manage/jobs'), foreign)).status).toBe(403);

    const url = secureUrl(node, '/api/health');
    await node.sendJson('PATCH', '/manage/settings', { tls: false });
    expect(node.tls).toBeUndefined();
    await expect(secureFetch(node, url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('serves a certificate that the owner gives, and refuses a file that is none', async () => {
    const made = await openTestNode({ tls: true });
    const own = await readFile(join(made.dataFolder, 'tls.pem'));
    const node = await openTestNode();
    const file = join(node.dataFolder, 'tls.pem');
    await writeFile(file, 'nothing');
    await node.close();
    await expect(openTestNode({ tls: true, dataFolder: node.dataFolder })).rejects.toThrow(
      `${file} is not a private key and its certificate in PEM. Replace it, or remove it`,
    );
    await writeFile(file, own);
    const opened = await openTestNode({ tls: true, dataFolder: node.dataFolder });
    expect(opened.tls?.fingerprint).toBe(made.tls?.fingerprint);
  });

  test('closes although a client has not finished its handshake', async () => {
    const node = await openTestNode({ tls: true });
    const { hostname, port } = new URL(node.tls?.url ?? '');
    const idle = createConnection({ host: hostname, port: Number(port) });
    await new Promise((open) => idle.once('connect', open));
    const kept = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    await new Promise((open) => kept.once('secureConnect', open));
    const closed = [idle, kept].map((socket) => new Promise((done) => socket.once('close', done).resume()));
    idle.on('error', () => {});
    kept.on('error', () => {});
    await node.close();
    await Promise.all(closed);
  });

  test('disconnects a reader that accepts nothing', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    const node = await openTestNode({ tls: true, readers: { stallTimeoutMs: 12_000 } });
    const file = Buffer.alloc(30_000_000, 7);
    await uploadNewPack(node, {}, { 'large.bin': file });
    const { hostname, port } = new URL(node.tls?.url ?? '');
    const stalled = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    await once(stalled, 'secureConnect');
    stalled.pause();
    stalled.write(`GET /api/blobs/${sha256Of(file)} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    // More checks than fill the buffers of the connection, and twelve after that.
    for (let check = 0; check < 80; check += 1) {
      vi.advanceTimersByTime(1_000);
      expect((await node.fetch('/api/health')).status).toBe(200);
    }
    const received = await readToEnd(stalled);
    expect(received.length).toBeGreaterThan(0);
    expect(received.length).toBeLessThan(file.length);
  });

  test('refuses secrets over plain HTTP from other machines only', async ({ skip }) => {
    requireNetwork(networkAddress, skip);
    const node = await openTestNode({ tls: true });
    await share(node, 'contribute', true);
    const { token } = await invite(node);
    const plain = `http://${networkAddress}:${new URL(node.url).port}`;
    const secure = `https://${networkAddress}:${new URL(node.tls?.url ?? '').port}`;
    const { addresses } = (await (await node.fetchAsOwner('/manage/addresses')).json()) as Addresses;
    expect(addresses.map(({ url }) => url)).toEqual(expect.arrayContaining([plain, secure]));

    const path = new URL(node.createSignInLink()).pathname;
    for (const [to, init] of [
      ['/manage/settings', withToken(node.token)],
      ['/api/packs', withToken(token)],
      [path, {}],
      ['/invitation', { method: 'POST', body: new URLSearchParams({ token }) }],
    ] as const) {
      expect(await problemOf(fetch(plain + to, init)), to).toMatchObject({
        status: 403,
        code: 'tls_required',
        detail: expect.stringContaining(`Use ${secure} `) as string,
      });
    }
    expect((await fetch(`${plain}/api/packs`)).status, 'reading needs no secret').toBe(200);
    // The link was not used up.
    const send = asSend((to, init) => secureFetch(node, secure + to, init));
    const { code } = await openLink(send, secure + path);
    const { headers, ticketed } = await prove(send, { key: createPageKey(), origin: secure, code });
    expect((await secureFetch(node, `${secure}/manage/settings`, { headers })).status).toBe(200);
    // A session does not count where everyone can read what is sent.
    for (const [to, init] of [
      ['/manage/settings', { headers }],
      [ticketed('/manage/settings'), {}],
      ['/api/session', { method: 'POST', body: '{}' }],
    ] as const)
      expect(await problemOf(fetch(plain + to, init)), to).toMatchObject({ code: 'tls_required' });
    expect((await node.fetchAsOwner('/manage/settings')).status, 'on this machine').toBe(200);
  });
});
