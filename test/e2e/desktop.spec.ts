import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base, expect } from '@playwright/test';
import type { DesktopApi } from '../../shared/desktop.ts';
import { type DesktopApp, electronProgram, launchDesktop } from './support/desktopApp.ts';
import { startNode } from './support/nodeProcess.ts';
import { openScriptedWeb } from './support/scriptedWeb.ts';

interface Fixtures {
  /** A fresh profile of the app; its archive is in `archive` below. */
  profile: string;
  launch: () => Promise<DesktopApp>;
  app: DesktopApp;
}

const test = base.extend<Fixtures>({
  // oxlint-disable-next-line no-empty-pattern -- Playwright reads the fixtures that are wanted from the pattern.
  profile: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-desktop-'));
    await use(folder);
    await rm(folder, { recursive: true, force: true });
  },
  launch: async ({ browser, profile }, use) => {
    const started: DesktopApp[] = [];
    await use(async () => {
      const app = await launchDesktop(browser, [`--user-data-dir=${profile}`, '--port', '0']);
      started.push(app);
      return app;
    });
    for (const app of started) app.kill();
    await Promise.all(started.map((app) => app.exited));
  },
  app: async ({ launch }, use) => use(await launch()),
});

// The app closes its own pages, and a trace of one that is gone would fail the next test.
test.use({ trace: 'off' });

declare const window: { strongroomDesktop: DesktopApi; require?: unknown; process?: unknown } & Window;

/** A tray of the stand-in. */
interface ShownTray {
  toolTip: string;
  menu: { items: { label: string }[] };
}

const usedIs = electronProgram() === undefined ? 'on the stand-in for Electron' : 'in Electron';

test.describe(`The desktop app, ${usedIs}`, () => {
  test('opens a window that is signed in as the owner', async ({ app }) => {
    const page = await app.firstWindow();
    const session = await page.evaluate(async () => (await fetch('/api/session')).json());
    expect(session).toMatchObject({ owner: true });
    expect(new URL(page.url()).pathname).toBe('/');
    expect(new URL(page.url()).hostname).toBe('127.0.0.1');
  });

  test('gives the page its bridge and nothing of Node', async ({ app }) => {
    const page = await app.firstWindow();
    const given = await page.evaluate(async () => ({
      ...window.strongroomDesktop,
      preferences: await window.strongroomDesktop.readPreferences(),
      require: typeof window.require,
      process: typeof window.process,
    }));
    expect(given).toMatchObject({
      platform: process.platform,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      preferences: { keep_running: false, notify: [] },
      require: 'undefined',
      process: 'undefined',
    });
    const preferences = await app.evaluate(({ BrowserWindow }) => {
      type Asked = { getLastWebPreferences?: () => object | null };
      return (BrowserWindow.getAllWindows()[0]?.webContents as Asked | undefined)?.getLastWebPreferences?.();
    });
    if (app.kind === 'stand-in' || preferences) {
      expect(preferences).toMatchObject({
        contextIsolation: true,
        sandbox: true,
        nodeIntegration: false,
        webSecurity: true,
        webviewTag: false,
      });
    }
  });

  test('keeps what the person chose, and refuses what no rule names', async ({ app, profile }) => {
    const page = await app.firstWindow();
    const changed = await page.evaluate(() =>
      window.strongroomDesktop.changePreferences({ keep_running: true, notify: ['disappeared'] }),
    );
    expect(changed).toEqual({ keep_running: true, notify: ['disappeared'] });
    await expect(
      page.evaluate(() => window.strongroomDesktop.changePreferences({ window: 1 } as never)),
    ).rejects.toThrow();
    expect(JSON.parse(await readFile(join(profile, 'desktop.json'), 'utf8'))).toMatchObject(changed);
  });

  test('lets a page copy and gives it no other permission', async ({ app }) => {
    const page = await app.firstWindow();
    const states = await page.evaluate(async () => {
      const asked = ['geolocation', 'notifications', 'camera', 'clipboard-read'] as const;
      const found = asked.map(
        async (name) => (await navigator.permissions.query({ name: name as PermissionName })).state,
      );
      return Promise.all(found);
    });
    expect(states).toEqual(['denied', 'denied', 'denied', 'denied']);
    await page.evaluate(() => navigator.clipboard.writeText('a digest'));
  });

  test('stays on its own pages: a foreign one is refused, and its address asked about', async ({ app }) => {
    const page = await app.firstWindow();
    const before = page.url();
    await recordBrowser(app, { answer: 0 });
    await page.evaluate(() => window.location.assign('https://strongroom.example/foreign?a=1'));
    await expect.poll(() => opened(app)).toEqual(['https://strongroom.example/foreign?a=1']);
    await page.evaluate(() => window.location.assign('http://127.0.0.1:9/another-port'));
    await expect.poll(() => opened(app)).toHaveLength(2);
    expect(page.url()).toBe(before);
    await expect(page.evaluate(async () => (await fetch('/api/session')).ok)).resolves.toBe(true);
  });

  test('saves what strangers wrote rather than showing it beside the bridge', async ({ app }) => {
    const page = await app.firstWindow();
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

  test('opens an external link in the browser only when the person says so', async ({ app }) => {
    const page = await app.firstWindow();
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

  test('starting it again shows the window that is there', async ({ app }) => {
    await app.firstWindow();
    await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.hide());
    expect(await app.startAgain()).toBe(0);
    await expect
      .poll(() => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible()))
      .toBe(true);
  });

  test('a pack file that is opened is added to the archive when the person says so', async ({
    app,
    profile,
  }) => {
    const page = await app.firstWindow();
    await expect(page.getByRole('navigation').first()).toBeVisible();
    const { file, id } = await makePackFile(profile);
    await recordBrowser(app, { answer: 1 });
    await app.startAgain(file);
    await expect.poll(() => asked(app)).toHaveLength(1);
    const packs = () => page.evaluate(async () => (await (await fetch('/api/packs')).json()).total);
    expect(await packs()).toBe(0);
    await recordBrowser(app, { answer: 0 });
    await app.startAgain(file);
    await expect(page).toHaveURL(new RegExp(`/packs/${id}$`));
    expect(await packs()).toBe(1);
  });

  test('closing the window closes the archive in order, and another node can open it', async ({
    app,
    profile,
  }) => {
    await app.firstWindow();
    await app.closeWindow();
    expect(await app.exited).toBe(0);
    const next = await startNode({ dataFolder: join(profile, 'archive') });
    expect(await next.stop()).toBe(0);
  });

  test('goes on without its window where the person wants that, and ends from the menu', async ({ app }) => {
    const page = await app.firstWindow();
    await page.evaluate(() => window.strongroomDesktop.changePreferences({ keep_running: true }));
    await app.closeWindow();
    expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible())).toBe(
      false,
    );
    expect(await page.evaluate(async () => (await fetch('/api/health')).status)).toBe(200);
    await app.evaluate(({ app: electronApp }) => electronApp.quit());
    expect(await app.exited).toBe(0);
  });

  test('a menu item brings the page to where it says', async ({ app }) => {
    const page = await app.firstWindow();
    await expect(page.getByRole('navigation').first()).toBeVisible();
    await app.evaluate(({ Menu }) => Menu.getApplicationMenu()?.getMenuItemById('go-to-ledger')?.click());
    await expect(page).toHaveURL(/\/ledger$/);
  });

  test('the tray says how collection is and brings the window back', async ({ app }) => {
    test.skip(app.kind === 'Electron', 'Electron tells nobody what its trays show.');
    await app.firstWindow();
    const tray = () =>
      app.evaluate((electron) => {
        const [only] = (electron as unknown as { Tray: { all: ShownTray[] } }).Tray.all;
        return { toolTip: only?.toolTip, items: only?.menu.items.map(({ label }) => label) };
      });
    await expect.poll(tray).toEqual({
      toolTip: 'Strongroom: no sources are watched yet',
      items: ['no sources are watched yet', '', 'Open Strongroom', 'Quit'],
    });
  });

  test('tells the news that the person chose, and no other', async ({ app }) => {
    test.skip(app.kind === 'Electron', 'Electron tells nobody what the system shows.');
    const web = await openScriptedWeb();
    web.publish('/notice', '<title>Notice</title>');
    const page = await app.firstWindow();
    await page.evaluate(() => window.strongroomDesktop.changePreferences({ notify: ['changed'] }));
    const check = () =>
      page.evaluate(async () => void (await fetch('/manage/collections?wait=true', { method: 'POST' })));
    await page.evaluate(async (url) => {
      const body = JSON.stringify({ url, name: 'The notice' });
      await fetch('/manage/sources', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      });
    }, web.url('/notice'));
    await check();
    web.publish('/notice', '<title>Another notice</title>');
    await check();
    const told = () =>
      app.evaluate((electron) =>
        (electron as unknown as { Notification: { shown: { title: string }[] } }).Notification.shown.map(
          ({ title }) => title,
        ),
      );
    await expect.poll(told).toEqual(['The notice has changed']);
    await web.close();
  });

  test('reads archived documents in a utility process, which no fuse forbids', async ({ app }) => {
    const web = await openScriptedWeb();
    web.publish('/page', '<title>Read apart</title><p>Words of a stranger.');
    const page = await app.firstWindow();
    const text = await page.evaluate(async (url) => {
      const send = (path: string, body: object) =>
        fetch(path, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        });
      await send('/manage/sources', { url, name: 'The page' });
      await fetch('/manage/collections?wait=true', { method: 'POST' });
      const { items } = (await (await fetch('/api/events')).json()) as { items: { sha256: string }[] };
      return (await fetch(`/archive/${items[0]?.sha256}/text`)).json();
    }, web.url('/page'));
    expect(text).toMatchObject({
      title: 'Read apart',
      text: expect.stringContaining('Words of a stranger.'),
    });
    const readers = await app.evaluate(({ app: electronApp }) =>
      electronApp
        .getAppMetrics()
        .filter(({ type, name }) => type === 'Utility' && name === 'Strongroom reader'),
    );
    expect(readers).toHaveLength(1);
    await web.close();
  });

  test('says in a sentence why it cannot open, and ends', async ({ launch, profile }) => {
    test.skip(electronProgram() !== undefined, 'Electron shows the sentence and waits for the person.');
    const other = await startNode({ dataFolder: join(profile, 'archive') });
    const app = await launch();
    expect(await app.exited).toBe(1);
    expect(app.errorBoxes()).toEqual([
      { title: 'Strongroom cannot open', content: expect.stringContaining('has the data folder') },
    ]);
    await other.stop();
  });
});

/** A pack file as another node gives it out. */
async function makePackFile(folder: string): Promise<{ file: string; id: string }> {
  const other = await startNode();
  const { id } = (await (
    await fetch(new URL('/api/packs', other.url), {
      method: 'POST',
      headers: { Authorization: `Bearer ${other.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        pack_format: 1,
        terms_version: '2026-10-01',
        title: 'A pack from elsewhere',
        authors: [{ name: 'Ada Lovelace' }],
        license: 'CC0-1.0',
        outcome: 'null',
      }),
    })
  ).json()) as { id: string };
  const bytes = await (await fetch(new URL(`/api/packs/${id}/file`, other.url))).bytes();
  const file = join(folder, `${id}.pack.zip`);
  await writeFile(file, bytes);
  await other.stop();
  return { file, id };
}

/** Puts recorders in the place of the system's question and browser. */
async function recordBrowser(app: DesktopApp, { answer }: { answer: number }): Promise<void> {
  await app.evaluate(({ dialog, shell }, response) => {
    const record = globalThis as unknown as { asked?: string[]; opened?: string[] };
    record.asked ??= [];
    record.opened ??= [];
    dialog.showMessageBox = (async (...asked: { detail: string }[]) => {
      record.asked?.push(asked.at(-1)?.detail ?? '');
      return { response, checkboxChecked: false };
    }) as never;
    shell.openExternal = async (url: string) => void record.opened?.push(url);
  }, answer);
}

function asked(app: DesktopApp): Promise<string[] | undefined> {
  return app.evaluate(() => (globalThis as unknown as { asked?: string[] }).asked);
}

function opened(app: DesktopApp): Promise<string[] | undefined> {
  return app.evaluate(() => (globalThis as unknown as { opened?: string[] }).opened);
}
