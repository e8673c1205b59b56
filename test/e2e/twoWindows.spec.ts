import { expect, test } from './support/fixtures.ts';

test('a second window shows what the first changed; Help shows what is new, and a report', async ({
  page,
  context,
  checks,
}) => {
  await test.step('a second window shows what the first changed, and keeps what is typed', async () => {
    const other = await context.newPage();
    await Promise.all([page.goto('/settings#collection'), other.goto('/settings#collection')]);
    const choice = (in_: typeof page) => in_.getByRole('switch', { name: 'Collect on a low battery' });
    const typed = other.getByLabel('Check every');
    await typed.fill('77');
    // It shows the choice in the next turn, after which `check` would have looked.
    await choice(page).click();
    await expect(choice(page)).toBeChecked();
    await expect(choice(other)).toBeChecked();
    await expect(typed).toHaveValue('77');
  });
  await test.step('Help says what is new, and shows a report before it can be saved', async () => {
    await page.goto('/help');
    await expect(page.getByRole('heading', { name: '1.0.0' })).toBeVisible();
    await expect(page.getByText('It does not look for newer versions.')).toBeVisible();
    const save = page.getByRole('button', { name: 'Save the report' });
    await expect(save).toHaveCount(0);
    await page.getByRole('button', { name: 'Make a report' }).click();
    await expect(page.getByRole('region', { name: 'The report' })).toContainText('VERSIONS');
    await checks.accessible(page);
    const download = page.waitForEvent('download');
    await save.click();
    expect((await download).suggestedFilename()).toMatch(/^strongroom-report-[\d-]+\.txt$/);
  });
});
