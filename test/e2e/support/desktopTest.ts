import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base, expect, type Page } from '@playwright/test';
import { type DesktopApp, electronProgram, launchDesktop } from './desktopApp.ts';
import { startNode } from './nodeProcess.ts';

interface Fixtures {
  /** A new profile of the app; its archive is in the subfolder `archive`. */
  profile: string;
  launch: () => Promise<DesktopApp>;
  app: DesktopApp;
}

/** Playwright's test with the desktop app. Needs `test.use({ trace: 'off' })`: a trace of a closed page would fail. */
export const test = base.extend<Fixtures>({
  // oxlint-disable-next-line no-empty-pattern -- Playwright reads which fixtures a test needs from the pattern.
  profile: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-desktop-'));
    await use(folder);
    // Chromium ends a moment after the app.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
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

export { expect };

/** The name of what runs the app, for test titles. */
export const runtime = electronProgram() === undefined ? 'on the fake Electron' : 'in Electron';

/** Sends a request to the archive that the app has open, with the owner's token. */
export async function askAsOwner(page: Page, profile: string, path: string, init: RequestInit = {}) {
  const preferences = await readFile(join(profile, 'desktop.json'), 'utf8').catch(() => '{}');
  const { archive = join(profile, 'archive') } = JSON.parse(preferences) as { archive?: string };
  const token = await readFile(join(archive, 'owner-token'), 'utf8');
  const headers = {
    Authorization: `Bearer ${token}`,
    ...(init.body && { 'Content-Type': 'application/json' }),
  };
  return fetch(new URL(path, page.url()), { ...init, headers });
}

/** Downloads a pack file from another node. */
export async function makePackFile(folder: string): Promise<{ file: string; id: string }> {
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

/** Replaces the system's dialog and browser with functions that record their calls anew. The dialog returns `answer`. */
export async function recordBrowser(app: DesktopApp, { answer }: { answer: number }): Promise<void> {
  await app.evaluate(({ dialog, shell }, response) => {
    const record = globalThis as unknown as { asked?: string[]; opened?: string[] };
    record.asked = [];
    record.opened = [];
    dialog.showMessageBox = (async (...asked: { detail: string }[]) => {
      record.asked?.push(asked.at(-1)?.detail ?? '');
      return { response, checkboxChecked: false };
    }) as never;
    shell.openExternal = async (url: string) => void record.opened?.push(url);
  }, answer);
}

/** The URLs of the dialogs so far. */
export function asked(app: DesktopApp): Promise<string[] | undefined> {
  return app.evaluate(() => (globalThis as unknown as { asked?: string[] }).asked);
}

/** The URLs that were opened in the browser so far. */
export function opened(app: DesktopApp): Promise<string[] | undefined> {
  return app.evaluate(() => (globalThis as unknown as { opened?: string[] }).opened);
}
