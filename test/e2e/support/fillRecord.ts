import { expect, type Page } from '@playwright/test';

/** Fills in what a new pack needs besides its files: an author, an outcome and a licence. */
export async function fillRecord(page: Page): Promise<void> {
  await page.getByLabel('Name', { exact: true }).first().fill('Ada Lovelace');
  await page.getByRole('radio', { name: /^null/ }).click();
  await page.getByRole('radio', { name: /^CC0-1\.0/ }).click();
  await expect(page.getByText('Ready to publish')).toBeVisible();
}
