import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import type { DesktopApi } from '../../../shared/node/owner.ts';
import { accessibilityViolations } from '../support/accessibility.ts';
import { electronProgram } from '../support/desktopApp.ts';
import { askAsOwner, expect, test } from '../support/desktopTest.ts';

// The app closes its own pages, and a trace of a closed page would fail the next test.
test.use({ trace: 'off' });
test.skip(electronProgram() !== undefined, 'Electron starts the app again by itself, outside this test.');

let elsewhere = '';
test.beforeEach(async () => {
  elsewhere = await mkdtemp(join(tmpdir(), 'strongroom-disk-'));
});
test.afterEach(() => rm(elsewhere, { recursive: true, force: true }));

const section = (page: Page) => page.getByRole('region', { name: 'Data folder' });

async function openStorage(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Settings' }).click();
  await expect(section(page)).toBeVisible();
}

/** Fills in the dialog that a button opens, and sends it. */
async function send(page: Page, button: string, folder: string, submit: string): Promise<void> {
  await section(page).getByRole('button', { name: button }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill(folder);
  await dialog.getByRole('button', { name: submit, exact: true }).click();
}

const addSubject = async (page: Page, profile: string, title: string) => {
  const body = JSON.stringify({ path: title, title });
  return (await askAsOwner(page, profile, '/api/nodes', { method: 'POST', body })).status;
};
const subjectStatus = (page: Page, path: string) =>
  page.evaluate(async (name) => (await fetch(`/api/nodes/${name}`)).status, path);

test('moves the archive to another folder, starts again there, and removes the old one when told to', async ({
  launch,
  profile,
}) => {
  const app = await launch();
  const page = await app.firstWindow();
  expect(await addSubject(page, profile, 'moved')).toBe(201);
  await openStorage(page);
  await mkdir(join(elsewhere, 'full'));
  await writeFile(join(elsewhere, 'full', 'letter.txt'), 'text');
  await send(page, 'Move to another folder…', join(elsewhere, 'full'), 'Move');
  const dialog = page.getByRole('dialog', { name: 'Move the archive' });
  await expect(dialog.getByRole('alert')).toContainText('is not empty. Name a new or empty folder.');
  expect(await accessibilityViolations(page, 'light')).toBe('');
  await dialog.getByRole('textbox').fill(join(elsewhere, 'archive'));
  await dialog.getByRole('button', { name: 'Move', exact: true }).click();
  expect(await app.exited).toBe(0);
  expect(app.relaunches()).toBe(1);
  expect(app.errorBoxes()).toEqual([]);

  const again = await launch();
  const moved = await again.firstWindow();
  expect(await subjectStatus(moved, 'moved')).toBe(200);
  await openStorage(moved);
  await expect(section(moved)).toContainText(join(elsewhere, 'archive'));
  await section(moved).getByRole('button', { name: 'Remove the old folder' }).click();
  await moved.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(section(moved)).not.toContainText('The archive was moved here');
  expect(await readdir(profile)).not.toContain('archive');
  await again.closeWindow();
  expect(await again.exited).toBe(0);
});

test('makes and opens other archives, and asks when the disk of one is not attached', async ({
  launch,
  profile,
}) => {
  const first = await launch();
  const page = await first.firstWindow();
  expect(await addSubject(page, profile, 'first')).toBe(201);
  await openStorage(page);
  await send(page, 'New archive…', join(elsewhere, 'new'), 'Make and open');
  expect(await first.exited).toBe(0);

  const second = await launch();
  const empty = await second.firstWindow();
  expect(await subjectStatus(empty, 'first')).toBe(404);
  await openStorage(empty);
  await expect(section(empty).getByRole('listitem')).toHaveText([new RegExp(join(profile, 'archive'))]);
  await send(empty, 'Open another archive…', join(elsewhere, 'nothing'), 'Open');
  await expect(empty.getByRole('dialog').getByRole('alert')).toContainText('There is no folder');
  await second.evaluate(
    ({ dialog }, folder) => {
      dialog.showOpenDialog = (async () => ({ canceled: false, filePaths: [folder] })) as never;
    },
    join(profile, 'archive'),
  );
  await empty.getByRole('dialog').getByRole('button', { name: 'Choose…' }).click();
  await expect(empty.getByRole('dialog').getByRole('textbox')).toHaveValue(join(profile, 'archive'));
  await empty.getByRole('dialog').getByRole('button', { name: 'Open', exact: true }).click();
  expect(await second.exited).toBe(0);

  const third = await launch();
  const back = await third.firstWindow();
  expect(await subjectStatus(back, 'first')).toBe(200);
  await openStorage(back);
  await section(back)
    .getByRole('button', { name: `Open: ${join(elsewhere, 'new')}` })
    .click();
  expect(await third.exited).toBe(0);

  // Without its disk, no new archive takes its place. The fake dialog answers “Quit”.
  await rename(join(elsewhere, 'new'), join(elsewhere, 'away'));
  const without = await launch();
  expect(await without.exited).toBe(0);
  expect(await readdir(elsewhere)).toEqual(['away']);
});

test('opens the sample archive in place of the own one, with its own folder, and goes back to it', async ({
  launch,
  profile,
}) => {
  const first = await launch();
  const page = await first.firstWindow();
  const offer = page.getByRole('region', { name: 'Sample archive' });
  await offer.getByRole('button', { name: 'Open the sample' }).click();
  expect(await first.exited).toBe(0);
  expect(first.relaunches()).toBe(1);

  const second = await launch();
  const sample = await second.firstWindow();
  const banner = sample.getByRole('complementary', { name: 'Sample archive' });
  await expect(banner).toBeVisible();
  await openStorage(sample);
  await expect(section(sample)).toContainText(join(profile, 'archive sample'));
  await expect(section(sample).getByRole('button', { name: 'Open another archive…' })).toBeHidden();
  expect(
    await sample.evaluate(() =>
      (window as unknown as { strongroomDesktop: DesktopApi }).strongroomDesktop.createArchive('/tmp/other'),
    ),
  ).toBe('This is the sample archive. Remove it to work with your own and with others.');
  await banner.getByRole('button', { name: 'Remove it and go back' }).click();
  expect(await second.exited).toBe(0);

  const third = await launch();
  const back = await third.firstWindow();
  await expect(back.getByRole('region', { name: 'Sample archive' })).toContainText('Open the sample');
  expect(await readdir(profile)).not.toContain('archive sample');
  expect(third.errorBoxes()).toEqual([]);
});
