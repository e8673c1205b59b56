import { expect, ownersRequests, test } from '../support/fixtures.ts';
import { startNode } from '../support/nodeProcess.ts';
import { createPageChecks } from '../support/pageChecks.ts';
import { signIn } from '../support/signIn.ts';

test('without a browser the file is collected, and the source says how to get one', {
  tag: '@trial',
}, async ({ browser, web, playwright }) => {
  const node = await startNode({ env: { STRONGROOM_BROWSER: 'none' } });
  const checks = createPageChecks();
  checks.allow(/422/);
  // Asked before the first check has ended.
  checks.allow(/503.*\/api\/status/);
  const page = await browser.newPage({ baseURL: node.url });
  checks.watch(page);
  web.publish('/page', '<!doctype html><title>A page</title><p>Some words of the page.</p>');
  await signIn(page, node.signInLink);
  const request = await ownersRequests(playwright, node);
  const added = await request.post('/manage/sources', {
    data: { url: web.url('/page'), name: 'A page', capture: 'page' },
  });
  const { id } = (await added.json()) as { id: string };
  await request.post('/manage/collections?wait=true', { data: {} });
  await page.goto('/sources');
  await expect(page.getByText('Not drawn: no browser on this machine')).toBeVisible();
  await checks.accessible(page);
  await page.goto(`/sources/${id}`);
  await expect(page.getByRole('status').filter({ hasText: 'Install Chromium or Chrome' })).toBeVisible();
  await expect(page.getByText('available', { exact: true })).toBeVisible();
  await checks.accessible(page);

  await page.goto('/sources?page');
  const form = page.getByRole('dialog', { name: 'Capture a page now' });
  await form.getByLabel('URL').fill(web.url('/page'));
  await form.getByRole('button', { name: 'Capture', exact: true }).click();
  await expect(form.getByRole('alert')).toContainText('Install Chromium or Chrome');
  await expect(form.getByLabel('URL')).toHaveValue(web.url('/page'));
  await checks.accessible(page);
  await page.close();
  checks.expectNothingSeen();
  await node.stop();
});
