import type { Page } from '@playwright/test';
import { PNG } from 'pngjs';
import { expect, test } from './support/fixtures.ts';
import type { NodeProcess } from './support/nodeProcess.ts';
import type { ScriptedWeb } from './support/scriptedWeb.ts';

test('a change is shown word by word, with the text of the object and who else holds it', async ({
  page,
  node,
  web,
  checks,
}) => {
  const [event = 0] = await collectChanges(page, node, web, [
    {
      name: 'News',
      type: 'text/html',
      from: '<title>News</title><p>The limit is 50 mg.</p><p>By the press office.</p>',
      to: '<title>News</title><p>The limit is 45 mg.</p><p>By the press office.</p>',
    },
  ]);
  await importOwnCaptures(node, 'Another archive');
  await page.goto(`/timeline/${event}`);
  const diff = page.getByRole('region', { name: 'Changes', exact: true });
  await expect(diff.getByText('1 passage, 1 word added, 1 removed')).toBeVisible();
  await expect(diff.getByRole('deletion')).toHaveText('50');
  await expect(diff.getByRole('insertion')).toHaveText('45');
  await expect(diff.getByRole('link', { name: 'View as JSON' })).toHaveAttribute(
    'href',
    `/api/events/${event}/diff`,
  );
  await expect(page.getByText('Another archive').first()).toBeVisible();
  const after = page.getByRole('region', { name: /^After: object/ });
  await after.getByRole('button', { name: 'Text' }).click();
  await expect(after.getByRole('region', { name: 'Text of the object' })).toContainText(
    'The limit is 45 mg.',
  );
  await checks.accessible(page);
});

test('values, rows, pixels and bytes are compared each in their own way, and a phone has room for all of them', async ({
  page,
  node,
  web,
  checks,
}) => {
  const [json, csv, image, bytes] = await collectChanges(page, node, web, [
    { name: 'Budget', type: 'application/json', from: '{"year":2025}', to: '{"year":2026}' },
    {
      name: 'Gauges',
      type: 'text/csv',
      from: 'id,level\n1,212\n2,301\n',
      to: 'id,level\n1,215\n3,301\n',
    },
    { name: 'Map', type: 'image/png', from: picture(0), to: picture(255) },
    {
      name: 'Data',
      type: 'application/octet-stream',
      from: Buffer.from([0, 1, 2]),
      to: Buffer.from([0, 7, 2, 3]),
    },
  ]);
  await page.setViewportSize({ width: 390, height: 844 });
  const diff = page.getByRole('region', { name: 'Changes', exact: true });
  const look = async (event: number | undefined, summary: string) => {
    await page.goto(`/timeline/${event}`);
    await expect(diff.getByText(summary)).toBeVisible();
    await checks.accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  };

  await look(json, '1 value changed');
  await expect(diff.getByRole('listitem')).toContainText('/year');
  await expect(diff.getByRole('deletion')).toHaveText('2025');

  await look(csv, '1 row added, 1 removed, 1 changed (1 cell)');
  await expect(diff.getByRole('row', { name: /^changed 1/ })).toContainText('215');

  await look(image, '1 of 64 pixels differ (1.6 %)');
  const before = diff.getByRole('img', { name: /^Before/ });
  await expect(before).toHaveJSProperty('naturalWidth', 8);
  await diff.getByRole('switch', { name: 'Highlight differences: 1 × 1 pixels at 0, 0' }).uncheck();

  await look(bytes, '1 byte longer; first difference at byte 1 (counted from 0)');
  await expect(diff.getByRole('deletion')).toHaveText('01');
});

test('a change that the noise rules explain is marked, and the owner can show the ignored parts', async ({
  page,
  node,
  web,
  checks,
}) => {
  const [event] = await collectChanges(page, node, web, [
    {
      name: 'Counter',
      type: 'text/html',
      from: '<p>Figures</p><p class="visits">1201</p>',
      to: '<p>Figures</p><p class="visits">1202</p>',
      noise_rules: [{ kind: 'selector', value: '.visits', note: 'counts visits' }],
    },
  ]);
  await expect
    .poll(
      async () =>
        ((await (await page.request.get(`/api/events/${event}`)).json()) as { is_noise: unknown }).is_noise,
    )
    .toBe(true);
  await page.goto(`/timeline/${event}`);
  const row = page.getByRole('article', { name: `Event ${event}` });
  await expect(row.getByText('noise', { exact: true })).toBeVisible();
  const diff = page.getByRole('region', { name: 'Changes', exact: true });
  await expect(diff.getByText(/explain the whole change/)).toBeVisible();
  await diff.getByText('1 rule of this source').click();
  await expect(diff.getByText(/counts visits/)).toBeVisible();
  await expect(diff.getByRole('insertion')).toHaveCount(0);
  await diff.getByRole('switch', { name: 'Show ignored parts' }).check();
  await expect(diff.getByRole('insertion')).toHaveText('1202');
  await checks.accessible(page);
});

test('a diff that cannot be made now says so and can be requested again', async ({
  page,
  node,
  web,
  checks,
}) => {
  checks.allow(/500|503/);
  const [event] = await collectChanges(page, node, web, [
    { name: 'Note', type: 'text/plain', from: 'one', to: 'two' },
  ]);
  const busy = {
    type: 'about:blank',
    title: 'Too many texts and diffs are being computed',
    status: 503,
    code: 'derivation_busy',
    detail: 'A dozen are being made. Ask again in a few seconds.',
  };
  await page.route('**/diff', (route) =>
    route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(busy) }),
  );
  await page.goto(`/timeline/${event}`);
  const diff = page.getByRole('region', { name: 'Changes', exact: true });
  await expect(diff.getByRole('alert')).toContainText('Ask again in a few seconds.');
  await expect(diff.getByRole('alert')).toContainText('derivation_busy');
  await page.unroute('**/diff');
  await diff.getByRole('button', { name: 'Try again' }).click();
  await expect(diff.getByRole('insertion')).toHaveText('two');
});

test('the texts are searched on a page of their own and from the palette, and the timeline is exported', async ({
  page,
  node,
  web,
  checks,
}) => {
  await collectChanges(page, node, web, [
    {
      name: 'Herons',
      type: 'text/html',
      from: '<p>Old</p>',
      to: '<title>Birds</title><p>Grey herons stand still.</p>',
    },
  ]);
  await page.goto('/search');
  await expect(page.getByText('A text must contain all words')).toBeVisible();
  await checks.accessible(page);
  await expect
    .poll(
      async () =>
        ((await (await page.request.get('/api/search?q=herons+still')).json()) as { total: number }).total,
    )
    .toBe(1);
  await page.getByRole('searchbox', { name: 'Search text' }).fill('herons still');
  const result = page.getByRole('article', { name: 'Herons' });
  await expect(result.locator('mark')).toHaveText(['herons', 'still']);
  await expect(page).toHaveURL(/q=herons\+still/);
  await checks.accessible(page);
  await page.getByRole('searchbox', { name: 'Search text' }).fill('penguins');
  await expect(page.getByText('No results')).toBeVisible();

  await page.keyboard.press('ControlOrMeta+k');
  const palette = page.getByRole('dialog', { name: 'Search' });
  await expect(palette).toBeVisible();
  await page.keyboard.type('herons still');
  await palette.getByRole('button', { name: /Grey herons stand still/ }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Herons' })).toBeVisible();
  await page.getByRole('button', { name: 'Export' }).click();
  const map = page.getByRole('link', { name: /^TimeMap/ });
  const answer = await page.request.get((await map.getAttribute('href')) ?? '');
  expect(answer.headers()['content-type']).toContain('application/link-format');

  await page.goto('/timeline?event_type=changed');
  await page.getByRole('button', { name: 'Export' }).click();
  await checks.accessible(page);
  for (const [name, type] of [
    [/^Atom/, 'application/atom+xml'],
    [/^CSV/, 'text/csv'],
    [/^WARC/, 'application/warc'],
  ] as const) {
    const address = await page.getByRole('link', { name }).getAttribute('href');
    expect((await page.request.get(address ?? '')).headers()['content-type']).toContain(type);
  }
  await expect(page.getByRole('link', { name: /^CSV/ })).toHaveAttribute('href', /event_type=changed/);
});

test('a span of the timeline is chosen by drawing over the strip, or by its handles with the arrow keys', async ({
  page,
  node,
  web,
  checks,
}) => {
  await collectChanges(page, node, web, [{ name: 'Note', type: 'text/plain', from: 'one', to: 'two' }]);
  // A test has no days to wait for: the node is made to say that its events are of ten.
  const counts = [3, 0, 1, 7, 0, 2, 9, 4, 0, 1];
  await page.route('**/api/events/density?**', (route) =>
    route.fulfill({
      json: {
        since: '2026-03-01T00:00:00.000Z',
        until: '2026-03-10T23:59:59.999Z',
        total: 27,
        counts: route.request().url().endsWith('buckets=1') ? [27] : counts,
      },
    }),
  );
  await page.goto('/timeline');
  const strip = page.getByRole('region', { name: 'Events over time' });
  await expect(strip.getByText('27 events')).toBeVisible();
  await checks.accessible(page);
  const bars = strip.getByRole('img', { name: '10 bars, one per day; at most 9 events per bar' });
  const box = await bars.boundingBox();
  if (!box) throw new Error('The bars are not drawn.');
  const over = (bar: number) => [box.x + ((bar + 0.5) / 10) * box.width, box.y + 20] as const;
  await page.mouse.move(...over(5));
  await page.mouse.down();
  await page.mouse.move(...over(3));
  await page.mouse.up();
  await expect(page).toHaveURL(/since=2026-03-04&until=2026-03-06/);
  await expect(strip.getByText('2026-03-04 to 2026-03-06: 9 events')).toBeVisible();
  await expect(page.getByLabel('From date')).toHaveValue('2026-03-04');

  await strip.getByRole('slider', { name: 'Last day' }).focus();
  await page.keyboard.press('ArrowRight');
  await expect(page).toHaveURL(/until=2026-03-07/);
  await expect(strip.getByText('2026-03-04 to 2026-03-07: 18 events')).toBeVisible();
  await expect(strip.getByRole('slider', { name: 'Last day' })).toBeFocused();
  await checks.accessible(page);
  await page.getByRole('button', { name: 'Clear filters' }).first().click();
  await expect(strip.getByText('27 events')).toBeVisible();
});

interface Change {
  name: string;
  type: string;
  from: string | Buffer;
  to: string | Buffer;
  noise_rules?: { kind: string; value: string; note: string }[];
}

/** Watches an address for each change, checks it once with the older version and once with the newer; their events. */
async function collectChanges(
  page: Page,
  node: NodeProcess,
  web: ScriptedWeb,
  changes: Change[],
): Promise<number[]> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  const publish = (version: 'from' | 'to') => {
    for (const { name, type, [version]: body } of changes) {
      web.publish(`/${name}`, { headers: { 'Content-Type': type }, body });
    }
    return page.request;
  };
  const ids: string[] = [];
  for (const { name, noise_rules = [] } of changes) {
    const data = { url: web.url(`/${name}`), name, noise_rules };
    const answer = await page.request.post(`${node.url}/manage/sources`, { data });
    ids.push(((await answer.json()) as { id: string }).id);
  }
  const events: number[] = [];
  for (const version of ['from', 'to'] as const) {
    const request = publish(version);
    events.length = 0;
    for (const id of ids) {
      const answer = await request.post('/manage/collections?wait=true', { data: { sources: [id] } });
      events.push(...((await answer.json()) as { events: number[] }).events);
    }
  }
  return events;
}

/** Reads what the node gives away as WARC into it again, as another observer's captures. */
async function importOwnCaptures({ url, token }: NodeProcess, observer: string): Promise<void> {
  const file = await (await fetch(`${url}/api/warc`)).arrayBuffer();
  const answer = await fetch(`${url}/manage/captures?observer=${encodeURIComponent(observer)}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/warc' },
    body: file,
  });
  expect(answer.status).toBe(200);
}

/** A black picture of 8 by 8 pixels, of which the first is as red as said. */
function picture(red: number): Buffer {
  const png = new PNG({ width: 8, height: 8 });
  for (let at = 3; at < png.data.length; at += 4) png.data[at] = 255;
  png.data[0] = red;
  return PNG.sync.write(png);
}
