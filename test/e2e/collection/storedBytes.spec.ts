import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '../support/fixtures.ts';
import { publishPack } from '../support/publishPack.ts';

test('an integrity check reports damage and repair; the name of the collector is set', async ({
  page,
  node,
  checks,
}) => {
  await test.step('an integrity check reports intact bytes, damage, and a repair', async () => {
    const pack = await publishPack(node, { title: 'A pack' });
    const [file] = pack.files;
    const sha256 = file?.sha256 ?? '';
    await page.goto('/');
    await expect(page.getByText('Not yet re-checked')).toBeVisible();
    await page.getByRole('link', { name: 'Start integrity check' }).click();
    const section = page.getByRole('region', { name: 'Integrity check' });
    await expect(section).toBeInViewport();
    await section.getByRole('button', { name: 'Start integrity check' }).click();
    await expect(section.getByText(/1 object \(.*\) re-hashed\. No damage found\./)).toBeVisible();
    await expect(section.getByText('No known damage')).toBeVisible();
    await expect(section.getByRole('table', { name: 'Recent integrity checks' })).toContainText('you');

    const place = join(node.dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    await writeFile(place, 'something else');
    await section.getByRole('button', { name: 'Start integrity check' }).click();
    await expect(section.getByText('1 object is damaged')).toBeVisible();
    const damaged = section.getByRole('list', { name: 'Damaged objects' });
    await expect(damaged).toContainText(sha256.slice(0, 8));
    await expect(damaged).toContainText('changed');
    await expect(section.getByText('How to repair.')).toBeVisible();
    // Move the pointer away from an element that would show its tooltip.
    await page.mouse.move(0, 0);
    await expect(page.getByRole('tooltip')).toBeHidden();
    await checks.accessible(page);
    await page.goto(`/packs/${pack.id}`);
    const alert = page
      .getByRole('alert')
      .filter({ hasText: 'A file of this pack is damaged or missing here' });
    await expect(alert).toContainText('data.txt');
    await expect(alert).toContainText('changed');
    await checks.accessible(page);
    await checks.accessible(page, 'dark');
    await alert.getByRole('link', { name: 'How to repair' }).click();
    await expect(section).toBeInViewport();
    await page.getByRole('link', { name: 'Overview' }).click();
    await expect(page.getByText('1 object damaged')).toBeVisible();
    await expect(page.getByRole('region', { name: 'Damaged', exact: true })).toContainText(
      sha256.slice(0, 8),
    );
    await checks.accessible(page);

    await writeFile(place, 'the data of A pack');
    await page.getByRole('link', { name: 'How to repair' }).first().click();
    await section.getByRole('button', { name: 'Start integrity check' }).click();
    await expect(section.getByText(/No damage found\. 1 object repaired since\./)).toBeVisible();
    await expect(section.getByText('No known damage')).toBeVisible();
    await page.goto(`/packs/${pack.id}`);
    await expect(page.getByRole('heading', { level: 1, name: 'A pack' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'data.txt', exact: true })).toBeVisible();
    await expect(alert).toBeHidden();
  });
  await test.step('the name of the collector is set, and an invalid name is refused at its field', async () => {
    await page.goto('/settings#collection');
    const name = page.getByLabel(/^Collector name/);
    await name.fill('Bücherei');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('Printable ASCII, at most 200 characters.')).toBeVisible();
    await expect(name).toBeFocused();
    await checks.accessible(page);
    await name.fill('Library/1.0 (+https://library.example; archive@library.example)');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('Settings saved.')).toBeVisible();
    await page.reload();
    await expect(name).toHaveValue(/^Library\/1\.0/);
  });
});
