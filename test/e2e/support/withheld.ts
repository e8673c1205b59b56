import type { Browser, Page } from '@playwright/test';
import { expect } from './fixtures.ts';
import type { NodeProcess } from './nodeProcess.ts';
import type { PageChecks } from './pageChecks.ts';
import type { ScriptedWeb } from './scriptedWeb.ts';

/** Watches an address with two versions; returns the ids of its source and of the event of the change. */
export async function watchNotes(
  page: Page,
  web: ScriptedWeb,
): Promise<{ source: string; event: number; sha256: string; before: string }> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  const notes = (line: string) =>
    `<!doctype html><title>Notes of the day</title><h1>Notes of the day</h1><p>${line}</p>`;
  web.publish('/notes', notes('Ada Lovelace lives at 12 Hill Street.'));
  const added = await page.request.post('/manage/sources', {
    data: { url: web.url('/notes'), name: 'Notes of the day' },
  });
  const { id: source } = (await added.json()) as { id: string };
  const collect = () => page.request.post('/manage/collections?wait=true', { data: { sources: [source] } });
  await collect();
  web.publish('/notes', notes('Ada Lovelace lives at 7 Mill Lane.'));
  await collect();
  const answer = await page.request.get(`/api/events?event_type=changed&source=${source}`);
  const [event] = (
    (await answer.json()) as { items: { id: number; sha256: string; previous_sha256: string }[] }
  ).items;
  if (!event) throw new Error('The notes have no change.');
  return { source, event: event.id, sha256: event.sha256, before: event.previous_sha256 };
}

/** A page in the browser of a visitor: nobody is signed in there. */
export async function visitorOf(browser: Browser, node: NodeProcess, checks: PageChecks): Promise<Page> {
  const context = await browser.newContext({ baseURL: node.url, reducedMotion: 'reduce' });
  const visitor = await context.newPage();
  checks.watch(visitor);
  return visitor;
}

/** Withholds as the owner, by HTTP. */
export async function withhold(page: Page, body: object): Promise<void> {
  const response = await page.request.post('/manage/withheld', { data: body });
  expect(response.status()).toBe(201);
}
