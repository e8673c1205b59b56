import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from '@playwright/test';
import type { DesktopApi } from '../../../shared/node/owner.ts';
import { electronProgram, launchDesktop } from '../support/desktopApp.ts';
import {
  askAsOwner,
  asked,
  expect,
  makePackFile,
  opened,
  recordBrowser,
  runtime,
  test,
} from '../support/desktopTest.ts';
import { startNode } from '../support/nodeProcess.ts';
import { openScriptedWeb } from '../support/scriptedWeb.ts';

// The app closes its own pages, and a trace of a closed page would fail the next test.
test.use({ trace: 'off' });

declare const window: { strongroomDesktop: DesktopApi } & Window;

/** A tray of the fake Electron. */
interface ShownTray {
  toolTip: string;
  menu: { items: { label: string }[] };
}

test.describe(`The desktop app, ${runtime}`, () => {
  test('is started again with nothing, with a pack file and with links', async ({ app, profile }) => {
    const page = await app.firstWindow();
    await test.step('starting it again shows the existing window', async () => {
      await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.hide());
      expect(await app.startAgain()).toBe(0);
      await expect
        .poll(() => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible()))
        .toBe(true);
    });
    await test.step('an opened pack file is added to the archive after confirmation', async () => {
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
    await test.step('opens the link of a peer as a form to confirm, and refuses every other link', async () => {
      // Electron shows the refusal and waits for the user.
      if (app.kind === 'Electron') return;
      await expect(page.getByRole('navigation').first()).toBeVisible();
      await recordBrowser(app, { answer: 0 });
      const key = 'archive.example+0a1b2c3d+AbCd';
      const link = `https://archive.example/sharing#${new URLSearchParams({ key })}`;
      expect(await app.startAgain('--', `strongroom:${link}`)).toBe(0);
      const dialog = page.getByRole('dialog', { name: 'Add a peer' });
      await expect(dialog.getByLabel('Address or link')).toHaveValue('https://archive.example');
      await expect(dialog.getByLabel('Key')).toHaveValue(key);
      const peers = async () => (await (await askAsOwner(page, profile, '/manage/peers')).json()).total;
      expect(await peers()).toBe(0);
      const refused = [
        'strongroom:file:///etc/passwd#key=a',
        'strongroom:javascript:alert(1)',
        'strongroom:https://user:secret@archive.example/sharing#key=a',
        'strongroom:https://archive.example/manage/settings',
        `strongroom:https://archive.example/sharing#key=${'a'.repeat(2_000)}`,
      ];
      for (const [index, hostile] of refused.entries()) {
        // On the command line of a second process, or as macOS hands links over.
        if (index === 0) await app.startAgain(hostile);
        else
          await app.evaluate(
            ({ app: electronApp }, link) =>
              electronApp.emit('open-url', { preventDefault: () => undefined }, link),
            hostile,
          );
        await expect.poll(() => asked(app)).toHaveLength(index + 1);
      }
      expect(await opened(app)).toEqual([]);
      const invitation = `https://archive.example/sharing#invitation-${'0a'.repeat(16)}`;
      await app.startAgain(`strongroom:${invitation}`);
      await expect.poll(() => opened(app)).toEqual([invitation]);
      expect((await asked(app))?.at(-1)).toContain('https://archive.example');
    });
  });

  test('closing the window closes the archive, and another node can open it', async ({
    app,
    launch,
    profile,
  }) => {
    await app.firstWindow();
    await app.closeWindow();
    expect(await app.exited).toBe(0);
    const other = await startNode({ dataFolder: join(profile, 'archive') });
    await test.step('shows why it cannot open, and exits', async () => {
      // Electron shows a dialog and waits for the user.
      if (app.kind === 'Electron') return;
      const refused = await launch();
      expect(await refused.exited).toBe(1);
      expect(refused.errorBoxes()).toEqual([
        { title: 'Strongroom cannot open', content: expect.stringContaining('has the data folder') },
      ]);
    });
    // Fails if the node did not close in order.
    await other.stop();
  });

  test('closes its archive if no window can be opened', async ({ profile }) => {
    test.skip(electronProgram() !== undefined, 'Electron always opens a window.');
    const noBrowser = { newContext: () => Promise.reject(new Error('No window.')) } as unknown as Browser;
    const app = await launchDesktop(noBrowser, [`--user-data-dir=${profile}`, '--port', '0']);
    expect(await app.exited).toBe(1);
    expect(app.errorBoxes()).toEqual([{ title: 'Strongroom cannot open', content: 'Error: No window.' }]);
    const left = await readdir(join(profile, 'archive'));
    expect(left).toContain('strongroom.db');
    expect(left.filter((name) => name === 'listening' || name.endsWith('-wal'))).toEqual([]);
  });

  test('keeps running without its window if the owner chose that, and quits from the menu', async ({
    app,
    profile,
  }) => {
    const page = await app.firstWindow();
    const isVisible = () =>
      app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible());
    const health = () => page.evaluate(async () => (await fetch('/api/health')).status);
    await page.evaluate(() => window.strongroomDesktop.changePreferences({ keep_running: true }));
    await app.closeWindow();
    expect(await isVisible()).toBe(false);
    expect(await health()).toBe(200);
    await test.step('keeps running although its preferences cannot be stored', async () => {
      await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.show());
      // As on a full disk: the file cannot be written.
      await mkdir(join(profile, 'desktop.json.new'));
      await app.closeWindow();
      expect(await health()).toBe(200);
    });
    await app.evaluate(({ app: electronApp }) => electronApp.quit());
    expect(await app.exited).toBe(0);
  });

  test('shows its state in the tray, the menu and the windows, and reads documents in another process', async ({
    app,
    profile,
  }) => {
    const page = await app.firstWindow();
    await test.step('the tray shows the state of the collection', async () => {
      // Electron has no API to read a tray.
      if (app.kind === 'Electron') return;
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
    await test.step('a menu item opens its page', async () => {
      await expect(page.getByRole('navigation').first()).toBeVisible();
      await app.evaluate(({ Menu }) =>
        Menu.getApplicationMenu()?.getMenuItemById('go /ledger Ledger')?.click(),
      );
      await expect(page).toHaveURL(/\/ledger$/);
    });
    await test.step('a second window has the session of the first, and takes what the menu opens', async () => {
      const first = page;
      await app.evaluate(({ Menu }) => Menu.getApplicationMenu()?.getMenuItemById('new-window')?.click());
      await expect.poll(() => app.windows().length).toBe(2);
      const second = app.windows()[1] ?? first;
      await expect(second.getByText('Signed in as owner')).toBeVisible();
      await app.evaluate(({ BrowserWindow, Menu }) => {
        BrowserWindow.getAllWindows().at(-1)?.focus();
        Menu.getApplicationMenu()?.getMenuItemById('find')?.click();
      });
      await expect(second.getByRole('dialog').getByRole('textbox')).toBeFocused();
      await expect(first.getByRole('dialog')).toHaveCount(0);
      // The app goes on with the window that is left.
      await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().at(-1)?.close());
      await expect.poll(() => app.windows().length).toBe(1);
      await app.evaluate(({ Menu }) =>
        Menu.getApplicationMenu()?.getMenuItemById('go /packs Packs')?.click(),
      );
      await expect(first).toHaveURL(/\/packs$/);
    });
    await test.step('says which disk is missing, and that it is back', async () => {
      // Electron has no API to read notifications.
      if (app.kind === 'Electron') return;
      await expect(page.getByRole('heading', { level: 1, name: 'Packs' })).toBeVisible();
      const shown = () =>
        app.evaluate((electron) => {
          const { Notification, Tray } = electron as unknown as {
            Notification: { shown: { title: string; body: string }[] };
            Tray: { all: ShownTray[] };
          };
          const last = Notification.shown.at(-1);
          return `${Tray.all[0]?.toolTip}. ${last?.title}. ${last?.body}`;
        });
      const folder = join(profile, 'archive');
      await rename(folder, `${folder}-away`);
      await expect
        .poll(shown)
        .toBe(
          `Strongroom: the disk of the archive cannot be reached. The disk of the archive cannot be reached. Connect the disk with ${folder} again, and Strongroom continues by itself.`,
        );
      await expect(page.getByRole('alert')).toContainText('The disk of the archive cannot be reached');
      await rename(`${folder}-away`, folder);
      await expect.poll(shown).toContain('no sources are watched yet. The disk of the archive is back.');
      await expect(page.getByRole('alert')).toHaveCount(0);
    });
    await test.step('opens at login once the owner chose that', async () => {
      // It would change this machine.
      if (process.platform === 'linux' || app.kind === 'Electron') return;
      await page.evaluate(() => window.strongroomDesktop.changePreferences({ open_at_login: true }));
      const told = () =>
        app.evaluate(({ app: electronApp }) => (electronApp as unknown as { told: object }).told);
      await expect.poll(told).toMatchObject({ loginItem: { openAtLogin: true } });
    });
    await test.step('shows the alerts for this desktop', async () => {
      // Electron has no API to read notifications.
      if (app.kind === 'Electron') return;
      const token = (await readFile(join(profile, 'archive', 'owner-token'), 'utf8')).trim();
      const sent = await page.evaluate(async (bearer) => {
        const post = async (path: string, body: object) => {
          const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${bearer}` };
          const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
          return (await answer.json()) as { id: string; deliveries?: { state: string }[] };
        };
        const rule = { name: 'Fees', when: {}, to: [{ kind: 'desktop' }], every: 'at_once' };
        const { id } = await post('/manage/alerts', rule);
        return (await post(`/manage/alerts/${id}/test`, {})).deliveries?.map(({ state }) => state);
      }, token);
      expect(sent).toEqual(['sent']);
      const shown = await app.evaluate((electron) =>
        (electron as unknown as { Notification: { shown: { title: string }[] } }).Notification.shown.map(
          ({ title }) => title,
        ),
      );
      expect(shown).toContain('This is a test of Strongroom');
    });
    await test.step('shows how many events are unseen at its icon', async () => {
      // There is no badge to read.
      if (app.kind === 'Electron' || process.platform === 'win32') return;
      const badge = () =>
        app.evaluate(
          ({ app: electronApp }) => (electronApp as unknown as { told: { badge?: number } }).told.badge,
        );
      await expect.poll(badge).toBe(0);
      const web = await openScriptedWeb();
      web.publish('/page', 'One.');
      const body = JSON.stringify({ url: web.url('/page'), name: 'The page' });
      await askAsOwner(page, profile, '/manage/sources', { method: 'POST', body });
      await askAsOwner(page, profile, '/manage/collections?wait=true', { method: 'POST' });
      await expect.poll(badge).toBe(1);
      await web.close();
    });
    await test.step('reads archived documents in a utility process', async () => {
      const web = await openScriptedWeb();
      web.publish('/page', '<title>Read separately</title><p>Words of a stranger.');
      const ask = async (path: string, init?: RequestInit) =>
        (await askAsOwner(page, profile, path, init)).json();
      const body = JSON.stringify({ url: web.url('/page'), name: 'The page' });
      await ask('/manage/sources', { method: 'POST', body });
      await ask('/manage/collections?wait=true', { method: 'POST' });
      const { items } = (await ask('/api/events')) as { items: { sha256: string }[] };
      const text: unknown = await ask(`/archive/${items[0]?.sha256}/text`);
      expect(text).toMatchObject({
        title: 'Read separately',
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
  });

  test('a window or a graphics driver that crashes does not end the app', async ({ launch, profile }) => {
    const app = await launch();
    await app.firstWindow();
    await test.step('loads a window that crashed again, but not without end', async () => {
      // A real renderer cannot be crashed four times in the same moment.
      if (app.kind === 'Electron') return;
      const reloads = await app.evaluate(({ BrowserWindow }) => {
        const [window] = BrowserWindow.getAllWindows();
        let count = 0;
        if (window) window.reload = () => void (count += 1);
        for (let crash = 0; crash < 5; crash += 1)
          window?.webContents.emit('render-process-gone', {}, { reason: 'crashed' });
        return count;
      });
      expect(reloads).toBe(3);
      const failures = ['The window keeps crashing', 'The window keeps crashing'];
      await expect.poll(() => app.errorBoxes().map(({ title }) => title)).toEqual(failures);
    });
    await test.step('draws without the graphics driver after that failed again and again', async () => {
      // A real graphics process cannot be crashed from here.
      if (app.kind === 'Electron') return;
      await app.evaluate(({ app: electronApp }) => {
        const crash = (type: string) =>
          electronApp.emit('child-process-gone', {}, { type, reason: 'crashed', exitCode: 5 });
        for (const type of ['Utility', 'Utility', 'GPU', 'GPU', 'GPU']) crash(type);
      });
      await expect
        .poll(() => app.errorBoxes().map(({ title }) => title))
        .toEqual(expect.arrayContaining(['The graphics driver keeps failing']));
      const log = await readFile(join(profile, 'logs', 'strongroom.log'), 'utf8');
      expect(log.match(/A process ended unexpectedly/g)).toHaveLength(5);
      await app.closeWindow();
      await app.exited;
      const next = await launch();
      await next.firstWindow();
      const isAccelerated = () =>
        next.evaluate(({ app: electronApp }) => electronApp.isHardwareAccelerationEnabled());
      expect(await isAccelerated()).toBe(false);
    });
  });
});
