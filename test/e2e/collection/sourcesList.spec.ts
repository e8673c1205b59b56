import type { Page } from '@playwright/test';
import { expect, test } from '../support/fixtures.ts';

test.use({ viewport: { width: 1440, height: 900 } });

/** Turns off pauses and retries, adds the sources of a list, and checks them. */
async function watchList(page: Page, urls: readonly string[]): Promise<void> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  await page.request.post('/manage/sources/import', {
    headers: { 'Content-Type': 'text/plain' },
    data: urls.join('\n'),
  });
  await page.request.post('/manage/collections?wait=true', { data: {} });
}

test('a list of sources is named and sorts; an address without a scheme is tried', async ({ page, web }) => {
  await test.step('a list is named by the titles of its pages; failing sources come first; every column sorts', async () => {
    for (const name of ['Alpha', 'Beta', 'Gamma']) web.publish(`/${name}`, `<title>${name}</title>`);
    web.publish('/broken', { status: 500, body: 'broken' });
    await watchList(
      page,
      ['/Alpha', '/broken', '/Beta', '/Gamma'].map((path) => web.url(path)),
    );
    await page.goto('/sources');
    const table = page.getByRole('table', { name: 'Watched sources' });
    const names = table.locator('[data-row-link]');
    await expect(names).toHaveText([web.url('/broken'), 'Gamma', 'Beta', 'Alpha']);
    await expect(table.getByRole('columnheader', { name: 'State' })).toHaveAttribute(
      'aria-sort',
      'ascending',
    );

    await table.getByRole('button', { name: 'Source' }).click();
    await expect(page).toHaveURL(/sort=name/);
    await expect(names).toHaveText(['Alpha', 'Beta', 'Gamma', web.url('/broken')]);
    await page.reload();
    await expect(names.first()).toHaveText('Alpha');
    for (const name of ['State', 'Source', 'Agency', 'Last check', 'Next check', 'Last event']) {
      await table.getByRole('button', { name }).click();
      await expect(table.getByRole('columnheader', { name })).toHaveAttribute(
        'aria-sort',
        /ascending|descending/,
      );
    }
  });
  await test.step('an address without a scheme is tried as https, then http, and the dialog says so', async () => {
    await page.request.patch('/manage/settings', {
      data: { per_host_pause_ms: 0, retry_delays_seconds: [] },
    });
    web.publish('/news', '<title>News of the river</title>');
    await page.goto('/sources?add');
    const form = page.getByRole('dialog', { name: 'Watch a source' });
    await form.getByLabel('URL').fill(web.url('/news').replace('http://', ''));
    await form.getByLabel('URL').press('Enter');
    await expect(form.getByText(/https:\/\/ failed .*http:\/\/ responded\./)).toBeVisible();
    await expect(form.getByLabel('URL')).toHaveValue(web.url('/news'));
    await expect(form.getByLabel('Name', { exact: true })).toHaveValue('News of the river');
    await form.getByRole('button', { name: 'Fetch settings' }).click();
    await form.getByRole('textbox', { name: 'Check every', exact: true }).fill('3');
    await form.getByRole('button', { name: 'Watch', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'News of the river' })).toBeVisible();
    await expect(page.getByText('3 hours', { exact: true })).toBeVisible();
  });
});

test('several sources are selected with Shift, tagged, given an interval, paused and removed', async ({
  page,
  web,
  checks,
}) => {
  const names = ['A', 'B', 'C', 'D', 'E'];
  for (const name of names) web.publish(`/${name}`, `<title>Page ${name}</title>`);
  await watchList(
    page,
    names.map((name) => web.url(`/${name}`)),
  );
  await page.goto('/sources?sort=name');
  const table = page.getByRole('table', { name: 'Watched sources' });
  await table.getByRole('checkbox', { name: 'Select Page B' }).click();
  await table.getByRole('checkbox', { name: 'Select Page D' }).click({ modifiers: ['Shift'] });
  const bar = page.getByRole('region', { name: 'Selected sources' });
  await expect(bar).toContainText('3 sources selected');
  await checks.accessible(page);

  await bar.getByRole('button', { name: 'Tags' }).click();
  const tags = page.getByRole('dialog', { name: 'Tags of 3 sources' });
  await tags.getByRole('combobox', { name: 'Add tags' }).fill('rivers');
  await page.keyboard.press('Enter');
  await checks.accessible(page);
  await tags.getByRole('button', { name: 'Save' }).click();
  await expect(table.getByText('rivers')).toHaveCount(3);

  await bar.getByRole('button', { name: 'Schedule' }).click();
  const interval = page.getByRole('dialog', { name: 'Schedule of 3 sources' });
  await interval.getByRole('textbox', { name: 'Check every', exact: true }).fill('2');
  await interval.getByRole('button', { name: 'Save' }).click();
  await expect(table.getByText('every 2 hours')).toHaveCount(3);

  await bar.getByRole('button', { name: 'Pause' }).click();
  await expect(table.getByText('paused').filter({ visible: true })).toHaveCount(3);

  await bar.getByRole('button', { name: 'Stop watching' }).click();
  const removal = page.getByRole('dialog', { name: 'Stop watching 3 sources?' });
  await expect(removal.getByRole('listitem')).toHaveText(['Page B', 'Page C', 'Page D']);
  await removal.getByRole('button', { name: 'Keep watching' }).click();
  await expect(bar.getByRole('button', { name: 'Stop watching' })).toBeFocused();
  await expect(table.getByRole('row')).toHaveCount(6);
  await bar.getByRole('button', { name: 'Stop watching' }).click();
  await removal.getByRole('button', { name: 'Stop watching 3 sources' }).click();
  await expect(table.getByRole('row')).toHaveCount(3);
  await expect(bar).toBeHidden();
});
