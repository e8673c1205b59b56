import type { Page } from '@playwright/test';
import type { Pack } from '../../../shared/archive/pack.ts';
import type { Study } from '../../../shared/archive/study.ts';
import { forgetDrafts } from '../support/drafts.ts';
import { expect, test } from '../support/fixtures.ts';
import type { NodeProcess } from '../support/nodeProcess.ts';
import { publishPack } from '../support/publishPack.ts';

test.use({ viewport: { width: 1440, height: 900 } });

async function createStudy(node: NodeProcess, title: string): Promise<Study> {
  const response = await fetch(new URL('/api/studies', node.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ title, question: 'Do gulls sing?' }),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Study;
}

async function readPack(node: NodeProcess, id: string): Promise<Pack> {
  return (await (await fetch(new URL(`/api/packs/${id}`, node.url))).json()) as Pack;
}

test('a study is chosen for a new pack; a replication shows its verdict', async ({ page, node, checks }) => {
  await test.step('“New pack for this study” opens the form with the study, and asks about a draft that was started', async () => {
    const first = await createStudy(node, 'Songs of gulls');
    const second = await createStudy(node, 'Songs of terns');
    await page.goto(`/studies/${first.id}`);
    await page.getByRole('link', { name: 'New pack for this study' }).click();
    const study = page.getByRole('combobox', { name: 'Study' });
    await expect(study).toHaveValue('Songs of gulls');
    await page.getByRole('textbox', { name: 'Title' }).fill('A gull at noon');

    await page.goto(`/assemble?study=${second.id}`);
    const dialog = page.getByRole('dialog', { name: 'Unfinished draft' });
    await dialog.getByRole('button', { name: 'Continue for this study' }).click();
    await expect(study).toHaveValue('Songs of terns');
    await expect(page.getByRole('textbox', { name: 'Title' })).toHaveValue('A gull at noon');
    await expect(page).toHaveURL(/\/assemble$/);
  });
  await forgetDrafts(page, node);
  await test.step('a replication shows its verdict first, and the values of the original beside its own', async () => {
    const original = await publishPack(node, { title: 'The original', results: { effect: 0.4, n: 20 } });
    await page.goto(`/assemble?replicates=${original.id}`);
    const form = page.getByRole('group', { name: 'Record' });
    await expect(form.getByRole('heading').first()).toHaveText('Verdict');
    await expect(page.getByText('Original: 0.4')).toBeVisible();
    await expect(page.getByText('Original: 20')).toBeVisible();

    const replication = await publishPack(node, {
      title: 'The replication',
      results: { effect: 0.3, age: 31 },
      replicates: { pack: original.id, verdict: 'partial', note: 'Half as many gulls.' },
    });
    await page.goto(`/packs/${replication.id}`);
    const verdict = page.getByRole('region', { name: 'Verdict' });
    await expect(verdict).toContainText('partial');
    await expect(verdict).toContainText('Half as many gulls.');
    await expect(verdict.getByRole('link', { name: 'The original' })).toBeVisible();
    const results = page.getByRole('table', { name: 'Results of the original and of this pack' });
    await expect(results.getByRole('row')).toHaveText([
      /Result.*Original.*This pack.*Difference/,
      'effect0.40.3−0.1 (−25 %)',
      /^n20.*not reported$/,
      /^age.*not reported31$/,
    ]);
    await checks.accessible(page);
  });
});

test('a published pack joins a study, whose table and chart show it', async ({ page, node, checks }) => {
  await test.step('a published pack joins a study as a new version; the published record does not change', async () => {
    const study = await createStudy(node, 'Songs of gulls');
    const pack = await publishPack(node, { title: 'A gull at noon', results: { effect: 0.4 } });
    await page.goto(`/studies/${study.id}`);
    await page.getByRole('button', { name: 'Add published packs' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add published packs' });
    await dialog.getByRole('combobox', { name: 'Pack' }).click();
    await page.getByRole('option', { name: /A gull at noon/ }).click();
    await expect(dialog.getByRole('list', { name: 'Packs to add' })).toContainText('A gull at noon');
    await dialog.getByRole('button', { name: 'Publish new versions' }).click();
    await expect(dialog.getByText('Accept the terms.')).toBeVisible();
    await checks.accessible(page);
    await dialog.getByRole('checkbox', { name: /I accept the terms/ }).check();
    await dialog.getByRole('button', { name: 'Publish new versions' }).click();
    await expect(dialog).toBeHidden();
    const link = page.getByRole('table', { name: 'Results of the packs' }).getByRole('link');
    await expect(link).toHaveText('A gull at noon');

    const before = await readPack(node, pack.id);
    expect({ study: before.study, digest: before.digest }).toEqual({ study: null, digest: pack.digest });
    const added = await readPack(node, before.evidence.superseded_by ?? '');
    expect(added).toMatchObject({ study: study.id, supersedes: pack.id, results: { effect: 0.4 } });
    expect(added.files).toEqual(pack.files);
  });
  await test.step('the table sorts by every column, keeps titles and header in view, and the chart has whiskers', async () => {
    const study = await createStudy(node, 'Songs of gulls');
    const more = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`measure_${at}`, at]));
    for (const at of [2, 3, 1]) {
      const effect = at / 10;
      await publishPack(node, {
        title: `Gull ${at}`,
        study: study.id,
        results: { effect, effect_ci_low: effect - 0.05, effect_ci_high: effect + 0.1, ...more },
      });
    }
    await page.goto(`/studies/${study.id}`);
    const table = page.getByRole('table', { name: 'Results of the packs' });
    await expect(table.getByRole('columnheader').first()).toHaveText('Title');
    for (const header of await table.getByRole('columnheader').all()) {
      await header.getByRole('button').click();
      await expect(header).toHaveAttribute('aria-sort', 'descending');
    }
    await table.getByRole('button', { name: 'effect', exact: true }).click();
    await expect(table.getByRole('link')).toHaveText(['Gull 3', 'Gull 2', 'Gull 1']);
    await expectTitlesStay(page);

    await page.getByRole('combobox', { name: 'Chart' }).click();
    await page.getByRole('option', { name: 'effect', exact: true }).click();
    await expect(page.locator('.recharts-errorBar')).toHaveCount(3);
    await expect(page.getByText('Whiskers: from effect_ci_low to effect_ci_high.')).toBeVisible();
    const chart = page.getByRole('table', { name: 'Chart of effect' });
    await expect(chart.getByRole('row', { name: /Gull 2/ })).toHaveText('Gull 20.20.150.3');
  });
});

/** Scrolls the table and compares where the title column and the header are. */
async function expectTitlesStay(page: Page): Promise<void> {
  const title = page
    .getByRole('table', { name: 'Results of the packs' })
    .getByRole('link', { name: 'Gull 2' });
  const before = await title.boundingBox();
  const scrolled = await page.evaluate(() => {
    const frame = document.querySelector('caption')?.closest('div') as HTMLElement;
    frame.scrollLeft = 10_000;
    return frame.scrollLeft;
  });
  expect(scrolled).toBeGreaterThan(200);
  expect((await title.boundingBox())?.x).toBe(before?.x);
}
