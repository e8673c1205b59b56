import { expect, test } from '../support/fixtures.ts';

test('a watched part and noise rules are entered, rejected at their field, previewed, saved and applied to past versions', async ({
  page,
  web,
  checks,
}) => {
  checks.allow(/422/);
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  const answer = await page.request.post('/manage/sources', {
    data: { url: web.url('/page'), name: 'Page' },
  });
  const { id } = (await answer.json()) as { id: string };
  for (const [visits, text] of [
    [1, 'the law'],
    [2, 'the law'],
    [3, 'another law'],
  ]) {
    web.publish('/page', `<p>${text}</p><p class="visits">${visits} visits</p>`);
    await page.request.post('/manage/collections?wait=true', { data: {} });
  }
  await page.goto(`/sources/${id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit source' });
  await dialog.getByRole('button', { name: 'Add rule' }).click();
  await dialog.getByLabel('Rule 1', { exact: true }).fill('p[');
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await expect(dialog.getByText('This is not a CSS selector.')).toBeVisible();
  await dialog.getByLabel('Rule 1', { exact: true }).fill('.visits');
  await dialog.getByLabel('Note for rule 1').fill('counts visits');
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await expect(dialog.getByText('Would have alerted once in 3 versions.')).toBeVisible();
  await expect(dialog.getByText('ignores 1 part before and 1 after.')).toBeVisible();
  await dialog.getByRole('button', { name: 'Show remaining differences in the latest change' }).click();
  const left = dialog.getByRole('region', { name: 'Remaining differences in the latest change' });
  await expect(left).toContainText('another law');
  await expect(left).not.toContainText('visits');
  await checks.accessible(page);

  await dialog.getByRole('combobox', { name: 'What is watched' }).click();
  await page.getByRole('option', { name: 'Elements (CSS selector)' }).click();
  const part = dialog.getByLabel('Watched part');
  await part.fill('p[');
  await dialog.getByRole('button', { name: 'Preview', exact: true }).click();
  await expect(dialog.getByText('This is not a CSS selector.')).toBeVisible();
  await part.fill('h1');
  await dialog.getByRole('button', { name: 'Preview', exact: true }).click();
  await expect(dialog.getByText('The part is not in the newest version.')).toBeVisible();
  await part.fill('.visits');
  await dialog.getByRole('button', { name: 'Remove rule 1' }).click();
  await dialog.getByRole('button', { name: 'Preview', exact: true }).click();
  await expect(dialog.locator('blockquote')).toHaveText('3 visits');
  await expect(dialog.getByText('Would have alerted 2 times in 3 versions.')).toBeVisible();
  await part.fill('p:not(.visits)');
  await dialog.getByRole('button', { name: 'Preview', exact: true }).click();
  await expect(dialog.getByText('Would have alerted once in 3 versions.')).toBeVisible();
  await checks.accessible(page);

  await dialog.getByRole('button', { name: 'Add rule' }).click();
  await dialog.getByLabel('Rule 1', { exact: true }).fill('.visits');
  await dialog.getByLabel('Note for rule 1').fill('counts visits');
  await dialog.getByRole('button', { name: 'Add rule' }).click();
  await dialog.getByLabel('Rule 2', { exact: true }).fill('a[');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByText('This is not a CSS selector.')).toBeVisible();
  await dialog.getByRole('button', { name: 'Remove rule 2' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole('button', { name: 'Apply to all past versions' }).click();
  await expect(page.getByText('1 of 2 changes is noise.')).toBeVisible();
  await expect(page.getByText('p:not(.visits)')).toBeVisible();
  await expect(page.getByText('outside', { exact: true })).toBeVisible();
  await checks.accessible(page);
  await page.reload();
  await page.getByRole('button', { name: 'Edit' }).click();
  await expect(dialog.getByLabel('Note for rule 1')).toHaveValue('counts visits');
  await expect(part).toHaveValue('p:not(.visits)');
});
