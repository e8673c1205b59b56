import type { Page } from '@playwright/test';

/** Opens a sign-in link, and waits until the page knows that it is the owner's: it has stored its key by then. */
export async function signIn(page: Page, link: string): Promise<void> {
  const known = page.waitForResponse(
    (response) =>
      new URL(response.url()).pathname === '/api/session' && response.request().method() === 'GET',
  );
  // Most tests go on with another page.
  await page.goto(link, { waitUntil: 'commit' });
  await known;
}
