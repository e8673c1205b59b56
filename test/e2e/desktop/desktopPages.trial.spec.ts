import { join } from 'node:path';
import { PNG } from 'pngjs';
import type { ListedPage, PageCapture } from '../../../shared/collection/page.ts';
import { askAsOwner, expect, runtime, test } from '../support/desktopTest.ts';
import { startNode } from '../support/nodeProcess.ts';
import { openScriptedWeb } from '../support/scriptedWeb.ts';

// The app closes its own pages, and a trace of a closed page would fail the next test.
test.use({ trace: 'off' });

/** A page that is empty without its script, taller than the viewport, with a frame, and green at its end. */
const PAGE = `<!doctype html><title>Prices</title>
<style>body { margin: 0; } #end { position: absolute; top: 2900px; height: 100px; width: 100%; background: #00ff00; }</style>
<main></main><iframe src="/frame" style="border: 0"></iframe><div id="end"></div>
<script>
  fetch('/prices', { method: 'POST', body: 'all' }).then((answer) => answer.json()).then(({ fee }) => {
    const names = /Electron|Headless|strongroom/i.test(navigator.userAgent) ? ' Named.' : '';
    document.querySelector('main').textContent = 'The fee is ' + fee + '.' + names;
    alert('A dialog');
    window.open('/popup');
    document.cookie = 'seen=1';
  });
</script>`;

test.describe(`Page captures of the desktop app, ${runtime}`, () => {
  test('keep what a page shows, drawn by Electron without a network, and leave nothing behind', async ({
    app,
    profile,
  }) => {
    const web = await openScriptedWeb();
    web.publish('/page', PAGE);
    web.publish('/frame', '<p>Words in a frame.');
    web.publish('/prices', { headers: { 'Content-Type': 'application/json' }, body: '{"fee":"12 EUR"}' });
    const window = await app.firstWindow();
    await test.step('keep what a page shows, drawn by Electron without a network, and draw it again', async () => {
      const ask = (path: string, init?: RequestInit) => askAsOwner(window, profile, path, init);
      const send = async (path: string, body?: object) =>
        (await ask(path, { method: 'POST', ...(body && { body: JSON.stringify(body) }) })).json();
      await send('/manage/sources', { url: web.url('/page'), name: 'Prices', capture: 'page' });
      await send('/manage/collections?wait=true');
      const { items } = (await (await ask('/archive/pages')).json()) as { items: ListedPage[] };
      const id = items[0]?.id ?? 'none';
      const captured = {
        page: (await (await ask(`/archive/pages/${id}`)).json()) as PageCapture,
        text: await (await ask(`/archive/pages/${id}/text`)).text(),
        picture: await (await ask(`/archive/pages/${id}/picture`)).bytes(),
        drawn: (await send(`/archive/pages/${id}/draw`)) as object,
      };

      expect(captured.text).toBe('The fee is 12 EUR.\nWords in a frame.\n');
      expect(captured.page).toMatchObject({
        outcome: 'complete',
        title: 'Prices',
        browser: { name: 'Electron', version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
        viewport: { width: 1280, height: 800 },
      });
      expect(captured.page.requests.map(({ url, from }) => [new URL(url).pathname, from])).toEqual(
        expect.arrayContaining([
          ['/page', 'web'],
          ['/frame', 'web'],
          ['/prices', 'web'],
        ]),
      );
      expect(web.requests('/popup')).toBe(0);
      const picture = PNG.sync.read(Buffer.from(captured.picture));
      expect([picture.width, picture.height]).toEqual([1280, 3000]);
      expect([...picture.data.subarray(-4)]).toEqual([0, 255, 0, 255]);
      expect(captured.drawn).toMatchObject({
        same_picture: true,
        same_text: true,
        same_environment: true,
        differences: [],
      });
    });
    await test.step('leave no window and no data behind, and do not keep the app from quitting', async () => {
      // Electron has no list of its sessions.
      if (app.kind === 'Electron') return;
      await askAsOwner(window, profile, '/manage/collections?wait=true', { method: 'POST' });
      const left = await app.evaluate((electron) => {
        const { session, BrowserWindow } = electron as unknown as {
          session: { partitions: Map<string, { cleared: number; proxy: object }> };
          BrowserWindow: { getAllWindows(): object[] };
        };
        const sessions = [...session.partitions].map(([name, { cleared, proxy }]) => ({
          isPersistent: name.startsWith('persist:'),
          cleared,
          proxy,
        }));
        return { sessions, windows: BrowserWindow.getAllWindows().length };
      });
      expect(left.windows).toBe(1);
      expect(left.sessions).toEqual([
        {
          isPersistent: false,
          // Once after each drawing.
          cleared: 3,
          proxy: { proxyRules: '127.0.0.1:9', proxyBypassRules: '<-loopback>' },
        },
      ]);
      await app.closeWindow();
      expect(await app.exited).toBe(0);
    });
    await web.close();
  });

  test('are ended when the app quits, which is no fault of the page', async ({ app, profile }) => {
    const web = await openScriptedWeb();
    web.publish('/endless', '<title>Endless</title><script>for (;;);</script>');
    const window = await app.firstWindow();
    const body = JSON.stringify({ url: web.url('/endless'), name: 'Endless', capture: 'page' });
    await askAsOwner(window, profile, '/manage/sources', { method: 'POST', body });
    await askAsOwner(window, profile, '/manage/collections', { method: 'POST' });
    await expect
      .poll(() => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length))
      .toBe(2);
    await app.closeWindow();
    expect(await app.exited).toBe(0);
    await web.close();
    const next = await startNode({ dataFolder: join(profile, 'archive') });
    const { items } = (await (await fetch(new URL('/api/sources', next.url))).json()) as {
      items: { page_error: string | null; last_page: string | null }[];
    };
    expect(items).toMatchObject([{ page_error: null, last_page: null }]);
    await next.stop();
  });
});
