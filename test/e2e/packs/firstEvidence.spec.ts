import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Page } from '@playwright/test';
import canonicalize from 'canonicalize';
import { DERIVED_FIELDS, type Pack } from '../../../shared/archive/pack.ts';
import { expect, test } from '../support/fixtures.ts';

/** A public data set in a development dependency. */
const DATA_FILE = resolve(import.meta.dirname, '../../../node_modules/vega-datasets/data/penguins.json');
const TITLE = 'Flipper length and body mass of penguins';

test('the owner watches a first page, and publishes a first pack', async ({ page, checks, node, web }) => {
  await test.step('the owner watches a first page, and both of its versions are kept', async () => {
    const before = '<title>Notice</title><p>The station is open.</p>';
    const after = '<title>Notice</title><p>The station is closed.</p>';
    web.publish('/notice', before);
    await page.goto('/');
    await openPage(page, 'Sources');
    await checks.accessible(page);
    await page.getByRole('button', { name: 'Watch your first source' }).click();
    const form = page.getByRole('dialog', { name: 'Watch a source' });
    await form.getByLabel('URL').fill(web.url('/notice'));
    await form.getByRole('button', { name: 'Test fetch' }).click();
    await expect(form.getByLabel('Name')).toHaveValue('Notice');
    await checks.accessible(page);
    await form.getByRole('button', { name: 'Watch' }).click();

    await expect(page.getByRole('heading', { level: 1, name: 'Notice' })).toBeVisible();
    const events = page.getByRole('table', { name: /Events of this source/ });
    await expect(events).toContainText('first seen');
    web.publish('/notice', after);
    await page.getByRole('button', { name: 'Check now' }).click();
    await expect(events).toContainText('changed');

    await openPage(page, 'Timeline');
    await expect(page.getByText('changed', { exact: true }).first()).toBeVisible();
    await expect(page.getByText('first seen', { exact: true }).first()).toBeVisible();
    await page.getByRole('link', { name: 'Notice' }).first().click();
    await expect(
      page.getByRole('complementary', { name: 'Event' }).getByText('The content changed.'),
    ).toBeVisible();
    for (const body of [before, after]) {
      const object = await fetch(new URL(`/archive/${sha256(body)}`, node.url));
      expect(await object.text()).toBe(body);
    }

    await openPage(page, 'Ledger');
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    await expect(page.getByText('5 entries verified. No faults found.')).toBeVisible();
    await page.getByRole('button', { name: 'Verify in this browser' }).click();
    await expect(page.getByText('5 entries recomputed in this browser. No faults found.')).toBeVisible();
  });
  await test.step('the owner publishes a first pack from files, views it and verifies it', async () => {
    await page.goto('/');
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();

    await openPage(page, 'New pack');
    await addFiles(page, [DATA_FILE, resolve(import.meta.dirname, '../../../LICENSE')]);
    await page.getByLabel('Title', { exact: true }).fill(TITLE);
    await page
      .getByRole('textbox', { name: 'Summary' })
      .fill('Longer flippers go with **heavier** penguins.');
    await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
    await page.getByLabel('ORCID iD (optional)').fill('0000-0002-1825-0097');
    await page.getByRole('radio', { name: /^positive/ }).click();
    await page.getByRole('radio', { name: /^CC0-1\.0/ }).click();
    await page.getByRole('radio', { name: /^Method included/ }).click();
    await page.getByLabel('Text', { exact: true }).fill('Pearson’s correlation of the two columns.');
    const panel = page.getByRole('complementary', { name: 'Publish' });
    await expect(panel).toContainText('State whether the method is complete.');
    await page.getByRole('radio', { name: /^Complete/ }).click();
    await expect(panel).toContainText('replicable');
    await expect(panel).toContainText('Ready to publish');
    const announced = await panel
      .getByRole('button', { name: /fingerprint/ })
      .first()
      .textContent();
    await panel.getByRole('button', { name: 'Publish', exact: true }).click();

    await expect(page).toHaveURL(/\/packs\/pk_[0-9a-f]{20}$/);
    await expect(page.getByRole('heading', { level: 1, name: TITLE })).toBeVisible();
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    await expect(page.getByText('All 4 claims verified, by the node and by this browser.')).toBeVisible();
    await checks.accessible(page);

    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const pack = (await (await fetch(new URL(`/api/packs/${id}`, node.url))).json()) as Pack;
    const derived: readonly string[] = DERIVED_FIELDS;
    const record = Object.fromEntries(Object.entries(pack).filter(([field]) => !derived.includes(field)));
    expect(sha256(canonicalize(record) ?? '')).toBe(pack.digest);
    expect(announced).toContain(pack.digest.slice(0, 8));
    const kept = pack.files.find(({ path }) => path === 'penguins.json');
    expect(kept?.sha256).toBe(sha256(await readFile(DATA_FILE)));

    await openPage(page, 'Packs');
    await expect(page.getByRole('link', { name: TITLE })).toBeVisible();
  });
});

async function openPage(page: Page, name: string): Promise<void> {
  // The timeline's link also says how many events are unseen, as soon as there are any.
  const nameAndCount = new RegExp(`^${name}( \\d+ unseen)?$`);
  await page.getByRole('navigation').getByRole('link', { name: nameAndCount }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
}

async function addFiles(page: Page, files: string[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Add files' }).click();
  await (await chooser).setFiles(files);
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
