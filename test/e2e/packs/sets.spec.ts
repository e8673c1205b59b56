import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { APIRequestContext } from '@playwright/test';
import type { Pack } from '../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { sampleRecord } from '../../support/archive/packs.ts';
import { contentOf } from '../../support/archive/sets.ts';
import { titleOf } from '../support/drafts.ts';
import { fillRecord } from '../support/fillRecord.ts';
import { expect, test } from '../support/fixtures.ts';
import { visitorOf, withhold } from '../support/withheld.ts';

/** Publishes a draft with these files. */
async function publishFiles(
  request: APIRequestContext,
  files: Readonly<Record<string, Buffer>>,
  title: string,
): Promise<Pack> {
  const created = await request.post('/manage/drafts', { data: { record: sampleRecord({ title }) } });
  const { id } = (await created.json()) as { id: string };
  for (const [path, data] of Object.entries(files)) {
    const address = `/manage/drafts/${id}/files?path=${encodeURIComponent(path)}`;
    const headers = { 'Content-Type': 'application/octet-stream' };
    expect((await request.put(address, { data, headers })).status()).toBe(200);
  }
  const published = await request.post(`/manage/drafts/${id}/publish`);
  expect(published.status()).toBe(201);
  return (await published.json()) as Pack;
}

const TABLE = Buffer.from(`year,rise_mm\n${'2025,3.4\n'.repeat(300)}`);

function setFiles(): Record<string, Buffer> {
  return {
    'raw/2025/stations.csv': TABLE,
    'raw/2025/large.bin': contentOf(1, 25_000),
    'raw/2025/notes.txt': Buffer.from('Read at noon.\n'),
    'summary.md': Buffer.from(`# Summary\n\n${'The sea rose. '.repeat(500)}`),
  };
}

test.describe('with small packs', () => {
  test.use({ packBytes: 10_000 });

  test('a set has one page; a withheld file and a damaged part of it are named', { tag: '@trial' }, async ({
    page,
    checks,
    node,
    browser,
  }) => {
    const set = await publishFiles(page.request, setFiles(), 'Sea level by station');
    await test.step('a set has one page with its files as a tree, one download and one verification', async () => {
      // The new version cannot reuse the file that is in pieces.
      checks.allow(/status of 422/);
      await page.goto('/packs');
      const table = page.getByRole('table', { name: 'Packs' });
      await expect(table.getByRole('link')).toHaveText(['Sea level by station']);
      await expect(table.getByText('Set of 4 files')).toBeVisible();
      await table.getByRole('link', { name: 'Sea level by station' }).press('Enter');

      await page.goto(`/packs/${set.id}`);
      const tree = page.getByRole('treegrid', { name: 'Files' });
      await expect(tree.getByRole('row')).toHaveCount(2);
      await expect(page.getByText('set.json')).toHaveCount(0);
      await tree.getByRole('button', { name: 'Open raw/2025/' }).click();
      await expect(tree.getByRole('row')).toHaveCount(5);
      await expect(tree.getByRole('link', { name: 'Download raw/2025/large.bin' })).toHaveAttribute(
        'href',
        `/api/packs/${set.id}/set/files/raw/2025/large.bin`,
      );
      await checks.accessible(page);
      await tree.getByRole('button', { name: 'stations.csv', exact: true }).click();
      const drawer = page.getByRole('dialog', { name: 'raw/2025/stations.csv' });
      await expect(drawer.getByRole('columnheader', { name: 'rise_mm' })).toBeVisible();
      await checks.accessible(page);
      await page.keyboard.press('Escape');

      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download set' }).click();
      expect((await download).suggestedFilename()).toBe(`${set.id}.zip`);
      await page.getByRole('button', { name: 'Verify', exact: true }).click();
      await expect(page.getByText(/^All 7 claims verified, by the node and by this browser\./)).toBeVisible();
      await checks.accessible(page);

      const listed = await page.request.get('/api/packs?parts=true');
      const { items } = (await listed.json()) as { items: Pack[] };
      const part = items.find(({ id }) => id !== set.id);
      await page.goto(`/packs/${part?.id}`);
      await expect(page.locator('main').getByText('Part of').first()).toBeVisible();
      await page.getByRole('link', { name: 'Sea level by station' }).first().click();
      await expect(page.getByRole('heading', { level: 1, name: 'Sea level by station' })).toBeVisible();

      await page.getByRole('link', { name: 'New version' }).click();
      await expect(page.getByRole('button', { name: /^digest of raw\/2025\/stations.csv/ })).toBeVisible();
      await expect(
        page.getByRole('alert').getByText('The archive does not have this file. Add it again.'),
      ).toBeVisible();
    });
    await test.step('a withheld file and a damaged part are named, and nothing else is hidden', async () => {
      checks.allow(/status of 5\d\d/);
      const list = await page.request.get(`/api/packs/${set.id}/set`);
      const { files } = (await list.json()) as { files: { path: string; sha256: string }[] };
      const sha256At = (path: string) => files.find((file) => file.path === path)?.sha256 ?? '';
      await withhold(page, { sha256: sha256At('summary.md'), reason: 'copyright' });
      const notes = sha256At('raw/2025/notes.txt');
      const place = join(node.dataFolder, 'blobs', notes.slice(0, 2), notes.slice(2, 4), notes);
      await writeFile(place, 'Read at noon?\n');

      const visitor = await visitorOf(browser, node, checks);
      await visitor.goto(`/packs/${set.id}`);
      const tree = visitor.getByRole('treegrid', { name: 'Files' });
      await expect(tree.getByText('Not shown: copyright')).toBeVisible();
      await expect(visitor.getByRole('link', { name: 'Download set' })).toHaveCount(0);
      await expect(tree.getByRole('link', { name: 'Download summary.md' })).toHaveCount(0);
      await tree.getByRole('button', { name: 'summary.md', exact: true }).click();
      const drawer = visitor.getByRole('dialog');
      await expect(drawer.getByText(/^The owner does not show this to visitors/)).toBeVisible();
      await checks.accessible(visitor);

      await page.goto(`/packs/${set.id}`);
      await page.getByRole('button', { name: 'Verify', exact: true }).click();
      await expect(page.getByText(/^1 claim of 7 could not be verified\./)).toBeVisible();
      await expect(
        page
          .getByRole('row', { name: /raw\/2025\/notes\.txt/ })
          .getByText('differs')
          .last(),
      ).toBeVisible();
      await checks.accessible(page);
    });
  });
});

test('a draft of more than 50 MB says that it becomes a set, and is published after a reload', async ({
  page,
  checks,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-set-'));
  try {
    const half = Math.ceil(MAX_PACK_BYTES / 2) + 1;
    const paths = await Promise.all(
      [1, 2].map(async (seed) => {
        const path = join(folder, `half-${seed}.bin`);
        await writeFile(path, Buffer.alloc(half, seed));
        return path;
      }),
    );
    await page.goto('/assemble');
    await titleOf(page).fill('Two halves');
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Add files' }).click();
    await (await chooser).setFiles(paths);
    const panel = page.getByRole('complementary', { name: 'Publish' });
    await expect(panel.getByText('set of 2 packs')).toBeVisible();
    await fillRecord(page);
    await expect(panel.getByText('The draft is saved on this node.')).toBeVisible();
    await checks.accessible(page);

    // The first request never reaches the node: the page is reloaded before.
    const held = new Promise<void>((resolve) => {
      void page.route('**/publish?*', () => resolve(), { times: 1 });
    });
    await panel.getByRole('button', { name: 'Publish', exact: true }).click();
    await held;
    await expect(panel.getByRole('progressbar', { name: 'Publishing' })).toBeVisible();
    await page.reload();
    await expect(page.getByRole('heading', { level: 1, name: 'Two halves' })).toBeVisible();
    await expect(page.getByText('Set of 2 files')).toBeVisible();
  } finally {
    await rm(folder, { recursive: true });
  }
});
