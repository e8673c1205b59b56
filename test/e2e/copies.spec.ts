import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from './support/fixtures.ts';
import { publishPack } from './support/publishPack.ts';
import { startOver } from './support/startOver.ts';

let parent: string;
test.beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'strongroom-e2e-copy-'));
});
test.afterEach(() => rm(parent, { recursive: true, force: true }));

test('the owner adds a copy in a folder, checks it, and removes it', async ({ page, node, checks }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Getting started' })).toBeVisible();
  const hint = page.getByRole('region', { name: 'Second copy' });
  await expect(hint).toBeHidden();
  const pack = await publishPack(node, { title: 'Tides' });
  await page.reload();
  await hint.getByRole('link', { name: 'Add a copy' }).click();

  const copies = page.getByRole('region', { name: 'Copies' });
  await expect(copies.getByRole('heading', { name: 'Add a second copy' })).toBeVisible();
  await copies.getByRole('button', { name: 'Add a copy' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a copy' });
  await dialog.getByText('Bucket', { exact: true }).click();
  await expect(dialog.getByLabel('Secret', { exact: true })).toHaveAttribute('type', 'password');
  await dialog.getByLabel('Access key').fill('key');
  await dialog.getByRole('button', { name: 'Add copy' }).click();
  await expect(dialog.getByText('Enter the name of the bucket.')).toBeVisible();
  await expect(dialog.getByText('The access key and its secret belong together.')).toBeVisible();
  await dialog.getByText('Folder', { exact: true }).first().click();
  const folder = dialog.getByRole('textbox', { name: 'Folder' });
  await folder.fill('copy');
  await dialog.getByRole('button', { name: 'Add copy' }).click();
  await expect(dialog.getByText('Enter the full path')).toBeVisible();
  const place = join(parent, 'a copy, 100 %');
  await folder.fill(place);
  await dialog.getByLabel('Pages for readers').check();
  await dialog.getByLabel('Address of the pages').fill('https://archive.example/a/');
  await checks.accessible(page);
  await dialog.getByRole('button', { name: 'Add copy' }).click();
  await expect(dialog).toBeHidden();
  await expect(copies.getByRole('heading', { name: place })).toBeVisible();
  await expect(copies.getByText('Up to date', { exact: true })).toBeVisible();
  const object = join(place, 'archive', pack.files[0]?.sha256 ?? '');
  expect(existsSync(object)).toBe(true);
  expect(await readFile(join(place, 'index.html'), 'utf8')).toContain('href="https://archive.example/a/"');
  await copies.getByLabel(`Pages for readers: ${place}`).uncheck();
  await expect.poll(() => existsSync(join(place, 'index.html'))).toBe(false);
  await expect(copies.getByLabel(`Pages for readers: ${place}`)).not.toBeChecked();

  await writeFile(object, 'altered');
  await copies.getByRole('button', { name: `Check all: ${place}` }).click();
  await expect(copies.getByText('1 damaged file was sent again.')).toBeVisible();
  await copies.getByRole('button', { name: `Check a sample: ${place}` }).click();
  await expect(copies.getByText('1 file was read back. All are intact.')).toBeVisible();
  await expect(copies.getByText('Restore test: never.')).toBeVisible();
  await copies.getByRole('button', { name: `Test restore now: ${place}` }).click();
  await expect(copies.getByText(/Restore test passed .* A full restore would take about/)).toBeVisible();
  await rm(object);
  await copies.getByRole('button', { name: `Test restore now: ${place}` }).click();
  await expect(copies.getByText(/Restore test failed .* It last succeeded/)).toBeVisible();
  await checks.accessible(page);
  await page.goto('/');
  const health = page.getByRole('region', { name: 'Node health' });
  await expect(health.getByText('A restore test failed')).toBeVisible();
  await expect(health.getByText(/Last proven .* from/)).toContainText(place);
  await checks.accessible(page);
  await page.goto('/settings#copies');
  await copies.getByRole('button', { name: `Check all: ${place}` }).click();
  await expect(copies.getByText('1 missing file was sent again.')).toBeVisible();
  await publishPack(node, { title: 'Winds' });
  await page.reload();
  await expect(copies.getByText('1 entry behind')).toBeVisible();
  await copies.getByRole('button', { name: `Sync now: ${place}` }).click();
  await expect(copies.getByText('Up to date', { exact: true })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Background jobs' })).toContainText('Updating a copy');

  await copies.getByRole('button', { name: `Remove: ${place}` }).click();
  const question = page.getByRole('dialog', { name: 'Remove this copy?' });
  await expect(question).toContainText('Its contents stay there');
  await checks.accessible(page);
  await question.getByRole('button', { name: 'Remove copy' }).click();
  await expect(copies.getByRole('heading', { name: 'Add a second copy' })).toBeVisible();
  expect(existsSync(object)).toBe(true);
});

test('objects leave this disk for a copy and come back, and a copy can hold the key', async ({
  page,
  node,
  checks,
}) => {
  const pack = await publishPack(node, { title: 'Tides' });
  const digest = pack.files[0]?.sha256 ?? '';
  const place = join(parent, 'copy');
  await page.goto('/settings#copies');
  const copies = page.getByRole('region', { name: 'Copies' });
  await copies.getByRole('button', { name: 'Add a copy' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a copy' });
  await dialog.getByRole('textbox', { name: 'Folder' }).fill(place);
  await dialog.getByLabel('Sync every').fill('30');
  await dialog.getByRole('button', { name: 'Add copy' }).click();
  await expect(copies.getByText('Up to date', { exact: true })).toBeVisible();
  await expect(copies.getByText('every 30 minutes')).toBeVisible();
  await copies.getByRole('button', { name: `Edit: ${place}` }).click();
  const edit = page.getByRole('dialog', { name: 'Edit this copy' });
  await expect(edit.getByLabel('Sync every')).toHaveValue('30');
  await checks.accessible(page);
  await edit.getByLabel('Sync every').fill('90');
  await edit.getByRole('button', { name: 'Save' }).click();
  await expect(edit).toBeHidden();
  await expect(copies.getByText('every 90 minutes')).toBeVisible();

  await copies.getByRole('button', { name: `Key: ${place}` }).click();
  const key = page.getByRole('dialog', { name: 'The key in this copy' });
  await key.getByLabel('Passphrase', { exact: true }).fill('correct horse battery');
  await key.getByLabel('Repeat the passphrase').fill('correct horse battery');
  await checks.accessible(page);
  await key.getByRole('button', { name: 'Keep the key there' }).click();
  await expect(copies.getByText('key: stored in the copy, encrypted')).toBeVisible({ timeout: 60_000 });
  expect(existsSync(join(place, 'key.age'))).toBe(true);

  await copies.getByRole('button', { name: `Check all: ${place}` }).click();
  await expect(copies.getByText('All are intact.')).toBeVisible();
  await page.getByLabel('Offload objects after').fill('0');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(copies.getByRole('heading', { name: 'Where objects are stored' })).toBeVisible();
  await expect(copies.getByText(`only in ${place}`)).toBeVisible();
  await checks.accessible(page);
  expect((await page.request.get(`/api/blobs/${digest}`)).ok()).toBe(true);
  await page.goto(`/packs/${pack.id}`);
  const row = page.getByRole('region', { name: 'Files' });
  await expect(row.getByText('In a copy')).toBeVisible();
  await row.getByRole('button', { name: pack.files[0]?.path ?? '', exact: true }).click();
  await expect(page.getByText(`Not on this disk. It is in ${place} and is read from there`)).toBeVisible();
  await checks.accessible(page);
  await page.goto('/settings#copies');

  await page.getByLabel('Offload objects after').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Settings saved.').last()).toBeVisible();
  await copies.getByRole('button', { name: 'Restore all to this disk' }).click();
  await expect(copies.getByRole('heading', { name: 'Where objects are stored' })).toBeHidden();
});

test('a copy whose disk is away, whose first sync fails, and which is lost', { tag: '@trial' }, async ({
  page,
  node,
  checks,
}) => {
  await test.step('a copy whose disk is away says so', async () => {
    checks.allow(/502 \(Bad Gateway\)/);
    await publishPack(node, { title: 'Tides' });
    const place = join(parent, 'disk', 'copy');
    await page.goto('/settings#copies');
    const copies = page.getByRole('region', { name: 'Copies' });
    await copies.getByRole('button', { name: 'Add a copy' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a copy' });
    await dialog.getByRole('textbox', { name: 'Folder' }).fill(place);
    const refused = page.waitForResponse('**/manage/copies');
    await dialog.getByRole('button', { name: 'Add copy' }).click();
    expect((await refused).status()).toBe(502);
    await expect(dialog.getByText('cannot be reached. Connect its disk')).toBeVisible();
  });
  await startOver(page);
  await test.step('a copy whose first sync fails is in the list, and is synced from there', async () => {
    checks.allow(/502 \(Bad Gateway\)/);
    const place = join(parent, 'copy');
    const problem = {
      type: 'about:blank',
      title: 'Failed',
      status: 502,
      code: 'copy_failed',
      detail: 'No disk.',
    };
    const fail = { status: 502, contentType: 'application/problem+json', body: JSON.stringify(problem) };
    await page.route('**/manage/copies/*/sync*', (route) => route.fulfill(fail), { times: 1 });
    await page.goto('/settings#copies');
    const copies = page.getByRole('region', { name: 'Copies' });
    await copies.getByRole('button', { name: 'Add a copy' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a copy' });
    await dialog.getByRole('textbox', { name: 'Folder' }).fill(place);
    await dialog.getByRole('button', { name: 'Add copy' }).click();
    await expect(dialog).toBeHidden();
    await expect(copies.getByRole('heading', { name: place })).toBeVisible();
    await copies.getByRole('button', { name: 'Sync now' }).click();
    await expect(copies.getByText('Up to date', { exact: true })).toBeVisible();
  });
  await startOver(page);
  await test.step('a lost copy is marked as lost, and what only it held is recorded as damaged', async () => {
    checks.allow(/409 \(Conflict\)/);
    const place = join(parent, 'copy');
    await page.goto('/settings#copies');
    const copies = page.getByRole('region', { name: 'Copies' });
    await copies.getByRole('button', { name: `Check all: ${place}` }).click();
    await expect(copies.getByText('All are intact.')).toBeVisible();
    await page.getByLabel('Offload objects after').fill('0');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(copies.getByRole('heading', { name: 'Where objects are stored' })).toBeVisible();
    await rm(place, { recursive: true });
    await copies.getByRole('button', { name: `Remove: ${place}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove copy' }).click();
    const question = page.getByRole('dialog', { name: 'Only this copy holds some objects' });
    await expect(question).toContainText('The ledger then records these objects as damaged');
    await checks.accessible(page);
    await question.getByRole('button', { name: 'Mark as lost' }).click();
    await expect(copies.getByRole('heading', { name: 'Add a second copy' })).toBeVisible();
    const damages = (await (await page.request.get('/api/damages')).json()) as { total: number };
    expect(damages.total).toBe(1);
  });
});
