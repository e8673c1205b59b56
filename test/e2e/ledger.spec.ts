import { readFile, writeFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { expect, test } from './support/fixtures.ts';

test('an earlier checkpoint shows whether the ledger was rewritten, and where', async ({
  page,
  checks,
}, testInfo) => {
  await record(page, 3);
  await page.goto('/ledger');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save checkpoint' }).click();
  const file = testInfo.outputPath('head.json');
  await (await download).saveAs(file);
  const head = JSON.parse(await readFile(file, 'utf8')) as { seq: number; hash: string; root: string };
  expect(head).toMatchObject({ seq: 3, hash: expect.any(String), root: expect.any(String) });

  await record(page, 4);
  await page.reload();
  await page.getByRole('button', { name: 'Check a checkpoint' }).click();
  const choose = page.locator('input[type=file]');
  await choose.setInputFiles(file);
  await expect(page.getByText('The ledger has not been rewritten.')).toBeVisible();
  await expect(page.getByText('all 3 entries are unchanged')).toBeVisible();
  await checks.accessible(page);

  const other = { ...head, hash: 'ab'.repeat(32) };
  await writeFile(file, JSON.stringify(other));
  await choose.setInputFiles(file);
  await expect(page.getByText('The ledger does not match the checkpoint.')).toBeVisible();
  await expect(page.getByText(`saved ${other.hash}`).first()).toBeVisible();
  await expect(page.getByText(`now ${head.hash}`).first()).toBeVisible();
  await checks.accessible(page);

  await writeFile(file, 'a shopping list');
  await choose.setInputFiles(file);
  await expect(page.getByRole('alert')).toContainText('not JSON');
});

test('an entry is found by its number, and an altered entry is reported', async ({ page, checks }) => {
  await record(page, 60);
  await page.goto('/ledger');
  await expect(page.getByText('60 down to 11 of 60').first()).toBeVisible();
  await page.getByRole('button', { name: 'Older' }).first().click();
  await expect(page.getByText('10 down to 1 of 60').first()).toBeVisible();
  await page.getByRole('textbox', { name: 'Go to entry number' }).first().fill('42');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#42$/);
  const entry = page.locator('#entry-42');
  await expect(entry).toBeInViewport();
  await expect(entry).toContainText('the hash matches');
  await expect(entry).toContainText('is the hash of #41');
  await checks.accessible(page);

  await page.route(/\/api\/ledger\?/, async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { items: { seq: number; subject: string; hash: string }[] };
    for (const item of body.items) {
      if (item.seq === 41) Object.assign(item, { subject: 'so_00000000000000000000', hash: 'cd'.repeat(32) });
    }
    await route.fulfill({ response: answer, json: body });
  });
  await page.reload();
  await expect(entry).toContainText('is not the hash of #41');
  await expect(page.locator('#entry-41')).toContainText('does not match its content');
  await page.getByRole('button', { name: 'Verify in this browser' }).click();
  await expect(page.getByRole('table', { name: 'Ledger faults' })).toContainText('#41');
  await checks.accessible(page);
});

test('a visitor can verify the ledger and sees no controls of the owner', async ({
  page,
  node,
  browser,
  checks,
}) => {
  await record(page, 2);
  const visitor = await (await browser.newContext()).newPage();
  checks.watch(visitor);
  await visitor.goto(`${node.url}/ledger`);
  await visitor.getByRole('button', { name: 'Verify', exact: true }).click();
  await expect(visitor.getByText('2 entries verified. No faults found.')).toBeVisible();
  await visitor.goto(`${node.url}/sources`);
  await visitor.getByRole('link', { name: 'http://127.0.0.1:9/0' }).click();
  await expect(visitor.getByText('No events yet')).toBeVisible();
  await expect(visitor.getByRole('button', { name: 'Check now' })).toHaveCount(0);
  await expect(visitor.getByRole('heading', { name: 'Retrievals' })).toHaveCount(0);
  await checks.accessible(visitor);
  await visitor.context().close();
});

/** Appends this many entries to the ledger, by adding sources that are never checked. */
async function record(page: Page, count: number): Promise<void> {
  const listed = await page.request.get('/api/ledger?limit=1');
  const { total } = (await listed.json()) as { total: number };
  for (let number = total; number < total + count; number += 1) {
    await page.request.post('/manage/sources', { data: { url: `http://127.0.0.1:9/${number}` } });
  }
}
