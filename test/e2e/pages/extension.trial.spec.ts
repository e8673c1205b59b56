import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { APIRequestContext, Page } from '@playwright/test';
// What the worker of the extension finds.
import type {} from '../../../renderer/extension/browser.ts';
import type { HandInDetails, ListedHandIn } from '../../../shared/collection/handedIn.ts';
import type { Case } from '../../../shared/findings/case.ts';
import type { Finding } from '../../../shared/findings/finding.ts';
import type { PairedBrowser, PairingCode } from '../../../shared/node/pairing.ts';
import { accessibilityViolations } from '../support/accessibility.ts';
import { ExtensionBrowser, Relay } from '../support/extensionBrowser.ts';
import { test as base, expect } from '../support/fixtures.ts';

/** Playwright cannot run its own scripts in the frame of an archived document. */
const BLOCKED = /Blocked script execution in '[^']*\/archive\/[0-9a-f]{64}\/page/;

const test = base.extend<{ browserWithExtension: ExtensionBrowser; account: string; address: Relay }>({
  // oxlint-disable-next-line no-empty-pattern
  browserWithExtension: async ({}, use) => {
    const opened = await ExtensionBrowser.open();
    await use(opened);
    await opened.close();
  },
  // oxlint-disable-next-line no-empty-pattern
  account: async ({}, use) => {
    const server = createServer((request, response) => {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      if (request.url === '/login')
        response.writeHead(303, { 'Set-Cookie': 'sid=ada; HttpOnly; Path=/', Location: '/account' }).end();
      else if (request.url === '/look.css')
        response.setHeader('Content-Type', 'text/css').end('h1 { color: rgb(1, 2, 3) }');
      else if (request.headers.cookie === 'sid=ada') response.end(ACCOUNT);
      else response.writeHead(401).end('<h1>Please sign in.</h1>');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
    server.closeAllConnections();
  },
  address: async ({ node }, use) => {
    const relay = new Relay(node.url);
    await relay.turnOn();
    await use(relay);
    await relay.turnOff();
  },
});

const ACCOUNT = `<!doctype html><title>Account of Ada</title><link rel="stylesheet" href="/look.css">
<h1>Account</h1><p id="meeting">They met in Berlin on Monday.</p><div id="host"></div>
<iframe srcdoc="<p>In the frame</p>"></iframe><form><input type="password" value="hunter2"></form>
<script>host.attachShadow({ mode: 'closed' }).innerHTML = '<b>In the shadow</b>';</script>`;

async function codeOf(owner: APIRequestContext): Promise<string> {
  return ((await (await owner.post('/manage/pairings')).json()) as PairingCode).code;
}

async function handedIn(owner: APIRequestContext): Promise<ListedHandIn[]> {
  return ((await (await owner.get('/manage/handed-in')).json()) as { items: ListedHandIn[] }).items;
}

async function paired(owner: APIRequestContext): Promise<PairedBrowser[]> {
  return ((await (await owner.get('/manage/pairings')).json()) as { items: PairedBrowser[] }).items;
}

/** Waits until so much was handed in. */
async function expectHandedIn(owner: APIRequestContext, count: number): Promise<ListedHandIn[]> {
  await expect.poll(async () => (await handedIn(owner)).length).toBe(count);
  return handedIn(owner);
}

async function select(page: Page, words: string): Promise<void> {
  await page.evaluate((text) => {
    const node = document.querySelector('#meeting')?.firstChild;
    const at = node?.textContent?.indexOf(text) ?? -1;
    if (node) getSelection()?.setBaseAndExtent(node, at, node, at + text.length);
  }, words);
}

test('while the node is off, pages and links wait, also through a restart; each is delivered once', async ({
  page,
  browserWithExtension: chromium,
  account,
  address,
}) => {
  await chromium.pair(address.url, await codeOf(page.request));
  await address.turnOff();
  const visited = await chromium.open(`${account}/login`);
  const popup = await chromium.click(visited);
  await popup.expectText(/Your node does not answer/);
  await popup.close();
  await chromium.stop();
  await chromium.start();
  const worker = await chromium.worker();
  await worker.evaluate((linkUrl) => {
    const { onClicked } = chrome.contextMenus as unknown as {
      onClicked: { dispatch(...said: unknown[]): void };
    };
    onClicked.dispatch({ menuItemId: 'watch', linkUrl });
  }, `${account}/public`);
  await expect
    .poll(() =>
      worker.evaluate(() =>
        (chrome.action as unknown as { getBadgeText(of: object): Promise<string> }).getBadgeText({}),
      ),
    )
    .toBe('2');
  expect(await handedIn(page.request)).toEqual([]);

  await address.turnOn();
  await chromium.stop();
  await chromium.start();
  const [handed] = await expectHandedIn(page.request, 1);
  expect(handed?.url).toBe(`${account}/account`);
  await expect
    .poll(
      async () =>
        (
          (await (await page.request.get('/manage/sources')).json()) as {
            items: { url: string; paused: boolean }[];
          }
        ).items,
    )
    .toContainEqual(expect.objectContaining({ url: `${account}/public`, paused: false }));
  const again = await chromium.click(await chromium.open(`${account}/login`));
  await again.expectText(/In the archive of /);
  await expectHandedIn(page.request, 2);
});

test('what the person discards and changes counts; a revoked browser keeps what waits', async ({
  page,
  browserWithExtension: chromium,
  account,
  address,
}) => {
  await test.step('what the person discards, changes and unticks while another page is being sent counts', async () => {
    await chromium.pair(address.url, await codeOf(page.request));
    await expect.poll(async () => (await paired(page.request))[0]?.last_used_at).toBeTruthy();
    const visited = await chromium.open(`${account}/login`);
    address.delay();
    const unwanted = await chromium.click(visited);
    await unwanted.expectText(/Send now/);
    await unwanted.press('Discard');
    await select(visited, 'met in Berlin');
    const wanted = await chromium.click(visited);
    await wanted.expectText(/met in Berlin/);
    await wanted.set('note', 'Only this.');
    await wanted.evaluate(`document.querySelector('[name=isQuoted]').click()`);
    await wanted.press('Send now');
    address.answer();
    await wanted.expectText(/In the archive of /);
    await wanted.close();
    expect(await handedIn(page.request)).toMatchObject([{ note: 'Only this.' }]);
    expect(await (await page.request.get('/api/findings')).json()).toMatchObject({ total: 0 });
  });
  await test.step('a revoked browser says so and keeps what waits; another program at the address gets nothing', async () => {
    await address.turnOff();
    const asked: string[] = [];
    const stranger = createServer((request, response) => {
      // The browser may ask for leave to send what it had begun to send to the node. It is not given.
      if (request.method === 'OPTIONS') return void response.writeHead(403).end();
      asked.push(`${request.method} ${request.url?.replace(/\/br_.*/, '')} ${request.headers.authorization}`);
      response.setHeader('Access-Control-Allow-Origin', '*').end('{"proof": "no", "session": "no"}');
    });
    stranger.listen(Number(new URL(address.url).port), '127.0.0.1');
    await once(stranger, 'listening');
    const first = await chromium.click(await chromium.open(`${account}/login`));
    await first.expectText(/Another program answers/);
    await first.close();
    // What the browser began to ask the node may end here, with a token that is worth nothing by now.
    const allowed = /^GET \/pair (undefined|Bearer browser-br_[0-9a-f]{20}-[0-9a-f]{64})$/;
    expect(asked).toContain('GET /pair undefined');
    expect(asked.filter((one) => !allowed.test(one))).toEqual([]);
    stranger.close();
    stranger.closeAllConnections();
    await once(stranger, 'close');

    const [known] = await paired(page.request);
    expect((await page.request.delete(`/manage/pairings/${known?.id}`)).status()).toBe(204);
    await address.turnOn();
    const second = await chromium.click(await chromium.open(`${account}/account`));
    await second.expectText(/not paired any more/);
    await second.expectText(/Waiting: 1/);
    await second.close();
    expect(await handedIn(page.request)).toHaveLength(1);

    await (await chromium.options()).reload();
    await chromium.pair(address.url, await codeOf(page.request));
    await expectHandedIn(page.request, 3);
  });
  await test.step('the token of the pairing is never sent', async () => {
    const token = await (await chromium.worker()).evaluate(
      async () =>
        ((await chrome.storage.local.get('pairing')) as { pairing: { token: string } }).pairing.token,
    );
    const sent = Buffer.concat(address.asked).toString('latin1');
    expect(sent).toMatch(/Authorization: Bearer browser-br_[0-9a-f]{20}-[0-9a-f]{64}/i);
    expect(sent).not.toContain(token);
  });
});

test('the browser saves whole pages itself if the person allows it: what is missing else is there', async ({
  page,
  node,
  web,
  browserWithExtension: chromium,
}) => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle r="20"/></svg>';
  web.publish('/mark.svg', { headers: { 'Content-Type': 'image/svg+xml' }, body: svg });
  // Another host: its picture is shown, and no script may read it.
  const address = web.url('/page').replace('127.0.0.1', 'localhost');
  web.publish('/page', `<!doctype html><p>Page</p><img src="${web.url('/mark.svg')}">`);
  await chromium.pair(node.url, await codeOf(page.request));
  const popup = await chromium.click(await chromium.open(address));
  await popup.expectText(/1 part of it could not be read/);
  await popup.close();
  await expectHandedIn(page.request, 1);

  const allowed = await ExtensionBrowser.open(['pageCapture']);
  await allowed.pair(node.url, await codeOf(page.request));
  const second = await allowed.click(await allowed.open(address));
  await second.expectText(/In the archive of /);
  const [whole, partly] = await expectHandedIn(page.request, 2);
  await allowed.close();
  expect([whole?.part_count, partly?.part_count]).toEqual([2, 1]);
});

test('a browser is paired: pages and selections are archived with one click, as typed at last, and withheld', async ({
  page,
  node,
  browserWithExtension: chromium,
  account,
  browser,
  checks,
}) => {
  await test.step('a wrong code is refused, and no page reaches the extension', async () => {
    await page.request.post('/manage/pairings');
    const options = await chromium.sendCode(node.url, 'WRONG-00');
    await expect(options.getByText(/This code is wrong/)).toBeVisible();
    await options.getByLabel('Address').fill('http://192.168.1.2:7717');
    await options.getByRole('button', { name: 'Pair', exact: true }).click();
    await expect(options.getByText(/needs an https address/)).toBeVisible();

    const id = await chromium.id();
    const visited = await chromium.open(`${account}/login`);
    const reached = await visited.evaluate(async (extension) => {
      const load = (file: string) =>
        fetch(`chrome-extension://${extension}/${file}`).then(
          () => file,
          () => '',
        );
      const { chrome: known } = globalThis as unknown as { chrome?: { runtime?: unknown } };
      const frame = document.createElement('iframe');
      frame.src = `chrome-extension://${extension}/popup.html`;
      document.body.append(frame);
      await new Promise((loaded) => frame.addEventListener('load', loaded));
      return [
        await load('manifest.json'),
        await load('popup.html'),
        known?.runtime === undefined,
        frame.contentDocument === null,
      ];
    }, id);
    expect(reached).toEqual(['', '', true, true]);
    const frames = visited.frames().map((frame) => frame.url());
    expect(frames.some((url) => url.startsWith('chrome-extension://') && url.includes('popup'))).toBe(false);
  });
  await test.step('one click archives a page behind a login: it is in the archive, and withheld from visitors', async () => {
    checks.allow(BLOCKED);
    const options = await chromium.pair(node.url, (await codeOf(page.request)).toLowerCase());
    expect(await accessibilityViolations(options, 'light')).toBe('');

    const visited = await chromium.open(`${account}/login`);
    await expect(visited.getByRole('heading', { name: 'Account' })).toBeVisible();
    // Before the click, the extension can read no page.
    const worker = await chromium.worker();
    const refused = await worker.evaluate(async () => {
      const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
      const tried = [
        () => chrome.scripting.executeScript({ target: { tabId: tab?.id ?? 0 }, func: () => 1, args: [] }),
        () => chrome.tabs.captureVisibleTab(tab?.windowId ?? 0, { format: 'png' as const }),
      ];
      const read = await Promise.all(
        tried.map((each) =>
          each().then(
            () => true,
            () => false,
          ),
        ),
      );
      return [...read, chrome.pageCapture !== undefined];
    });
    expect(refused).toEqual([false, false, false]);

    const popup = await chromium.click(visited);
    // Nothing else is pressed.
    const [handed] = await expectHandedIn(page.request, 1);
    await popup.expectText(/In the archive of /);
    await popup.close();
    expect(handed).toMatchObject({
      url: `${account}/account`,
      title: null,
      kind: 'mhtml',
      withheld: { reason: 'login' },
    });
    const details = (await (
      await page.request.get(`/manage/handed-in/${handed?.id}`)
    ).json()) as HandInDetails;
    const html = await (await page.request.get(`/archive/${details.document}`)).text();
    expect(html).toContain('They met in Berlin');
    expect(html).not.toMatch(/hunter2|attachShadow/);

    await page.goto(`/handed-in/${handed?.id}`);
    const seen = page.frameLocator('iframe').first();
    await expect(seen.getByText('They met in Berlin on Monday.')).toBeVisible();
    await expect(seen.getByRole('heading', { name: 'Account' })).toHaveCSS('color', 'rgb(1, 2, 3)');
    await expect(seen.getByText('In the shadow')).toBeVisible();
    const picture = page.getByRole('region', { name: 'What was visible' }).getByRole('img');
    await expect(picture).toHaveJSProperty('naturalWidth', 1280);
    await checks.accessible(page);

    const visitor = await browser.newContext({ baseURL: node.url });
    for (const sha256 of [details.document, details.file.sha256, details.picture?.sha256])
      expect((await visitor.request.get(`/archive/${sha256}`)).status()).toBe(451);
  });
  await test.step('a selection becomes a finding in the chosen case, with the note', async () => {
    const added = await page.request.post('/manage/cases', { data: { title: 'The meeting' } });
    const { id } = (await added.json()) as Case;
    const visited = await chromium.open(`${account}/login`);
    await select(visited, 'met in Berlin');
    const popup = await chromium.click(visited);
    await popup.expectText(/met in Berlin/);
    await popup.expectText(/The meeting/);
    expect(await popup.violations()).toEqual([]);
    await popup.set('case', id);
    await popup.set('note', 'So they did meet.');
    await popup.press('Send now');
    await popup.expectText(/In the archive of /);
    await popup.close();
    const findings = (await (await page.request.get('/api/findings')).json()) as { items: Finding[] };
    expect(findings.items).toMatchObject([
      {
        text: 'So they did meet.',
        passage: { exact: 'met in Berlin', suffix: expect.stringMatching(/^ on Monday\./) },
      },
    ]);
    const chosen = (await (await page.request.get(`/api/cases/${id}`)).json()) as Case;
    expect(chosen.items).toMatchObject([{ kind: 'finding', id: findings.items[0]?.id }]);
  });
  await test.step('what is typed after the browser stopped the worker is not lost, and nothing is sent before', async () => {
    const popup = await chromium.click(await chromium.open(`${account}/login`));
    await popup.expectText(/Send now/);
    await popup.set('note', 'First.');
    await chromium.stopWorker();
    await popup.set('note', 'Second.');
    await popup.press('Send now');
    await popup.expectText(/In the archive of /);
    const handed = await expectHandedIn(page.request, 3);
    expect(handed.map(({ note }) => note)).toEqual(['Second.', 'So they did meet.', null]);
  });
});
