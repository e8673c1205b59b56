import { collectChanges } from '../support/changes.ts';
import { expect, test } from '../support/fixtures.ts';

test('texts are searched, and the timeline is exported and limited to a time range', async ({
  page,
  node,
  web,
  checks,
}) => {
  await test.step('texts are searched on their own page and from the palette, and the timeline is exported', async () => {
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
    await page.getByRole('searchbox', { name: 'Search text' }).fill('penguins');
    await expect(page.getByText('No results')).toBeVisible();

    await page.keyboard.press('ControlOrMeta+k');
    const palette = page.getByRole('dialog', { name: 'Search' });
    await expect(palette.getByRole('textbox')).toBeFocused();
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
  await test.step('a time range is selected by dragging over the bars, or with the arrow keys', async () => {
    await collectChanges(page, node, web, [{ name: 'Note', type: 'text/plain', from: 'one', to: 'two' }]);
    // The events of a test are of one day, so the response is replaced by one with ten days.
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
});
