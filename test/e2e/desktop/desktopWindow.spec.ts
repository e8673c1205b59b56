import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DesktopApi } from '../../../shared/node/owner.ts';
import { asked, expect, opened, recordBrowser, runtime, test } from '../support/desktopTest.ts';

// The app closes its own pages, and a trace of a closed page would fail the next test.
test.use({ trace: 'off' });

declare const window: { strongroomDesktop: DesktopApi; require?: unknown; process?: unknown } & Window;

test.describe(`The window of the desktop app, ${runtime}`, () => {
  test('opens a window that is signed in as the owner, with the desktop API and few permissions', async ({
    app,
    profile,
  }) => {
    const page = await app.firstWindow();
    await test.step('opens a window that is signed in as the owner', async () => {
      await expect(
        page.getByRole('navigation').first().getByRole('link', { name: 'Settings' }),
      ).toBeVisible();
      expect(new URL(page.url())).toMatchObject({ pathname: '/', hash: '' });
      expect(new URL(page.url()).hostname).toBe('127.0.0.1');
    });
    await test.step('gives the page the desktop API and nothing of Node', async () => {
      const given = await page.evaluate(async () => ({
        ...window.strongroomDesktop,
        preferences: await window.strongroomDesktop.readPreferences(),
        require: typeof window.require,
        process: typeof window.process,
      }));
      expect(given).toMatchObject({
        platform: process.platform,
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        preferences: { keep_running: false, open_at_login: false },
        require: 'undefined',
        process: 'undefined',
      });
      const preferences = await app.evaluate(({ BrowserWindow }) => {
        type Inspectable = { getLastWebPreferences?: () => object | null };
        return (
          BrowserWindow.getAllWindows()[0]?.webContents as Inspectable | undefined
        )?.getLastWebPreferences?.();
      });
      if (app.kind === 'fake' || preferences) {
        expect(preferences).toMatchObject({
          contextIsolation: true,
          sandbox: true,
          nodeIntegration: false,
          webSecurity: true,
          webviewTag: false,
        });
      }
    });
    await test.step('stores the preferences and refuses unknown ones', async () => {
      const changed = await page.evaluate(() =>
        window.strongroomDesktop.changePreferences({ keep_running: true }),
      );
      expect(changed).toEqual({ keep_running: true, open_at_login: false });
      await expect(
        page.evaluate(() => window.strongroomDesktop.changePreferences({ window: 1 } as never)),
      ).rejects.toThrow();
      expect(JSON.parse(await readFile(join(profile, 'desktop.json'), 'utf8'))).toMatchObject(changed);
    });
    await test.step('allows a page to copy text and denies every other permission', async () => {
      const states = await page.evaluate(async () => {
        const names = ['geolocation', 'notifications', 'camera', 'clipboard-read'] as const;
        const found = names.map(
          async (name) => (await navigator.permissions.query({ name: name as PermissionName })).state,
        );
        return Promise.all(found);
      });
      expect(states).toEqual(['denied', 'denied', 'denied', 'denied']);
      await page.evaluate(() => navigator.clipboard.writeText('a digest'));
      // Frames show archived documents.
      test.skip(app.kind === 'Electron', 'Electron has no API to ask the handlers.');
      const inFrame = await app.evaluate(({ session }) =>
        (
          session.defaultSession as unknown as { grants(name: string, isMain: boolean): Promise<boolean> }
        ).grants('clipboard-sanitized-write', false),
      );
      expect(inFrame).toBe(false);
    });
  });

  test('stays on its own pages, and opens other URLs in the browser only after a question', async ({
    app,
  }) => {
    const page = await app.firstWindow();
    await test.step('stays on its own pages and asks before it opens other URLs in the browser', async () => {
      const before = page.url();
      await recordBrowser(app, { answer: 0 });
      await page.evaluate(() => window.location.assign('https://strongroom.example/foreign?a=1'));
      await expect.poll(() => opened(app)).toEqual(['https://strongroom.example/foreign?a=1']);
      await page.evaluate(() => window.location.assign('http://127.0.0.1:9/another-port'));
      await expect.poll(() => opened(app)).toHaveLength(2);
      expect(page.url()).toBe(before);
      await expect(page.evaluate(async () => (await fetch('/api/session')).ok)).resolves.toBe(true);
    });
    await test.step('downloads stored content instead of showing it', async () => {
      const before = page.url();
      await app.evaluate(({ BrowserWindow }) => {
        const record = globalThis as unknown as { saved: string[] };
        record.saved = [];
        const contents = BrowserWindow.getAllWindows()[0]?.webContents;
        if (contents) contents.downloadURL = (url) => void record.saved.push(new URL(url).pathname);
      });
      const object = `/archive/${'0'.repeat(64)}`;
      await page.evaluate((path) => window.location.assign(path), object);
      const saved = () => app.evaluate(() => (globalThis as unknown as { saved: string[] }).saved);
      await expect.poll(saved).toEqual([object]);
      expect(page.url()).toBe(before);
    });
    await test.step('opens an external link in the browser only after confirmation', async () => {
      await recordBrowser(app, { answer: 1 });
      await page.evaluate(() => window.open('https://strongroom.example/declined'));
      await expect.poll(() => asked(app)).toEqual(['https://strongroom.example/declined']);
      expect(await opened(app)).toEqual([]);
      await recordBrowser(app, { answer: 0 });
      await page.evaluate(() => window.open('https://strongroom.example/accepted'));
      await expect.poll(() => opened(app)).toEqual(['https://strongroom.example/accepted']);
      await page.evaluate(() => window.open('file:///etc/hostname'));
      await page.evaluate(() => window.open('https://strongroom.example/last'));
      await expect.poll(() => opened(app)).toHaveLength(2);
      expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1);
    });
  });
});
