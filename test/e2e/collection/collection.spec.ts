import type { Page, Route } from '@playwright/test';
import { expect, test } from '../support/fixtures.ts';
import { holdRequests } from '../support/holdRequests.ts';
import type { NodeProcess } from '../support/nodeProcess.ts';
import { startOver } from '../support/startOver.ts';

test('the input for a new source survives closing the dialog, and is not replaced by a test fetch', async ({
  page,
  web,
  checks,
}) => {
  await test.step('the input for a new source survives closing the dialog, and errors appear at their fields', async () => {
    checks.allow(/409/);
    await setUp(page);
    await page.goto('/sources?add');
    const form = page.getByRole('dialog', { name: 'Watch a source' });
    await form.getByLabel('URL').fill(web.url('/missing'));
    await form.getByLabel('URL').press('Enter');
    await expect(form.getByText('The server answered 404.')).toBeVisible();
    await form.getByLabel('Name', { exact: true }).fill('A page that is not there');
    await page.keyboard.press('Escape');
    await expect(form).toBeHidden();
    await page.reload();
    await page.getByRole('button', { name: 'Watch a source' }).click();
    await expect(form.getByLabel('Name', { exact: true })).toHaveValue('A page that is not there');

    await form.getByRole('button', { name: 'Fetch settings' }).click();
    await form.getByLabel('Request headers').fill('Host: elsewhere.example');
    await form.getByRole('button', { name: 'Watch', exact: true }).click();
    await expect(form.getByText(/The collector sets Host/)).toBeVisible();
    await checks.accessible(page);
    await form.getByLabel('Request headers').fill('Accept-Language: de');
    await form.getByRole('button', { name: 'Watch', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'A page that is not there' })).toBeVisible();
    await expect(page.getByText('1 source checked: 1 failed.')).toBeVisible();
    await expect(page.getByText('The server answered 404').first()).toBeVisible();
  });
  await startOver(page);
  await test.step('a test fetch does not replace an address that was typed meanwhile', async () => {
    web.publish('/first', '<title>First</title>');
    web.publish('/second', '<title>Second</title>');
    await page.goto('/sources?add');
    const form = page.getByRole('dialog');
    const answer = await holdRequests(page, 'POST', '**/manage/sources/preview');
    const asked = page.waitForRequest((request) => request.method() === 'POST');
    await form.getByLabel('URL').fill(web.url('/first'));
    await form.getByRole('button', { name: 'Test fetch' }).click();
    await asked;
    await form.getByLabel('URL').fill(web.url('/second'));
    answer();
    const again = form.getByRole('button', { name: 'Test fetch' });
    await expect(again).toBeEnabled();
    await expect(form.getByLabel('URL')).toHaveValue(web.url('/second'));
    await expect(form.getByLabel('Name')).toHaveValue('');
    await again.click();
    await expect(form.getByLabel('Name')).toHaveValue('Second');
  });
});

test('sources are searched, selected, paused, edited and removed; their history stays', async ({
  page,
  node,
  web,
  checks,
}) => {
  for (const name of ['Alpha', 'Beta', 'Gamma']) {
    web.publish(`/${name}`, `<title>${name}</title>`);
    await watch(page, node, { url: web.url(`/${name}`), name, agency: name === 'Beta' ? 'Bureau' : '' });
  }
  await collect(page);
  await page.goto('/sources');
  const table = page.getByRole('table', { name: 'Watched sources' });
  await expect(table.getByRole('row')).toHaveCount(4);
  await page.getByRole('searchbox', { name: 'Search sources' }).fill('bet');
  await expect(page).toHaveURL(/q=bet/);
  await expect(table.getByRole('row')).toHaveCount(2);
  await page.getByRole('button', { name: 'Clear all' }).click();
  await expect(table.getByRole('row')).toHaveCount(4);

  await table.getByRole('checkbox', { name: 'Select Alpha' }).check();
  await table.getByRole('checkbox', { name: 'Select Gamma' }).check();
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(table.getByText('paused').filter({ visible: true })).toHaveCount(2);
  await page.getByRole('button', { name: 'Check all now' }).click();
  await expect(page.getByText('1 source checked: 1 unchanged.')).toBeVisible();

  await table.getByRole('link', { name: 'Beta' }).focus();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Gamma' })).toBeVisible();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Delta');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Delta' })).toBeVisible();
  await expect(page.getByRole('dialog')).toBeHidden();

  const retrievals = page.getByRole('table', { name: /^Retrievals of this source/ });
  await retrievals.getByRole('link').first().click();
  await expect(page.getByRole('dialog', { name: /^Retrieval \d+/ })).toContainText('200 OK');
  await checks.accessible(page);
  await page.keyboard.press('Escape');

  const address = page.url();
  await page.getByRole('button', { name: 'Stop watching' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop watching' }).click();
  await expect(table.getByRole('row')).toHaveCount(3);
  await page.goto(address);
  await expect(page.getByText('no longer watched', { exact: true })).toBeVisible();
  await expect(page.getByRole('table', { name: /Events of this source/ })).toContainText('first seen');
});

test('the timeline shows new events live, also after the node refused its stream', async ({
  page,
  node,
  web,
  checks,
}) => {
  await test.step('the timeline shows new events live, holds them back while scrolled down, and verifies objects in the browser', async () => {
    await page.goto('/timeline');
    const source = await watch(page, node, { url: web.url('/news'), name: 'News', agency: 'Bureau' });
    const change = async (version: number) => {
      web.publish('/news', `<title>News</title>version ${version}`);
      await collect(page, [source]);
    };
    for (let version = 1; version <= 30; version += 1) await change(version);
    const list = page.getByRole('feed', { name: 'Events, newest first' });
    await expect(page.getByText('30 events')).toBeVisible();
    await expect(page.getByText('live', { exact: true })).toBeVisible();
    await change(31);
    await expect(page.getByText('31 events')).toBeVisible();
    await expect(list.getByRole('article', { name: 'Event 31' })).toBeVisible();

    await list.getByRole('link', { name: 'News' }).first().focus();
    await page.keyboard.press('End');
    await expect(list.getByRole('article', { name: 'Event 1', exact: true }).getByRole('link')).toBeFocused();
    await change(32);
    await change(33);
    const pill = page.getByRole('button', { name: '2 new' });
    await expect(pill).toBeVisible();
    await expect(page.getByText('31 events')).toBeVisible();
    await pill.click();
    await expect(page.getByText('33 events')).toBeVisible();
    await expect(list.getByRole('article', { name: 'Event 33' })).toBeVisible();

    await list.getByRole('link', { name: 'News' }).nth(1).click();
    await expect(page).toHaveURL(/\/timeline\/32$/);
    const pane = page.getByRole('complementary', { name: 'Event 32' });
    await pane.getByRole('button', { name: 'Verify', exact: true }).first().click();
    await expect(
      pane.getByText(/^Verified: \d+ bytes were downloaded and hashed in this browser/),
    ).toBeVisible();
    await pane.getByRole('button', { name: 'Retrievals' }).first().click();
    await expect(pane.getByText(/^Intact:/)).toBeVisible();
    await checks.accessible(page);

    await page.route('**/archive/*', (route) => route.fulfill({ body: 'something else' }));
    await pane.getByRole('button', { name: 'Verify', exact: true }).nth(1).click();
    await expect(pane.getByText(/^Does not match: 14 bytes/)).toBeVisible();
  });
  await startOver(page);
  await test.step('the timeline is live again after the node refused its stream', async () => {
    checks.allow(/503 \(Service Unavailable\).*\/api\/events\/stream/);
    await page.goto('/timeline');
    let refusals = 0;
    const refuse = (route: Route) => {
      refusals += 1;
      return route.fulfill({ status: 503, body: 'starting' });
    };
    await page.route('**/api/events/stream?**', refuse, { times: 2 });
    await page.reload();
    await expect(page.getByText('live', { exact: true })).toBeVisible();
    expect(refusals).toBe(2);
  });
});

test('filters are in the URL, and a phone shows the list and the event on separate pages', async ({
  page,
  node,
  web,
  checks,
}) => {
  web.publish('/one', 'one');
  web.publish('/two', 'two');
  await watch(page, node, { url: web.url('/one'), name: 'One', agency: 'First bureau' });
  await watch(page, node, { url: web.url('/two'), name: 'Two', agency: 'Second bureau' });
  await collect(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/timeline?agency=Second%20bureau&event_type=first_seen');
  await expect(page.getByText('1 event', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Filters (2)' }).click();
  await expect(page.getByRole('combobox', { name: 'Agency' })).toHaveValue('Second bureau');
  await checks.accessible(page);
  await page.getByRole('link', { name: 'Two' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /^Event \d$/ })).toBeVisible();
  // A phone has no pointer that rests on a text and opens its tooltip.
  await page.mouse.move(0, 0);
  await checks.accessible(page);
  await page.getByRole('link', { name: 'Timeline', exact: true }).click();
  await expect(page).toHaveURL(/agency=Second\+?(%20)?bureau/);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect(page.getByText('2 events')).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});

interface Watched {
  url: string;
  name: string;
  agency: string;
}

/** Watches a source and returns its id. */
async function watch(page: Page, node: NodeProcess, source: Watched): Promise<string> {
  await setUp(page);
  const answer = await page.request.post(`${node.url}/manage/sources`, { data: source });
  return ((await answer.json()) as { id: string }).id;
}

/** Checks the given sources, or all, and waits until the round is finished. */
async function collect(page: Page, sources?: string[]): Promise<void> {
  await page.request.post('/manage/collections?wait=true', { data: sources ? { sources } : {} });
}

/** Turns off pauses and retries, which the scripted web server does not need. */
async function setUp(page: Page): Promise<void> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
}
