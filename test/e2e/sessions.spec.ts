import { expect, test } from './support/fixtures.ts';

test('a refused export is reported; the owner signs browsers out', async ({
  page,
  checks,
  node,
  browser,
}) => {
  await test.step('an export that a busy node refuses is reported', async () => {
    await page.goto('/timeline');
    await page.route('**/api/warc?**', (route) => route.fulfill({ status: 503 }));
    await page.getByRole('button', { name: 'Export' }).click();
    checks.allow(/503/);
    await page.getByRole('link', { name: /^WARC/ }).click();
    await expect(page.getByText('The node is busy with other exports')).toBeVisible();
    await page.unroute('**/api/warc?**');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: /^WARC/ }).click();
    expect((await download).suggestedFilename()).toMatch(/\.warc\.gz$/);
  });
  await test.step('the owner sees each signed-in browser, signs another one out, then this one', async () => {
    const link = await page.request.post('/manage/sign-in-links');
    const { url } = (await link.json()) as { url: string };
    const context = await browser.newContext({ baseURL: node.url, userAgent: 'A reading device' });
    const other = await context.newPage();
    checks.watch(other);
    await other.goto(url);
    await expect(other.getByRole('link', { name: 'Sharing' })).toBeVisible();

    await page.goto('/settings#sessions');
    const sessions = page.getByRole('region', { name: 'Signed-in browsers' });
    await expect(sessions.getByRole('row')).toHaveCount(3);
    await expect(sessions.getByRole('row', { name: /this one/ })).toContainText('Chrome on Linux');
    await checks.accessible(page);

    // A page notices at once that it was signed out, because its stream ends.
    checks.allow(/401 \(Unauthorized\)/);
    await sessions.getByRole('button', { name: 'Sign out A reading device' }).focus();
    await page.keyboard.press('Enter');
    await expect(sessions.getByRole('row')).toHaveCount(2);
    await expect(other.getByRole('link', { name: 'Sharing' })).toHaveCount(0);
    await other.goto('/settings');
    await expect(other.getByText('Only the owner can see the settings')).toBeVisible();
    await sessions.getByRole('button', { name: 'Sign out Chrome on Linux' }).click();
    await expect(page.getByText('Only the owner can see the settings')).toBeVisible();
  });
});
