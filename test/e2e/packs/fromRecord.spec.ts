import { CC_BY_NC, md5 } from '../../support/network/repositoryRecords.ts';
import {
  closeRepositoryServers,
  RepositoryServer,
  sendWhole,
} from '../../support/network/repositoryServer.ts';
import { expect, test } from '../support/fixtures.ts';

const BYTES = Buffer.from('station,level\nA,1.2\nB,1.4\n');

test.afterEach(closeRepositoryServers);

test('a pack begins with a DOI: what will come is shown first, then its progress, and what did not come', async ({
  page,
  checks,
}) => {
  const repository = await RepositoryServer.open('zenodo');
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const record = repository.add({
    id: '10001',
    title: 'Tides at three gauges',
    doi: '10.5072/tides.1',
    license: CC_BY_NC,
    files: [
      {
        name: 'data/levels.csv',
        bytes: BYTES,
        steps: [(response, _, bytes) => void held.then(() => response.end(bytes))],
      },
      { name: 'lie.csv', bytes: BYTES, md5: md5(Buffer.from('other')) },
      { name: 'huge.nc', bytes: BYTES, size: 80_000_000_000 },
    ],
  });
  await page.request.patch('/manage/settings', {
    data: { doi_resolver: repository.resolver, retry_delays_seconds: [0] },
  });
  await page.goto('/assemble');
  await page.getByRole('button', { name: 'From a DOI or an address' }).click();
  const dialog = page.getByRole('dialog', { name: 'From a DOI or an address' });
  const field = dialog.getByLabel('DOI or address');
  await field.fill('nonsense');
  await dialog.getByRole('button', { name: 'Show what will come' }).click();
  await expect(dialog.getByText('Enter a DOI, such as')).toBeVisible();

  await field.fill(`https://doi.org/${record.doi}`);
  await dialog.getByRole('button', { name: 'Show what will come' }).click();
  const shown = dialog.getByRole('region', { name: 'Record' });
  await expect(shown.getByRole('heading', { name: record.title })).toBeVisible();
  await expect(shown).toContainText('2 of 3 files');
  await expect(shown).toContainText('cc-by-nc-4.0');
  await expect(shown.getByRole('list', { name: 'Files' }).getByRole('listitem').first()).toContainText(
    'huge.nc',
  );
  await expect(shown.getByRole('list', { name: 'To know' })).toContainText('a pack cannot have');
  await checks.accessible(page);

  await dialog.getByRole('button', { name: 'Import 2 files' }).click();
  await expect(dialog.getByRole('button', { name: 'Cancel: Importing the record' })).toBeVisible();
  await expect(dialog.getByText('1 of 3 files')).toHaveCount(0);
  await dialog.getByRole('button', { name: 'Cancel: Importing the record' }).click();
  await expect(dialog.getByText('The import was stopped. What had come is kept.')).toBeVisible();
  release();
  await dialog.getByRole('button', { name: 'Continue the import' }).click();
  await expect(dialog.getByText('1 of 3 files')).toBeVisible();
  await expect(dialog.getByRole('list', { name: 'To know' })).toContainText('“lie.csv” is not in the draft');
  await checks.accessible(page);
  await dialog.getByRole('button', { name: 'Open the draft' }).click();
  await expect(page.getByLabel('Title', { exact: true })).toHaveValue(record.title);
  await expect(page.getByText('levels.csv')).toBeVisible();
});

const TWO = `@article{a, title = {Tides at Brest}, author = {Carberry, Josiah}, doi = {10.1234/brest}, keywords = {tides}}
@article{b, title = {Gauges of the north}, author = {{\\v{C}}apkov{\\'a}, {\\v{Z}}ofie}, year = 2021}`;

test('an import that the node no longer knows is shown as failed, and can be started again', async ({
  page,
  checks,
}) => {
  checks.allow(/404.*jobs/);
  const repository = await RepositoryServer.open('zenodo');
  const steps = [() => {}, sendWhole];
  const files = [{ name: 'levels.csv', bytes: BYTES, steps }];
  repository.add({ id: '10001', title: 'Tides', doi: '10.5072/tides.1', license: CC_BY_NC, files });
  await page.request.patch('/manage/settings', { data: { doi_resolver: repository.resolver } });
  await page.goto('/assemble');
  await page.getByRole('button', { name: 'From a DOI or an address' }).click();
  const dialog = page.getByRole('dialog', { name: 'From a DOI or an address' });
  await dialog.getByLabel('DOI or address').fill('10.5072/tides.1');
  await dialog.getByRole('button', { name: 'Show what will come' }).click();
  await dialog.getByRole('button', { name: 'Import 1 file' }).click();
  await expect(dialog.getByText('Importing the record')).toBeVisible();
  // As after a restart.
  await page.route('**/manage/jobs/jo_*', (route) =>
    route.fulfill({
      status: 404,
      contentType: 'application/problem+json',
      body: JSON.stringify({ type: 'about:blank', title: 'Not found', status: 404, code: 'not_found' }),
    }),
  );
  await expect(dialog.getByText('The node was restarted before this had ended.')).toBeVisible();
  await page.unroute('**/manage/jobs/jo_*');
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await expect(dialog.getByText('Importing the record')).toBeVisible();
});

test('a pack begins with an entry of Zotero, chosen among several', async ({ page, checks }) => {
  await page.goto('/assemble');
  await page.getByRole('button', { name: 'From Zotero' }).click();
  const dialog = page.getByRole('dialog', { name: 'From Zotero' });
  const fill = dialog.getByRole('button', { name: 'Fill the record' });
  const choose = (name: string, text: string) =>
    dialog
      .locator('input[type=file]')
      .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  checks.allow(/422/);
  await choose('library.ris', 'nothing');
  await expect(dialog.getByRole('alert')).toContainText('The file cannot be read.');
  await choose('library.bib', TWO);
  await expect(dialog.getByText('Choose one of 2 entries')).toBeVisible();
  await expect(fill).toBeDisabled();
  await dialog.getByLabel('Gauges of the north').check();
  await checks.accessible(page);
  await fill.click();
  await expect(dialog).toBeHidden();
  await expect(page.getByLabel('Title', { exact: true })).toHaveValue('Gauges of the north');
  await expect(page.getByLabel('Name', { exact: true }).first()).toHaveValue('Čapková, Žofie');
});
