import type { Page } from '@playwright/test';
import { NOON, response } from '../../support/warcFiles.ts';
import { collectChanges } from '../support/changes.ts';
import { expect, test } from '../support/fixtures.ts';
import { publishPack } from '../support/publishPack.ts';

/** How many texts match. They are indexed a moment after they were stored. */
async function matchesOf(page: Page, q: string): Promise<number> {
  const answer = await page.request.get(`/api/search?q=${q}`);
  return ((await answer.json()) as { total: number }).total;
}

test('sources that were only imported, pages built by scripts, replaced versions and files of packs are named and found', async ({
  page,
  node,
  checks,
  web,
}) => {
  await test.step('a node that has only imported captures is not unwell, and shows and finds them', async () => {
    const imported = await fetch(new URL('/manage/captures?observer=Library', node.url), {
      method: 'POST',
      headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/warc' },
      body: new Uint8Array(response('as it was', { uri: 'http://example.com/', date: NOON })),
    });
    expect(imported.status).toBe(200);
    await page.goto('/');
    const health = page.getByRole('region', { name: 'Node health' });
    await expect(health).toContainText('No source is watched');
    await expect(health).toContainText('1 source paused or imported only');
    await page.goto('/sources');
    const row = page.getByRole('row', { name: /example\.com/ });
    await expect(row).toContainText('captures only');
    await expect(row).toContainText('first seen');
    await row.getByRole('link').click();
    await expect(page.getByText('All versions of this source were imported.')).toBeVisible();
    await checks.accessible(page);
    await expect.poll(() => matchesOf(page, 'was')).toBe(1);
    await page.goto('/search?q=was');
    await expect(page.getByRole('article')).toContainText('captured by another archive, called “Library”');
  });
  await test.step('a page built by scripts is named in the test fetch, in the list and on the source', async () => {
    web.publish(
      '/app',
      '<!doctype html><html><head><title>App</title></head><body><div id="root"></div><script src="a.js"></script></body></html>',
    );
    await page.goto('/sources?add');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL', { exact: true }).fill(web.url('/app'));
    await dialog.getByRole('button', { name: /^Test/ }).click();
    await expect(
      dialog.getByText('Scripts build this page. The file itself contains almost no text'),
    ).toBeVisible();
    // The owner may keep the shell alone all the same.
    await dialog.getByRole('radio', { name: /The file as the server sends it/ }).check();
    await dialog.getByRole('button', { name: 'Watch', exact: true }).click();
    // Leaving the page earlier could abort the request for the first check.
    const shell = page.getByText('Scripts build the visible content. Only the shell is kept').first();
    await expect(page.getByRole('heading', { level: 1, name: 'App' })).toBeVisible();
    await expect(shell).toBeVisible();
    await page.goto('/sources');
    const row = page.getByRole('row', { name: /App/ });
    await expect(row).toContainText('built by scripts');
    await row.getByRole('link').click();
    await expect(shell).toBeVisible();
    await checks.accessible(page);
  });
  await test.step('replaced versions and files of packs are found, each with its version and its time', async () => {
    await publishPack(node, { title: 'Herons' });
    await collectChanges(page, node, web, [
      {
        name: 'Birds',
        type: 'text/html',
        from: '<p>common herons leave</p>',
        to: '<p>common egrets stay</p>',
      },
    ]);
    await expect.poll(() => matchesOf(page, 'common')).toBe(1);
    await expect.poll(() => matchesOf(page, 'herons')).toBe(2);
    await page.goto('/search?q=herons');
    const version = page.getByRole('article', { name: 'Birds' });
    await expect(version).toContainText('Replaced version');
    await expect(version.getByRole('link', { name: 'View', exact: true })).toHaveAttribute(
      'href',
      /^\/view\/[0-9a-f]{64}\?source=so_[0-9a-f]{20}&at=/,
    );
    const file = page.getByRole('article', { name: 'data.txt' });
    await expect(file).toContainText('in the pack Herons');
    await page.getByText('Packs', { exact: true }).last().click();
    await expect(version).toBeHidden();
    await expect(file).toBeVisible();
    await page.goto('/search?q=common');
    await expect(version).toContainText('Current version');
    await version.getByRole('link', { name: 'also in 1 earlier version' }).click();
    await expect(page.getByRole('article', { name: 'Birds' })).toHaveCount(2);
  });
});
