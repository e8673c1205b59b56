import { rename } from 'node:fs/promises';
import { draftsOf, SAVED, titleOf } from './support/drafts.ts';
import { expect, test } from './support/fixtures.ts';

test('what is opened and typed while the disk of the archive is away is there when it is back', async ({
  page,
  node,
  checks,
}) => {
  await test.step('every page says that the disk of the archive is away, and goes on when it is back', async () => {
    // The token of a page is of one run of the node: the page gets another one without asking.
    checks.allow(/401|503|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING/);
    await page.goto('/sources');
    await expect(page.getByText('No sources yet')).toBeVisible();
    const note = page.getByRole('alert').filter({ hasText: 'The disk of the archive cannot be reached' });
    await rename(node.dataFolder, `${node.dataFolder}-away`);
    await expect(note).toContainText('What was acknowledged is on that disk');
    await checks.accessible(page);

    await rename(`${node.dataFolder}-away`, node.dataFolder);
    await expect(note).toHaveCount(0);
    await expect(page.getByText('No sources yet')).toBeVisible();
    await page.getByRole('link', { name: 'Ledger' }).click();
    await expect(page.getByRole('heading', { name: 'Ledger' })).toBeVisible();
    await expect(page.getByRole('alert')).toHaveCount(0);
  });
  await test.step('an address that is opened meanwhile says it too, and shows its page when the disk is back', async () => {
    checks.allow(/503/);
    await rename(node.dataFolder, `${node.dataFolder}-away`);
    await page.goto('/packs');
    await expect(
      page.getByRole('heading', { name: 'The disk of the archive cannot be reached' }),
    ).toBeVisible();
    await checks.accessible(page);
    await rename(`${node.dataFolder}-away`, node.dataFolder);
    await expect(page.getByRole('heading', { name: 'Packs', exact: true })).toBeVisible();
  });
  await test.step('a draft that is typed meanwhile is saved when the disk is back', async () => {
    checks.allow(/503|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING/);
    await page.goto('/assemble');
    await titleOf(page).fill('Before');
    await expect(page.getByText(SAVED)).toBeVisible();
    await rename(node.dataFolder, `${node.dataFolder}-away`);
    await titleOf(page).fill('Typed without the disk');
    await expect(page.getByText('The disk of the archive cannot be reached')).toBeVisible();
    await rename(`${node.dataFolder}-away`, node.dataFolder);
    await expect(page.getByText(SAVED)).toBeVisible();
    await expect(titleOf(page)).toHaveValue('Typed without the disk');
    const [draft] = await draftsOf(node);
    expect(draft?.title).toBe('Typed without the disk');
  });
});
