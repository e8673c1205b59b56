import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropBuffers } from '../support/dropFiles.ts';
import { fillRecord } from '../support/fillRecord.ts';
import { expect, test } from '../support/fixtures.ts';
import type { NodeProcess } from '../support/nodeProcess.ts';
import { publishPack } from '../support/publishPack.ts';

let folder: string;

test.beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-drop-'));
  await mkdir(join(folder, 'study/raw'), { recursive: true });
  await writeFile(join(folder, 'study/table.csv'), 'dose,effect\n1,0.2\n2,0.5\n');
  await writeFile(join(folder, 'study/raw/day 1.txt'), 'first day');
  await writeFile(join(folder, 'study/.DS_Store'), 'left by the system');
});

test.afterAll(() => rm(folder, { recursive: true, force: true }));

test('a draft with its files is published; a new version reuses files, and a replication has a verdict', async ({
  page,
  checks,
  node,
}) => {
  await test.step('a draft with its files survives a reload, paths can be edited, and an invalid path is reported at once', async () => {
    await page.goto('/assemble');
    await page.locator('input[type=file][webkitdirectory]').setInputFiles(join(folder, 'study'));
    await expect(page.getByText('1 system file skipped.')).toBeVisible();
    await dropBuffers(page, [['dropped.md', Buffer.from('# Dropped')]]);
    const files = page.getByRole('treegrid', { name: 'Files of the pack' });
    // Two folders and three files.
    await expect(files.getByRole('row')).toHaveCount(5);
    await expect(files.getByRole('button', { name: /^digest of .*, copy/ })).toHaveCount(3);

    await files.getByRole('button', { name: 'Edit path of dropped.md' }).click();
    const path = page.getByRole('textbox', { name: 'Path in the pack' });
    await path.fill('notes/what?.md');
    await expect(page.getByText('which Windows forbids')).toBeVisible();
    await path.fill('study/notes.md');
    await path.press('Enter');
    await page.getByRole('button', { name: 'Remove the top folder study/' }).click();
    await page.getByLabel('Title', { exact: true }).fill('Dose and effect');
    await page.getByRole('button', { name: 'Add result' }).click();
    await page.getByLabel('Name', { exact: true }).nth(1).fill('effect');
    await page.getByLabel('Value', { exact: true }).fill('a lot');

    await page.reload();
    await expect(page.getByLabel('Title', { exact: true })).toHaveValue('Dose and effect');
    await expect(files.getByText('notes.md', { exact: true })).toBeVisible();
    await expect(files.getByText('day 1.txt', { exact: true })).toBeVisible();
    await expect(files.getByRole('button', { name: /^digest of .*, copy/ })).toHaveCount(3);

    // The link of a missing value focuses its field.
    await page.getByRole('button', { name: 'effect: enter a number, such as 0.032 or 1.5e-7.' }).click();
    const value = page.getByLabel('Value', { exact: true });
    await expect(value).toBeFocused();
    await value.blur();
    await expect(value).toHaveAccessibleDescription('effect: enter a number, such as 0.032 or 1.5e-7.');
    await value.fill('0.5');
    await fillRecord(page);
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Dose and effect' })).toBeVisible();
    await page.getByRole('button', { name: 'table.csv', exact: true }).click();
    const preview = page.getByRole('dialog');
    await expect(preview.getByRole('columnheader', { name: 'effect' })).toBeVisible();
    await expect(preview.getByRole('cell', { name: '0.2' })).toBeVisible();
    await page.keyboard.press('Escape');
    await page.goto('/assemble');
    await expect(page.getByLabel('Title', { exact: true })).toHaveValue('');
  });
  await test.step('a new version reuses the files, a replication has a verdict, and both packs link to each other', async () => {
    const original = await publishPack(node, { title: 'The original', results: { effect: 0.4 } });
    await page.goto(`/packs/${original.id}`);
    await page.getByRole('link', { name: 'New version' }).click();
    await expect(page.getByLabel('Title', { exact: true })).toHaveValue('The original');
    await page.getByRole('button', { name: 'Remove data.txt' }).click();
    await page.getByRole('button', { name: /^Reuse 1 file from the previous version/ }).click();
    await expect(page.getByRole('button', { name: /^digest of data.txt/ })).toBeVisible();
    await page.getByLabel('Title', { exact: true }).fill('The original, corrected');
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'The original, corrected' })).toBeVisible();
    // Else the next draft, opened at once, would go on with this publication and jump back here.
    expect(await page.evaluate(() => localStorage.getItem('strongroom-publishing'))).toBeNull();
    await page.getByRole('link', { name: 'The original', exact: true }).click();
    await expect(page.getByText('A newer version of this pack exists:')).toBeVisible();

    await page.getByRole('link', { name: 'Add replication' }).click();
    await expect(page.getByLabel('Title', { exact: true })).toHaveValue('Replication of: The original');
    await expect(page.getByText('Replication of The original by')).toBeInViewport();
    await expect(page.getByRole('button', { name: 'Choose the verdict of the replication.' })).toBeVisible();
    await page.getByRole('radio', { name: /^partial/ }).click();
    await page.getByLabel('Value', { exact: true }).fill('0.1');
    await fillRecord(page);
    await checks.accessible(page);
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Replication of: The original' })).toBeVisible();
    await page.getByRole('link', { name: 'The original', exact: true }).click();
    const replications = page.getByRole('list', { name: 'Replicated by' });
    await expect(replications).toContainText('partial');
    await expect(replications.getByRole('link', { name: 'Replication of: The original' })).toBeVisible();
  });
});

test('an error from the node appears at its field, and publishing works after it is fixed', async ({
  page,
  checks,
  node,
}) => {
  checks.allow(/status of (422|507|404)/);
  await page.goto('/assemble');
  await page.getByLabel('Title', { exact: true }).fill('Refused at first');
  await fillRecord(page);
  // A save that is running would replace the change below.
  await expect(page.getByText('The draft is saved on this node.')).toBeVisible();
  await page.evaluate(() => {
    const kept = JSON.parse(localStorage.getItem('strongroom-draft') ?? '{}');
    kept.state.draft.study = 'st_00000000000000000000';
    // As after a crash before the change was saved on the node.
    kept.state.isChanged = true;
    localStorage.setItem('strongroom-draft', JSON.stringify(kept));
  });
  await page.reload();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByText('unknown_study')).toBeVisible();
  await expect(page.getByRole('combobox', { name: 'Study' })).toHaveAttribute('aria-invalid', 'true');
  await page.getByRole('combobox', { name: 'Study' }).focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(page.getByText('Ready to publish')).toBeVisible();

  await asOwner(node, '/manage/settings', 'PATCH', { data_cap_gb: 0 });
  await dropBuffers(page, [['late.txt', Buffer.from('late')]]);
  await expect(page.getByRole('button', { name: /^digest of late.txt/ })).toBeVisible();
  await expect(page.getByText('Ready to publish')).toBeVisible();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByText('data_cap_reached')).toBeVisible();
  await asOwner(node, '/manage/settings', 'PATCH', { data_cap_gb: 10 });
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Refused at first' })).toBeVisible();
});

async function asOwner(node: NodeProcess, path: string, method: string, body: unknown): Promise<void> {
  const response = await fetch(new URL(path, node.url), {
    method,
    headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.ok).toBe(true);
}
