import { collectChanges, importOwnCaptures, picture } from '../support/changes.ts';
import { expect, test } from '../support/fixtures.ts';

test('a change is shown word by word, marked if it is noise, and compared again on request', async ({
  page,
  node,
  web,
  checks,
}) => {
  const [words, noise, note] = await collectChanges(page, node, web, [
    {
      name: 'News',
      type: 'text/html',
      from: '<title>News</title><p>The limit is 50 mg.</p><p>By the press office.</p>',
      to: '<title>News</title><p>The limit is 45 mg.</p><p>By the press office.</p>',
    },
    {
      name: 'Counter',
      type: 'text/html',
      from: '<p>Figures</p><p class="visits">1201</p>',
      to: '<p>Figures</p><p class="visits">1202</p>',
      noise_rules: [{ kind: 'selector', value: '.visits', note: 'counts visits' }],
    },
    { name: 'Note', type: 'text/plain', from: 'one', to: 'two' },
  ]);
  await test.step('a change is shown word by word, with the text of the object and its other holders', async () => {
    await importOwnCaptures(node, 'Another archive');
    await page.goto(`/timeline/${words}`);
    const diff = page.getByRole('region', { name: 'Changes', exact: true });
    await expect(diff.getByText('1 passage, 1 word added, 1 removed')).toBeVisible();
    await expect(diff.getByRole('deletion')).toHaveText('50');
    await expect(diff.getByRole('insertion')).toHaveText('45');
    await expect(diff.getByRole('link', { name: 'View as JSON' })).toHaveAttribute(
      'href',
      `/api/events/${words}/diff`,
    );
    await expect(page.getByText('Another archive').first()).toBeVisible();
    const after = page.getByRole('region', { name: /^After: object/ });
    await after.getByRole('button', { name: 'Text' }).click();
    await expect(after.getByRole('region', { name: 'Text of the object' })).toContainText(
      'The limit is 45 mg.',
    );
  });
  await test.step('a change that the noise rules explain is marked, and the owner can show the ignored parts', async () => {
    await expect
      .poll(
        async () =>
          ((await (await page.request.get(`/api/events/${noise}`)).json()) as { is_noise: unknown }).is_noise,
      )
      .toBe(true);
    await page.goto(`/timeline/${noise}`);
    const row = page.getByRole('article', { name: `Event ${noise}` });
    await expect(row.getByText('noise', { exact: true })).toBeVisible();
    const diff = page.getByRole('region', { name: 'Changes', exact: true });
    await expect(diff.getByText(/explain the entire change/)).toBeVisible();
    await diff.getByText('1 rule of this source').click();
    await expect(diff.getByText(/counts visits/)).toBeVisible();
    await expect(diff.getByRole('insertion')).toHaveCount(0);
    await diff.getByRole('switch', { name: 'Show ignored parts' }).check();
    await expect(diff.getByRole('insertion')).toHaveText('1202');
    await checks.accessible(page);
  });
  await test.step('a diff that the node is too busy to compute can be requested again', async () => {
    checks.allow(/500|503/);
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
    await page.goto(`/timeline/${note}`);
    const diff = page.getByRole('region', { name: 'Changes', exact: true });
    await expect(diff.getByRole('alert')).toContainText('Ask again in a few seconds.');
    await expect(diff.getByRole('alert')).toContainText('derivation_busy');
    await page.unroute('**/diff');
    await diff.getByRole('button', { name: 'Try again' }).click();
    await expect(diff.getByRole('insertion')).toHaveText('two');
  });
});

test('values, rows, pixels and bytes have their own diffs, which fit on a phone', async ({
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
