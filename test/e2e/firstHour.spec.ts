import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Page } from '@playwright/test';
import { dropBuffers, dropPaths } from './support/dropFiles.ts';
import { test as base, expect } from './support/fixtures.ts';
import { signIn } from './support/signIn.ts';

const root = resolve(import.meta.dirname, '../..');

const test = base.extend<{ folder: string }>({
  // oxlint-disable-next-line no-empty-pattern -- Playwright reads which fixtures a test needs from the pattern.
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-first-'));
    await use(folder);
    await rm(folder, { recursive: true, force: true });
  },
});

/** What a person does, with each click, each field that is filled in and each drop as one action. */
type Actions = readonly (readonly [what: string, act: () => Promise<unknown>])[];

async function perform(actions: Actions, most: number): Promise<void> {
  expect(actions.length).toBeLessThanOrEqual(most);
  for (const [what, act] of actions) await test.step(what, act);
}

const door = (page: Page, action: string) =>
  page.getByRole('region', { name: 'Getting started' }).getByRole('link', { name: action });

test('an empty archive has three doors: a pack takes 6 actions, a watched source 3, a verified file 2', async ({
  host,
  page: _page,
  browser,
  checks,
  folder,
  web,
}) => {
  // The pages that are watched here are on loopback, which is private on other nodes.
  const node = await host.open({ isLoopbackPublic: true });
  const page = await (await browser.newContext({ baseURL: node.url })).newPage();
  checks.watch(page);
  await signIn(page, node.signInLink);
  await expect(page.getByRole('region', { name: 'Getting started' }).getByRole('listitem')).toHaveCount(3);
  await checks.accessible(page);
  await checks.accessible(page, 'dark');
  // A node without an app has no sample to offer.
  await expect(page.getByRole('region', { name: 'Sample archive' })).toBeHidden();

  await perform(
    [
      ['open Verify', () => door(page, 'Verify files').click()],
      [
        'drop a file',
        async () => {
          await expect(page.getByRole('heading', { level: 1, name: 'Verify' })).toBeVisible();
          await dropBuffers(page, [['levels.csv', Buffer.from('day,cm\n1,502\n')]]);
        },
      ],
    ],
    2,
  );
  await expect(page.getByText('levels.csv').first()).toBeVisible();
  await expect(page.getByText('Not in the archive').first()).toBeVisible();

  web.publish('/notice', '<title>Notice</title><p>The station is open.</p>');
  await page.getByRole('link', { name: 'Overview' }).first().click();
  await perform(
    [
      ['open Watch', () => door(page, 'Watch a source').click()],
      ['type the address', () => page.getByLabel('URL').fill(web.url('/notice'))],
      [
        'watch it',
        () => page.getByRole('dialog').getByRole('button', { name: 'Watch', exact: true }).click(),
      ],
    ],
    3,
  );
  await expect(page).toHaveURL(/\/sources\/so_/);
  await expect(page.getByRole('table', { name: /Events of this source/ })).toContainText('first seen');

  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Publish your first pack' })).toBeVisible();
  await mkdir(join(folder, 'sea-level_2026'));
  await writeFile(join(folder, 'sea-level_2026/levels.csv'), 'day,cm\n1,502\n');
  await perform(
    publishing(page, 'New pack', () => dropPaths(page, [join(folder, 'sea-level_2026')])),
    6,
  );
  await expect(page.getByRole('heading', { level: 1, name: 'Sea level 2026' })).toBeVisible();

  // The next pack remembers the author, and nothing else.
  await page.goto('/assemble');
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Ada Lovelace');
  await expect(page.getByLabel('Title', { exact: true })).toHaveValue('');
  await expect(page.getByRole('button', { name: 'Start over' })).toBeHidden();
  await page.context().close();
  await node.stop();
});

test('a first pack of a single file takes six actions too', async ({ page }) => {
  await page.goto('/');
  await perform(
    publishing(page, 'New pack', () => dropBuffers(page, [['tide_levels.csv', Buffer.from('day,cm\n')]])),
    6,
  );
  await expect(page.getByRole('heading', { level: 1, name: 'Tide levels' })).toBeVisible();
});

function publishing(page: Page, link: string, drop: () => Promise<void>): Actions {
  return [
    ['open New pack', () => page.getByRole('main').getByRole('link', { name: link }).click()],
    [
      'drop the files',
      async () => {
        await expect(page.getByRole('heading', { name: 'New pack' })).toBeVisible();
        await drop();
      },
    ],
    ['name the author', () => page.getByLabel('Name', { exact: true }).fill('Ada Lovelace')],
    ['choose the licence', () => page.getByRole('radio', { name: /^CC0-1\.0/ }).click()],
    ['choose the outcome', () => page.getByRole('radio', { name: /^positive/ }).click()],
    [
      'publish',
      async () => {
        await expect(page.getByText('Ready to publish')).toBeVisible();
        await page.getByRole('button', { name: 'Publish', exact: true }).click();
      },
    ],
  ];
}

test('npm start in the browser opens the sample archive with one click and removes it with another', async ({
  page: _page,
  browser,
  checks,
  folder,
}) => {
  checks.allow(/Failed to load resource/);
  const own = join(folder, 'archive');
  const app = await startInBrowser(own);
  const page = await (await browser.newContext()).newPage();
  checks.watch(page);
  await page.goto(app.link);
  const offer = page.getByRole('region', { name: 'Sample archive' });
  await expect(offer).toBeVisible();
  await checks.accessible(page);
  const sidebar = page.getByRole('navigation', { name: 'Main' });
  const title = page.getByLabel('Title', { exact: true });
  await sidebar.getByRole('link', { name: 'New pack' }).click();
  await title.fill('My own draft');
  await sidebar.getByRole('link', { name: 'Overview' }).click();
  await offer.getByRole('button', { name: 'Open the sample' }).focus();
  await page.keyboard.press('Enter');

  const banner = page.getByRole('complementary', { name: 'Sample archive' });
  await expect(banner).toContainText('This is the sample archive.');
  await expect(page.getByText('Signed in as owner')).toBeVisible();
  expect(new URL(page.url()).origin).toBe(new URL(app.link).origin);
  await expect(page.getByRole('link', { name: 'Warmer weeks have more algae in Lake Ostrel' })).toBeVisible();
  await checks.accessible(page);
  await checks.accessible(page, 'dark');
  await sidebar.getByRole('link', { name: 'Cases' }).click();
  await page.getByRole('link', { name: 'Did the second ferry cloud the lake?' }).click();
  await expect(page.getByText('The second ferry appears in the timetable.')).toBeVisible();
  await expect(banner).toBeVisible();
  await sidebar.getByRole('link', { name: 'Settings' }).click();
  await expect(page.getByText('It is removed when you leave it.')).toBeVisible();

  // What was typed in one archive is not in the other.
  await sidebar.getByRole('link', { name: 'New pack' }).click();
  await expect(title).toHaveValue('');
  await title.fill('A draft in the sample');
  await banner.getByRole('button', { name: 'Remove it and go back' }).click();
  await expect(offer).toBeVisible();
  await expect(banner).toBeHidden();
  await expect(page.getByText('Signed in as owner')).toBeVisible();
  expect(await readdir(folder)).toEqual(['archive']);
  await sidebar.getByRole('link', { name: 'New pack' }).click();
  await expect(title).toHaveValue('My own draft');
  await page.context().close();
  expect(await app.stop()).toBe(0);
  await expect(readFile(join(own, 'strongroom.db'))).resolves.toBeTruthy();
});

/** Runs `npm start` without a window. */
async function startInBrowser(data: string): Promise<{ link: string; stop: () => Promise<number | null> }> {
  const args = ['--browser', '--no-open', '--port', '0', '--data', data];
  const child: ChildProcess = spawn(process.execPath, [join(root, 'electron/start.ts'), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  await expect.poll(() => output).toContain('Press Ctrl-C to stop.');
  return {
    link: /http:\S+\/sign-in\/\w+/.exec(output)?.[0] ?? '',
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}
