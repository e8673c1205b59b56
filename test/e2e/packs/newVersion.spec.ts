import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PNG } from 'pngjs';
import type { Pack } from '../../../shared/archive/pack.ts';
import { bagEntries, recordFor } from '../../support/archive/packFiles.ts';
import { filesOf, packForm, sampleRecord } from '../../support/archive/packs.ts';
import { buildZip } from '../../support/archive/zipBuilder.ts';
import { forgetDrafts } from '../support/drafts.ts';
import { dropBuffers, dropPaths } from '../support/dropFiles.ts';
import { expect, test } from '../support/fixtures.ts';
import type { NodeProcess } from '../support/nodeProcess.ts';
import { publishPack } from '../support/publishPack.ts';

let folder: string;

test.beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-version-'));
  await mkdir(join(folder, 'upd/raw'), { recursive: true });
  await writeFile(join(folder, 'upd/table.csv'), 'id,n\n1,2\n2,9\n');
  await writeFile(join(folder, 'upd/raw/day 1.txt'), 'first day');
  await writeFile(join(folder, 'upd/notes.md'), '# What changed');
});

test.afterAll(() => rm(folder, { recursive: true, force: true }));

test('a folder with a corrected file replaces that file, whatever its name, and the versions can be compared', async ({
  page,
  checks,
  node,
}) => {
  const first = await publish(node, {
    'table.csv': 'id,n\n1,2\n2,3\n',
    'raw/day 1.txt': 'first day',
    'raw/day 2.txt': 'second day',
    'plot.png': picture(0),
  });
  await page.goto(`/packs/${first.id}`);
  await page.getByRole('link', { name: 'New version' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'New version' })).toBeVisible();
  const tree = page.getByRole('treegrid', { name: 'Files of the pack' });
  const row = (name: RegExp) => tree.getByRole('row', { name });
  await expect(row(/table\.csv/)).toContainText('same');

  await dropPaths(page, [join(folder, 'upd')]);
  await expect(row(/table\.csv/)).toContainText('changed');
  await expect(row(/notes\.md/)).toContainText('added');
  await expect(row(/day 1\.txt/)).toContainText('same');
  await expect(tree.getByText('upd/')).toBeHidden();

  // Each file can be taken out, put back and replaced.
  await page.getByRole('button', { name: 'Remove raw/day 2.txt' }).click();
  await expect(row(/day 2\.txt/)).toContainText('removed');
  await page.getByRole('button', { name: 'Put back raw/day 2.txt' }).click();
  await expect(row(/day 2\.txt/)).toContainText('same');
  await page.getByRole('button', { name: 'Remove raw/day 2.txt' }).click();
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Replace plot.png' }).click();
  await (await chooser).setFiles({ name: 'other name.png', mimeType: 'image/png', buffer: picture(255) });
  await expect(row(/plot\.png/)).toContainText('changed');
  await expect(page.getByRole('radiogroup', { name: 'Show files that are' })).toContainText('2 changed');
  // The tooltip of the button is not part of the page.
  await page.mouse.move(0, 0);
  await expect(page.getByRole('tooltip')).toHaveCount(0);
  await checks.accessible(page);

  await page.getByLabel('Title', { exact: true }).fill('Measured, corrected');
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Measured, corrected' })).toBeVisible();
  await expect(page.getByText('Version 2', { exact: true }).first()).toBeVisible();

  await page.getByRole('link', { name: 'Compare with this version' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Compare versions' })).toBeVisible();
  await expect(page.getByText('files: 1 added, 2 changed, 1 removed.')).toBeVisible();
  await expect(page.getByText('Version 1', { exact: true })).toBeVisible();
  const record = page.getByRole('region', { name: 'Record' });
  await expect(record.locator('ins', { hasText: 'corrected' })).toBeVisible();
  const compared = page.getByRole('treegrid', { name: 'Compared files' });
  await expect(compared.getByRole('row', { name: /notes\.md/ })).toContainText('added');
  await expect(compared.getByRole('row', { name: /day 2\.txt/ })).toContainText('removed');
  await expect(compared.getByRole('row', { name: /day 1\.txt/ })).toHaveCount(0);
  await checks.accessible(page);
  await compared.getByRole('button', { name: 'table.csv' }).click();
  const diff = page.getByRole('dialog');
  await expect(diff.getByText('1 row changed (1 cell)')).toBeVisible();
  await checks.accessible(page);
  await page.keyboard.press('Escape');
  await compared.getByRole('button', { name: 'plot.png' }).click();
  await expect(diff.getByText(/^1 of 16 pixels differ/)).toBeVisible();
  await expect(diff.getByRole('img', { name: /^After/ })).toBeVisible();
  await page.keyboard.press('Escape');

  await page.goto('/packs');
  const list = page.getByRole('table', { name: 'Packs' });
  await expect(list.getByRole('row', { name: /Measured, corrected/ })).toContainText('Version 2');
  await expect(list.getByRole('row', { name: /^Measured Version 1/ })).toBeVisible();
});

test('a replication does not state that the method is complete; a tree of 5,000 files is used with the keyboard', {
  tag: '@trial',
}, async ({ page, node }) => {
  await test.step('a replication does not state for the uploader that the method is complete', async () => {
    const original = await publishPack(node, {
      title: 'With a method',
      method: { text: 'Count twice.', complete: true },
      results: { effect: 0.4 },
    });
    await page.goto(`/assemble?replicates=${original.id}`);
    const complete = page.getByRole('radio', { name: /^Complete/ });
    await expect(complete).not.toBeChecked();
    await expect(page.getByRole('radio', { name: /^Not complete/ })).not.toBeChecked();
    await expect(page.getByText('Replicable or report-only: state whether')).toBeVisible();
    await page.getByRole('button', { name: 'State whether the method is complete.' }).click();
    await complete.click();
    await expect(page.getByText('You state that the method is complete.')).toBeVisible();

    // A number's error stands under its value.
    const value = page.getByLabel('Value', { exact: true });
    await value.fill('a lot');
    await value.blur();
    await expect(value).toHaveAttribute('aria-invalid', 'true');
    await expect(page.getByLabel('Name', { exact: true }).last()).not.toHaveAttribute('aria-invalid', 'true');
  });
  await forgetDrafts(page, node);
  await test.step('a tree of 5,000 files renders only what is visible, and is used with the keyboard', async () => {
    await page.goto('/assemble');
    await expect(page.getByRole('heading', { level: 1, name: 'New pack' })).toBeVisible();
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      for (let index = 0; index < 5_000; index += 1) transfer.items.add(new File([], `file ${index}.txt`));
      document
        .querySelector('main')
        ?.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    const tree = page.getByRole('treegrid', { name: 'Files of the pack' });
    await expect(tree).toHaveAttribute('aria-rowcount', '5000');
    expect(await tree.getByRole('row').count()).toBeLessThan(100);
    await tree.getByRole('row').first().focus();
    await page.keyboard.press('End');
    await expect(tree.getByRole('row', { name: /^file 4999\.txt/ })).toBeFocused();
    await page.keyboard.press('ArrowUp');
    await expect(tree.getByRole('row', { name: /^file 4998\.txt/ })).toBeFocused();
    await page.keyboard.press('Delete');
    await expect(tree).toHaveAttribute('aria-rowcount', '4999');
    await page.getByRole('searchbox', { name: 'Filter files' }).fill('file 12 txt');
    await expect(tree.getByRole('row', { name: /^file 12\.txt/ })).toBeVisible();
  });
});

test('received pack files dropped on any page are verified and imported, several at once', async ({
  page,
  checks,
  node,
}) => {
  checks.allow(/status of 404/);
  const packFile = (title: string, recorded: string, sent = recorded) =>
    buildZip(bagEntries({ 'a.txt': sent }, recordFor({ 'a.txt': recorded }, { title })));
  await page.goto('/ledger');
  await dropBuffers(page, [
    ['one.pack.zip', packFile('Received one', 'one')],
    ['renamed by mail.zip', packFile('Received two', 'two')],
    ['bad.pack.zip', packFile('Damaged', 'as it was', 'changed!!')],
  ]);
  const dialog = page.getByRole('dialog', { name: 'Import 3 packs' });
  await expect(dialog.getByText('Verified: every file matches the record')).toHaveCount(2);
  await expect(dialog.getByRole('alert')).toContainText('Damaged: a.txt');
  await expect(dialog.getByRole('button', { name: /^fingerprint/ })).toHaveCount(3);
  await checks.accessible(page);
  await dialog.getByRole('button', { name: 'Import 2 packs' }).click();
  await expect(dialog.getByText('Imported', { exact: true })).toHaveCount(2);
  await dialog.getByRole('link', { name: 'Received two' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Received two' })).toBeVisible();
  const response = await fetch(new URL('/api/packs?q=Damaged', node.url));
  expect((await response.json()) as { total: number }).toMatchObject({ total: 0 });

  // A ZIP that is no pack file goes on to a new pack, like any other file.
  await dropBuffers(page, [['data.zip', Buffer.from('not a ZIP')]]);
  await expect(page.getByRole('heading', { level: 1, name: 'New pack' })).toBeVisible();
  await expect(page.getByRole('row', { name: /data\.zip/ })).toBeVisible();
});

async function publish(node: NodeProcess, files: Record<string, string | Buffer>): Promise<Pack> {
  const contents = Object.fromEntries(
    Object.entries(files).map(([path, content]) => [path, new Uint8Array(Buffer.from(content))]),
  );
  const types: Record<string, string> = { csv: 'text/csv', txt: 'text/plain', png: 'image/png' };
  const listed = filesOf(contents).map((file) => ({
    ...file,
    media_type: types[file.path.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
  }));
  const response = await fetch(new URL('/api/packs', node.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${node.token}` },
    body: packForm(sampleRecord({ title: 'Measured', files: listed }), contents),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Pack;
}

function picture(red: number): Buffer {
  const png = new PNG({ width: 4, height: 4 });
  png.data.fill(255);
  png.data[0] = red;
  return PNG.sync.write(png);
}
