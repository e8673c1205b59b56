import type { Page } from '@playwright/test';
import { expect, test } from './support/fixtures.ts';
import { startOver } from './support/startOver.ts';

test('the owner finds and does everything with the palette and the navigation, a visitor what a visitor may do', async ({
  browser,
  page,
  web,
  node,
  checks,
}) => {
  await test.step('the palette shows a visitor only what a visitor may do', async () => {
    await page.request.put('/manage/sharing', { data: { mode: 'read', require_invitation: false } });
    const visitor = await (await browser.newContext({ baseURL: node.url })).newPage();
    checks.watch(visitor);
    await visitor.goto('/');
    await expect(visitor.getByText('You are a visitor.')).toBeVisible();
    await find(visitor, '');
    const palette = visitor.getByRole('dialog', { name: 'Search' });
    await expect(palette.getByRole('button', { name: 'Verify the ledger' })).toBeVisible();
    const hidden = [
      'New pack',
      'Watch a source',
      'Check all',
      'Share for',
      'Start integrity check',
      'Invite',
    ];
    for (const name of hidden) await expect(palette.getByRole('button', { name })).toHaveCount(0);
    await visitor.keyboard.type('https://example.org/page');
    await expect(palette.getByRole('button', { name: 'Events of this URL' })).toBeVisible();
    await expect(palette.getByRole('button', { name: /^Watch/ })).toHaveText(/^Watched sources/);

    await page.request.put('/manage/sharing', { data: { mode: 'contribute', require_invitation: false } });
    await visitor.reload();
    await find(visitor, 'publish');
    await visitor.keyboard.press('Enter');
    await expect(visitor.getByRole('heading', { level: 1, name: 'New pack' })).toBeVisible();
  });
  await page.request.put('/manage/sharing', { data: { mode: 'off', require_invitation: false } });
  await test.step('the owner watches, checks, verifies, shares and changes the look from the palette', async () => {
    web.publish('/page', '<title>Herons</title><p>Herons stand still.</p>');
    await page.request.patch('/manage/settings', {
      data: { per_host_pause_ms: 0, retry_delays_seconds: [] },
    });
    await page.goto('/');
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    const palette = page.getByRole('dialog', { name: 'Search' });

    await find(page, web.url('/page'));
    // Its styles come after those of Mantine's buttons, which have no padding.
    await expect(palette.getByRole('button').first()).not.toHaveCSS('padding-left', '0px');
    await checks.accessible(page);
    await palette.getByRole('button', { name: `Watch ${web.url('/page')}` }).click();
    const form = page.getByRole('dialog', { name: 'Watch a source' });
    await expect(form.getByLabel('URL')).toHaveValue(web.url('/page'));
    await form.getByRole('button', { name: 'Watch', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: '/page' })).toBeVisible();
    await expect.poll(() => web.requests('/page')).toBe(1);

    await find(page, 'check all');
    await page.keyboard.press('Enter');
    await expect.poll(() => web.requests('/page')).toBe(2);
    await expect(page).toHaveURL(/\/sources/);

    await find(page, 'verify ledg');
    await page.keyboard.press('Enter');
    await expect(page.getByText(/\d+ entries verified\. No faults found\./)).toBeVisible();

    const download = page.waitForEvent('download');
    await find(page, 'checkpoint');
    await page.keyboard.press('Enter');
    expect((await download).suggestedFilename()).toMatch(/\.checkpoint$/);

    await find(page, 'share read');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Share for reading' }).click();
    await expect(page.getByRole('radio', { name: /^Read/ })).toBeChecked();
    await find(page, 'stop sharing');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('radio', { name: /^Off/ })).toBeChecked();

    await find(page, 'dark');
    await page.keyboard.press('Enter');
    await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'dark');
    await find(page, 'theme');
    await expect(palette.getByRole('button', { name: 'Dark theme' })).toBeHidden();
    await palette.getByRole('button', { name: 'Light theme' }).click();
    await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'light');

    // Keys work on every page, but not while someone types.
    await page.keyboard.press('Alt+Shift+N');
    await expect(page.getByRole('heading', { level: 1, name: 'New pack' })).toBeVisible();
    await page.getByLabel('Title', { exact: true }).press('Alt+Shift+V');
    await expect(page).toHaveURL(`${node.url}/assemble`);
  });
  await startOver(page);
  await test.step('a group of the navigation stays closed, and the palette opens its pages', async () => {
    await page.goto('/');
    const nav = page.getByRole('navigation', { name: 'Main' });
    await nav.getByText('Collection', { exact: true }).click();
    await expect(nav.getByRole('link', { name: 'Sources' })).toBeHidden();
    await page.reload();
    await expect(nav.getByRole('link', { name: 'Packs' })).toBeVisible();
    await expect(nav.getByRole('link', { name: 'Sources' })).toBeHidden();
    await checks.accessible(page);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('sources');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { level: 1, name: 'Sources' })).toBeVisible();
    await nav.getByText('Collection', { exact: true }).press('Enter');
    await expect(nav.getByRole('link', { name: 'Sources' })).toHaveAttribute('aria-current', 'page');
  });
  await startOver(page);
  await test.step('once the palette is closed, the page has its keys again', async () => {
    await page.goto('/packs');
    await page.keyboard.press('ControlOrMeta+k');
    await page.keyboard.type('gulls');
    await page.keyboard.press('Escape');
    const filter = page.getByRole('searchbox').first();
    await filter.pressSequentially('herons');
    await expect(filter).toHaveValue('herons');
    await find(page, 'verify ledg');
    await expect(page.getByRole('dialog', { name: 'Search' }).getByRole('textbox')).toHaveValue(
      'verify ledg',
    );
  });
  await startOver(page);
  await test.step('the palette opens with what was typed although the page has only just loaded', async () => {
    // No person is as fast: the key is there before React has rendered.
    await page.addInitScript(() =>
      document.addEventListener('DOMContentLoaded', () => {
        const shortcut = { key: 'k', ctrlKey: true, bubbles: true, cancelable: true };
        document.body.dispatchEvent(new KeyboardEvent('keydown', shortcut));
      }),
    );
    await page.goto('/');
    await page.keyboard.type('verify ledh');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('g');
    const field = page.getByRole('dialog', { name: 'Search' }).getByRole('textbox');
    await expect(field).toBeFocused();
    await expect(field).toHaveValue('verify ledg');
    await expect(page.getByRole('button', { name: 'Verify the ledger' })).toBeVisible();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { level: 1, name: 'Ledger' })).toBeVisible();
  });
});

/** Opens the palette and types the words. */
async function find(page: Page, words: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+k');
  await expect(page.getByRole('dialog', { name: 'Search' }).getByRole('textbox')).toBeFocused();
  if (words) await page.keyboard.insertText(words);
  await expect(page.getByRole('dialog', { name: 'Search' }).getByRole('button').first()).toBeVisible();
}
