import type { Page } from '@playwright/test';

/** Holds back the requests of a method to matching URLs until the returned function is called. */
export async function holdRequests(page: Page, method: string, url: string): Promise<() => void> {
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(url, async (route) => {
    if (route.request().method() === method) await isReleased;
    await route.fallback();
  });
  return release;
}
