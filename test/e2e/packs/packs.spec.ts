import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Route } from '@playwright/test';
import type { Pack } from '../../../shared/archive/pack.ts';
import { expect, test } from '../support/fixtures.ts';
import { publishPack } from '../support/publishPack.ts';

test.use({ viewport: { width: 1440, height: 900 } });

test('a pack is talked about, verified and read by a visitor', async ({ page, node, checks, browser }) => {
  await test.step('a comment and a flag are public and recorded in the ledger', async () => {
    const pack = await publishPack(node, { title: 'Talked about' });
    await page.goto(`/packs/${pack.id}`);
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByRole('textbox', { name: 'Comment' }).fill('Which rater scored it?');
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await expect(page.getByText('Which rater scored it?').and(page.locator('p'))).toBeVisible();
    await page.getByRole('button', { name: 'Reply to Ada Lovelace' }).click();
    await expect(page.getByRole('textbox', { name: 'Reply' })).toBeFocused();

    await page.getByRole('button', { name: 'Flag', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Flag pack' });
    await dialog.getByRole('button', { name: 'Flag pack' }).click();
    await expect(dialog.getByRole('radiogroup', { name: 'Reason' })).toHaveAccessibleDescription(
      'Choose a reason.',
    );
    await dialog.getByRole('radio', { name: /^Other/ }).check();
    await dialog.getByRole('button', { name: 'Flag pack' }).click();
    await expect(dialog.getByText('Explain the problem in the note.')).toBeVisible();
    await checks.accessible(page);
    const note = dialog.getByRole('textbox', { name: 'Note' });
    await note.fill('The scale is off by ten.');
    checks.allow(/422.*\/flag/);
    await page.route('**/flag', refuseNote);
    await dialog.getByRole('button', { name: 'Flag pack' }).click();
    await expect(note).toHaveAccessibleDescription(/The node refuses this note\./);
    await page.unroute('**/flag', refuseNote);
    await dialog.getByRole('button', { name: 'Flag pack' }).click();
    await expect(page.getByRole('list', { name: 'Flags' })).toContainText('The scale is off by ten.');
    const { items } = await (await fetch(new URL('/api/ledger', node.url))).json();
    expect(items.map(({ type }: { type: string }) => type)).toEqual([
      'pack.added',
      'comment.added',
      'pack.flagged',
    ]);
  });
  await test.step('Verify finds bytes that were altered on disk, in the node and in the browser', async () => {
    const pack = await publishPack(node, { title: 'Altered later' });
    await alter(node.dataFolder, pack);
    // The node aborts the response instead of sending bytes that do not match their digest.
    checks.allow(/Failed to load resource|ERR_/);
    await page.goto(`/packs/${pack.id}`);
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    await expect(page.getByText('1 claim of 3 could not be verified.')).toBeVisible();
    const row = page.getByRole('row', { name: /data\.txt/ });
    await expect(row).toContainText('differs');
  });
  await test.step('a visitor sees the same pages without the controls of the owner, and how to sign in', async () => {
    const pack = await publishPack(node, { title: 'For everybody to read' });
    const context = await browser.newContext({ baseURL: node.url });
    const page = await context.newPage();
    checks.watch(page);
    await page.goto(`/packs/${pack.id}`);
    await expect(page.getByRole('heading', { level: 1, name: pack.title })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Verify', exact: true })).toBeVisible();
    await expect(page.getByText('signs in with the one-time link')).toBeVisible();
    for (const name of ['Flag', 'Comment', 'New version', 'New pack', 'Settings']) {
      await expect(page.getByText(name, { exact: true }).and(page.locator('a, button'))).toHaveCount(0);
    }
    await page.goto('/assemble');
    await expect(page.getByRole('heading', { name: 'You cannot publish on this node' })).toBeVisible();
    await context.close();
  });
});

test('packs are found with the palette and in their list', async ({ page, node, checks }) => {
  await test.step('Ctrl-K finds a pack by its words, and recognises a pasted id or URL', async () => {
    const pack = await publishPack(node, {
      title: 'Gulls at noon',
      outcome: 'positive',
      keywords: ['birds'],
    });
    await page.goto('/');
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Search' });
    await expect(palette.getByRole('textbox')).toBeFocused();
    await page.keyboard.type('gull');
    // The file of the pack follows as “data.txt in Gulls at noon”, once its text is indexed.
    await expect(palette.getByRole('button', { name: /^Gulls at noon/ })).toBeVisible();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { level: 1, name: 'Gulls at noon' })).toBeVisible();

    await page.getByRole('link', { name: 'Ledger', exact: true }).click();
    await page.keyboard.press('Control+k');
    await expect(palette.getByRole('textbox')).toBeFocused();
    await page.keyboard.insertText(pack.digest);
    await palette.getByRole('button', { name: 'Pack with this fingerprint' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Gulls at noon' })).toBeVisible();
  });
  await test.step('packs are searched and filtered by the URL, selected with the arrow keys and opened next to the list', async () => {
    await publishPack(node, { title: 'Gulls at dusk', outcome: 'null' });
    await publishPack(node, { title: 'Terns at dusk', outcome: 'null', license: 'CC-BY-4.0' });
    await page.goto('/packs');
    const table = page.getByRole('table', { name: 'Packs' });
    await expect(table.getByRole('row')).toHaveCount(4);

    await page.getByRole('searchbox', { name: 'Search packs' }).fill('gull');
    await expect(page).toHaveURL(/[?&]q=gull/);
    await expect(table.getByRole('row')).toHaveCount(3);
    await page.getByRole('combobox', { name: 'Outcome' }).click();
    await page.getByRole('option', { name: 'null' }).click();
    await expect(page).toHaveURL(/outcome=null/);
    await expect(table.getByRole('row')).toHaveCount(2);
    await page.reload();
    await expect(table.getByRole('link', { name: 'Gulls at dusk' })).toBeVisible();
    await expect(table.getByRole('row')).toHaveCount(2);
    await page.getByRole('button', { name: 'Clear all' }).click();
    await expect(table.getByRole('row')).toHaveCount(4);

    await table.getByRole('link', { name: 'Terns at dusk' }).focus();
    await page.keyboard.press('ArrowDown');
    await expect(table.getByRole('link', { name: 'Gulls at dusk' })).toBeFocused();
    await page.keyboard.press('Enter');
    const pane = page.getByRole('complementary', { name: 'Open pack' });
    await expect(pane.getByRole('heading', { name: 'Gulls at dusk' })).toBeVisible();
    await checks.accessible(page);
    await pane.getByRole('link', { name: 'Open pack' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Gulls at dusk' })).toBeVisible();
  });
});

async function alter(dataFolder: string, pack: Pack): Promise<void> {
  const digest = pack.files[0]?.sha256 ?? '';
  const path = join(dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest);
  const bytes = await readFile(path);
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** Answers as a node with stricter rules than this page knows. */
function refuseNote(route: Route): Promise<void> {
  return route.fulfill({
    status: 422,
    contentType: 'application/problem+json',
    body: JSON.stringify({
      type: 'about:blank',
      title: 'A field is invalid',
      status: 422,
      code: 'invalid_field',
      detail: 'A field is invalid.',
      errors: [{ path: '/note', message: 'The node refuses this note.' }],
    }),
  });
}
