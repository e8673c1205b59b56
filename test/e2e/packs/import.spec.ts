import { gzippedByRecord, NOON, record, response } from '../../support/warcFiles.ts';
import { expect, test } from '../support/fixtures.ts';
import { startOver } from '../support/startOver.ts';

test('a list is pasted, dropped or chosen as a file; an unknown source has a page', async ({
  page,
  web,
  context,
  checks,
}) => {
  await test.step('a pasted list is recognised and watched line by line; rejected lines can be corrected', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto('/sources');
    await page.getByRole('button', { name: 'Add list' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add sources from a list' });
    const list = dialog.getByLabel('List', { exact: true });
    await list.fill(`# two pages\n${web.url('/one')}\nftp://example.org/no\n${web.url('/one')}`);
    await expect(dialog.getByText('3 URLs, detected as one URL per line.')).toBeVisible();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.getByRole('button', { name: 'Add list' }).click();
    await expect(list).toHaveValue(/# two pages/);
    await checks.accessible(page);
    await dialog.getByRole('button', { name: 'Watch', exact: true }).click();

    await expect(dialog.getByRole('status')).toHaveText(/1\s*added.*1\s*already watched.*1\s*rejected/);
    const items = dialog.getByRole('list', { name: 'Result of each entry' }).getByRole('listitem');
    await expect(items).toHaveCount(3);
    await expect(items.first()).toContainText('ftp://example.org/no');
    await expect(items.first()).toContainText('rejected');
    await checks.accessible(page);
    await dialog.getByRole('button', { name: 'Copy rejected lines' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(
      /^3\tftp:\/\/example.org\/no\turl: /,
    );
    await dialog.getByRole('button', { name: 'Fix rejected lines' }).click();
    await expect(list).toHaveValue('ftp://example.org/no');
  });
  await startOver(page);
  await test.step('a list is dropped or chosen as a file, and an unreadable file discards nothing', async () => {
    checks.allow(/422/);
    await page.goto('/sources?list');
    const dialog = page.getByRole('dialog', { name: 'Add sources from a list' });
    await dialog
      .locator('input[type=file]')
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('"url,name\n') });
    await dialog.getByText('CSV', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Watch', exact: true }).click();
    await expect(dialog.getByText('invalid_list')).toBeVisible();
    await expect(dialog.getByLabel('List', { exact: true })).toHaveValue('"url,name\n');
    const opml = `<opml version="2.0"><body><outline text="Bureau"><outline text="News" xmlUrl="${web.url('/feed')}"/></outline></body></opml>`;
    const dropped = await page.evaluateHandle((text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], 'feeds.opml'));
      return transfer;
    }, opml);
    await dialog.getByLabel('List', { exact: true }).dispatchEvent('drop', { dataTransfer: dropped });
    await expect(dialog.getByText('feeds.opml: 1 URL, detected as OPML.')).toBeVisible();
    await dialog.getByRole('button', { name: 'Watch', exact: true }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('table', { name: 'Watched sources' }).getByRole('row', { name: /News/ });
    await expect(row).toContainText('Bureau');
  });
  await startOver(page);
  await test.step('the page of an unknown source says so and links back', async () => {
    checks.allow(/404/);
    await page.goto(`/sources/so_${'0'.repeat(20)}`);
    await expect(page.getByRole('heading', { name: 'Source not found' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Try again' })).toBeHidden();
    await page.getByRole('link', { name: 'Sources', exact: true }).last().click();
    await expect(page.getByRole('heading', { level: 1, name: 'Sources' })).toBeVisible();
  });
});

test('captures of another archive are imported, and a TimeMap that cannot be fetched is reported', async ({
  page,
  web,
  checks,
}) => {
  await test.step('a WARC file of another archive is imported under its name, and its source can then be watched', async () => {
    const uri = web.url('/notice');
    web.publish('/notice', 'as it is now');
    const file = gzippedByRecord([
      response('as it was', { uri, date: NOON }),
      response('later', { uri, date: '2021-01-01T12:00:00Z' }),
      record({ uri: 'dns:example.org', type: 'resource', block: 'a record' }),
    ]);
    await page.goto('/sources?captures');
    const dialog = page.getByRole('dialog', { name: 'Import captures' });
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await expect(dialog.getByText('Choose a WARC or WACZ file, or drop it here.')).toBeVisible();
    await expect(dialog.getByText('Enter who made these captures.')).toBeVisible();
    await checks.accessible(page);
    await dialog
      .locator('input[type=file]')
      .setInputFiles({ name: 'notices.warc.gz', mimeType: 'application/gzip', buffer: file });
    await dialog.getByLabel('Observer').fill('National library');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await expect(page.getByText('2 captures recorded.')).toBeVisible();
    await expect(page.getByText('1 record rejected:')).toBeVisible();
    await expect(page.getByText('not_http')).toBeVisible();
    await checks.accessible(page);
    await page.getByRole('link', { name: 'View captures by National library on the timeline' }).click();
    await expect(page).toHaveURL(/observer=National\+library/);
    await expect(page.getByText('2 events')).toBeVisible();

    await page.goto('/sources');
    await page.getByRole('table', { name: 'Watched sources' }).getByRole('link', { name: uri }).click();
    await expect(page.getByText('All versions of this source were imported.')).toBeVisible();
    await page.getByRole('button', { name: 'Watch', exact: true }).click();
    await expect(page.getByText('All versions of this source were imported.')).toBeHidden();
    await expect(page.getByText('1 source checked: 1 new or changed.')).toBeVisible();
  });
  await startOver(page);
  await test.step('a TimeMap that cannot be fetched is reported, and the input is kept', async () => {
    await page.goto('/sources?captures');
    const dialog = page.getByRole('dialog', { name: 'Import captures' });
    await dialog.getByText('Archive TimeMap').click();
    await dialog.getByLabel('TimeMap', { exact: true }).fill('example');
    await dialog.getByLabel('Observer').fill('self');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await expect(
      dialog.getByText('This name stands for the node itself. Enter the archive’s name.'),
    ).toBeVisible();
    await dialog.getByLabel('TimeMap', { exact: true }).fill(web.url('/timemap'));
    await dialog.getByLabel('Observer').fill('An archive');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await expect(page.getByText('The captures could not be imported.')).toBeVisible();
    await page.getByRole('button', { name: 'Back to form' }).click();
    await expect(dialog.getByLabel('TimeMap', { exact: true })).toHaveValue(web.url('/timemap'));
  });
});
