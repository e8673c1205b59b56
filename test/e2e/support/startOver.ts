import type { Page } from '@playwright/test';

/** Between two parts of a test: the page answers nothing itself, has nothing stored, and shows nothing. */
export async function startOver(page: Page): Promise<void> {
  await page.unrouteAll({ behavior: 'wait' });
  await page.evaluate(() => sessionStorage.clear());
  const { origin } = new URL(page.url());
  await page.goto('about:blank');
  const session = await page.context().newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'local_storage,indexeddb' });
  await session.detach();
}
