import type { Page } from '@playwright/test';

/** Between two parts of a test: the page answers nothing itself, has only the key of the owner stored, and shows nothing. */
export async function startOver(page: Page): Promise<void> {
  await page.unrouteAll({ behavior: 'wait' });
  // A page without scripts has no database open.
  await page.goto(new URL('/robots.txt', page.url()).href);
  await page.evaluate(async () => {
    sessionStorage.clear();
    localStorage.clear();
    for (const { name } of await indexedDB.databases()) {
      if (!name || name === 'strongroom-owner') continue;
      await new Promise((deleted, failed) => {
        const request = indexedDB.deleteDatabase(name);
        request.onsuccess = deleted;
        request.onerror = failed;
      });
    }
  });
  await page.goto('about:blank');
}
