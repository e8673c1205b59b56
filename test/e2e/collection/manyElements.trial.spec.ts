import { expect, test } from '../support/fixtures.ts';

test('a page of 200,000 elements does not hold up the choice of a part', async ({ page, web, checks }) => {
  checks.allow(/Blocked script execution/);
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  web.publish(
    '/many',
    `<!doctype html><title>Many</title><p class="first">One</p>${'<div>a</div>'.repeat(199_990)}`,
  );
  const answer = await page.request.post('/manage/sources', {
    data: { url: web.url('/many'), name: 'Many' },
  });
  const { id } = (await answer.json()) as { id: string };
  await page.request.post('/manage/collections?wait=true', { data: { sources: [id] } });
  await page.goto(`/sources/${id}?choose=page`);
  const chooser = page.getByRole('dialog', { name: 'Choose a part of the page' });
  const after = chooser.getByRole('button', { name: 'After' });
  await expect(after).toBeEnabled();
  await after.click();
  await expect(chooser.getByText('the paragraph “One”')).toBeVisible();
  await chooser.getByRole('button', { name: 'Choose this' }).click();
  await expect(chooser.getByRole('radio', { name: 'This element: p.first' })).toBeChecked();
  // The place of one among so many takes too long to look for at each change.
  await after.click();
  await chooser.getByRole('button', { name: 'Choose this' }).click();
  await expect(chooser.getByText('has no name by which it is found again.')).toBeVisible();
  // The window around it is not held up meanwhile.
  await chooser.getByRole('button', { name: 'Cancel' }).click();
  await expect(chooser).toBeHidden();
});
