import { collectChanges } from '../support/changes.ts';
import { expect, test } from '../support/fixtures.ts';

/** Two sources with two events each: 1 and 2 are the first versions, 3 and 4 the changes. */
const CHANGES = [
  {
    name: 'Prices',
    type: 'text/html',
    from: '<p>It costs 120 euros.',
    to: '<p>It costs 145 euros.',
  },
  {
    name: 'Visits',
    type: 'text/html',
    from: '<p>Hello<b class="visits">10</b>',
    to: '<p>Hello<b class="visits">11</b>',
    noise_rules: [{ kind: 'selector', value: '.visits', note: 'counts visits' }],
  },
];

test('events are chosen, opened and marked with keys, noise is hidden, and rows say what changed', async ({
  page,
  node,
  web,
  checks,
}) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await collectChanges(page, node, web, CHANGES);
  await page.goto('/timeline');
  const row = (id: number) => page.getByRole('article', { name: `Event ${id}`, exact: true });
  const navigation = page.getByRole('navigation', { name: 'Main' });
  await expect(row(3)).toContainText('120 → 145 euros');
  await expect(row(4)).toContainText('Noise by the rule “.visits”');
  await expect(row(3)).toContainText('unseen');
  await checks.accessible(page);

  await page.getByRole('checkbox', { name: 'Hide noise' }).click();
  await expect(page).toHaveURL(/noise=false/);
  await expect(row(4)).toBeHidden();
  await expect(page.getByText('3 events', { exact: true })).toBeVisible();

  // The selected row opens to the right, and the filter stays.
  await page.keyboard.press('j');
  await expect(page).toHaveURL(/\/timeline\/3\?noise=false/);
  const pane = page.getByRole('complementary', { name: 'Event 3' });
  await expect(pane).toBeVisible();
  await expect(row(3).getByRole('link')).toBeFocused();
  await page.keyboard.press('j');
  await expect(page).toHaveURL(/\/timeline\/2\?/);
  await page.keyboard.press('k');
  await expect(page).toHaveURL(/\/timeline\/3\?/);
  // The shortcuts of an event do not work until the event is shown.
  await expect(pane.getByRole('button', { name: 'Older of this source' })).toBeEnabled();
  await page.keyboard.press('Shift+J');
  await expect(page).toHaveURL(/\/timeline\/1\?/);
  const first = page.getByRole('complementary', { name: 'Event 1' });
  await expect(first.getByRole('button', { name: 'Older of this source' })).toBeDisabled();
  await page.keyboard.press('Shift+K');
  await expect(page).toHaveURL(/\/timeline\/3\?/);

  // Three events are unseen; noise is not counted.
  await expect(navigation).toContainText('3 unseen');
  await page.keyboard.press('m');
  await expect(row(3)).not.toContainText('unseen');
  await expect(navigation).toContainText('2 unseen');
  await page.keyboard.press('m');
  await expect(row(3)).toContainText('unseen');
  await page.keyboard.press('m');
  await page.getByRole('checkbox', { name: 'Unseen' }).click();
  await expect(page.getByText('2 events', { exact: true })).toBeVisible();
  await expect(row(3)).toBeHidden();

  // Keys do nothing while somebody types.
  await page.getByRole('searchbox', { name: 'Search events' }).pressSequentially('jkm?');
  await expect(page).toHaveURL(/q=jkm/);
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.getByRole('searchbox', { name: 'Search events' }).fill('');
  await expect(page.getByText('2 events', { exact: true })).toBeVisible();

  await page.getByRole('button', { name: 'Mark all as seen' }).click();
  await expect(page.getByText('Nothing unseen')).toBeVisible();
  await page.goto('/');
  await expect(page.getByText('1 change that is only noise is hidden.')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Recent changes' })).toContainText('120 → 145 euros');
  await checks.accessible(page);
});

test('? shows the keys, and they can be turned off; a page of one event has buttons and keys', async ({
  page,
  node,
  web,
  checks,
}) => {
  await page.setViewportSize({ width: 1024, height: 800 });
  await collectChanges(page, node, web, CHANGES);
  await page.goto('/timeline');
  await expect(page.getByRole('article', { name: 'Event 4' })).toBeVisible();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(help).toContainText('Mark as seen or unseen');
  await checks.accessible(page);
  await page.keyboard.press('Escape');
  await expect(help).toBeHidden();
  // Without room for two panes, Enter opens the selected row.
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Event 3' })).toBeVisible();
  await page.getByRole('button', { name: 'Older', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Event 2' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Newer', exact: true })).toBeEnabled();
  await page.keyboard.press('k');
  await expect(page.getByRole('heading', { level: 1, name: 'Event 3' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Older of this source' })).toBeEnabled();
  await page.keyboard.press('Shift+J');
  await expect(page.getByRole('heading', { level: 1, name: 'Event 1' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Mark as seen' })).toBeVisible();
  await page.keyboard.press('m');
  await expect(page.getByRole('button', { name: 'Mark as unseen' })).toBeVisible();
  await checks.accessible(page);
  await page.keyboard.press('?');
  await help.getByLabel('Use single-key shortcuts').uncheck();
  await page.keyboard.press('Escape');
  await page.keyboard.press('k');
  await page.keyboard.press('m');
  await expect(page.getByRole('button', { name: 'Mark as unseen' })).toBeVisible();
  await expect(page).toHaveURL(/\/timeline\/1$/);
});
