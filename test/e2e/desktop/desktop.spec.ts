import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DesktopApi } from '../../../shared/node/owner.ts';
import { electronProgram } from '../support/desktopApp.ts';
import { asked, expect, makePackFile, recordBrowser, runtime, test } from '../support/desktopTest.ts';
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
  test('starting it again shows the existing window', async ({ app }) => {
    await app.firstWindow();
    await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.hide());
    expect(await app.startAgain()).toBe(0);
    await expect
      .poll(() => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible()))
      .toBe(true);
  });

  test('an opened pack file is added to the archive after confirmation', async ({ app, profile }) => {
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

  test('closing the window closes the archive, and another node can open it', async ({ app, profile }) => {
    await app.firstWindow();
    await app.closeWindow();
    expect(await app.exited).toBe(0);
    const next = await startNode({ dataFolder: join(profile, 'archive') });
    // Fails if the node did not close in order.
    await next.stop();
  });

  test('keeps running without its window if the owner chose that, and quits from the menu', async ({
    app,
  }) => {
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

  test('keeps running although its preferences cannot be stored', async ({ app, profile }) => {
    const page = await app.firstWindow();
    await page.evaluate(() => window.strongroomDesktop.changePreferences({ keep_running: true }));
    // As on a full disk: the file cannot be written.
    await mkdir(join(profile, 'desktop.json.new'));
    await app.closeWindow();
    expect(await page.evaluate(async () => (await fetch('/api/health')).status)).toBe(200);
    await app.evaluate(({ app: electronApp }) => electronApp.quit());
    expect(await app.exited).toBe(0);
  });

  test('a menu item opens its page', async ({ app }) => {
    const page = await app.firstWindow();
    await expect(page.getByRole('navigation').first()).toBeVisible();
    await app.evaluate(({ Menu }) => Menu.getApplicationMenu()?.getMenuItemById('go-to-ledger')?.click());
    await expect(page).toHaveURL(/\/ledger$/);
  });

  test('the tray shows the state of the collection', async ({ app }) => {
    test.skip(app.kind === 'Electron', 'Electron has no API to read a tray.');
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

  test('makes an alert of the types of events that an earlier version notified of', async ({
    launch,
    profile,
  }) => {
    await writeFile(join(profile, 'desktop.json'), JSON.stringify({ notify: ['changed'] }));
    const app = await launch();
    const page = await app.firstWindow();
    const rules = () =>
      page.evaluate(
        async () => ((await (await fetch('/manage/alerts')).json()) as { items: object[] }).items,
      );
    await expect
      .poll(rules)
      .toMatchObject([{ when: { event_types: ['changed'] }, to: [{ kind: 'desktop' }] }]);
    const stored = async () => JSON.parse(await readFile(join(profile, 'desktop.json'), 'utf8')) as object;
    await expect.poll(stored).toMatchObject({ notify: [] });
  });

  test('loads a window that crashed again, but not without end', async ({ app }) => {
    test.skip(app.kind === 'Electron', 'A real renderer cannot be crashed four times in the same moment.');
    await app.firstWindow();
    const reloads = await app.evaluate(({ BrowserWindow }) => {
      const [window] = BrowserWindow.getAllWindows();
      let count = 0;
      if (window) window.reload = () => void (count += 1);
      for (let crash = 0; crash < 5; crash += 1)
        window?.webContents.emit('render-process-gone', {}, { reason: 'crashed' });
      return count;
    });
    expect(reloads).toBe(3);
  });

  test('shows the alerts for this desktop', async ({ app }) => {
    test.skip(app.kind === 'Electron', 'Electron has no API to read notifications.');
    const page = await app.firstWindow();
    const sent = await page.evaluate(async () => {
      const post = async (path: string, body: object) => {
        const headers = { 'Content-Type': 'application/json' };
        const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
        return (await answer.json()) as { id: string; deliveries?: { state: string }[] };
      };
      const rule = { name: 'Fees', when: {}, to: [{ kind: 'desktop' }], every: 'at_once' };
      const { id } = await post('/manage/alerts', rule);
      return (await post(`/manage/alerts/${id}/test`, {})).deliveries?.map(({ state }) => state);
    });
    expect(sent).toEqual(['sent']);
    const shown = await app.evaluate((electron) =>
      (electron as unknown as { Notification: { shown: { title: string }[] } }).Notification.shown.map(
        ({ title }) => title,
      ),
    );
    expect(shown).toContain('This is a test of Strongroom');
  });

  test('reads archived documents in a utility process', async ({ app }) => {
    const web = await openScriptedWeb();
    web.publish('/page', '<title>Read separately</title><p>Words of a stranger.');
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

  test('shows why it cannot open, and exits', async ({ launch, profile }) => {
    test.skip(electronProgram() !== undefined, 'Electron shows a dialog and waits for the user.');
    const other = await startNode({ dataFolder: join(profile, 'archive') });
    const app = await launch();
    expect(await app.exited).toBe(1);
    expect(app.errorBoxes()).toEqual([
      { title: 'Strongroom cannot open', content: expect.stringContaining('has the data folder') },
    ]);
    await other.stop();
  });
});
