import { expect, test } from './support/fixtures.ts';

test('the owner shares the node and invites a visitor, who then contributes from another browser', async ({
  page,
  checks,
  node,
  browser,
}) => {
  await page.goto('/');
  await page.getByRole('link', { name: 'Sharing' }).click();
  await expect(page.getByRole('radio', { name: /^Off/ })).toBeChecked();
  await expect(page.getByText('cannot be reached from the network')).toBeVisible();
  await checks.accessible(page);

  await page.getByRole('switch', { name: 'Serve HTTPS on the next port' }).click();
  await expect(page.getByText(/Compare the SHA-256 fingerprint/)).toBeVisible();
  await checks.accessible(page);

  // The second choice is made before the node has responded to the first.
  const { promise: chosen, resolve: bothAreChosen } = Promise.withResolvers<void>();
  await page.route('**/manage/sharing', async (route) => {
    await chosen;
    await route.continue();
  });
  await page.getByRole('radio', { name: /^Contribute/ }).click();
  await page.getByRole('button', { name: 'Share for contributions' }).click();
  const requiresInvitation = page.getByRole('switch', { name: 'Require an invitation to contribute' });
  await expect(requiresInvitation).toBeChecked();
  await requiresInvitation.click();
  bothAreChosen();
  await expect(page.getByText('Anyone who can reach the node can add packs')).toBeVisible();
  await requiresInvitation.click();
  await expect(page.getByText('Anyone with an invitation can add packs')).toBeVisible();
  await page.getByLabel('Name').fill('Ada Lovelace');
  await page.getByRole('button', { name: 'Create invitation' }).click();
  const token =
    (await page.getByRole('region', { name: 'New invitation' }).locator('code').textContent()) ?? '';
  expect(token).toMatch(/^invitation-[0-9a-f]{64}$/);
  await checks.accessible(page);

  const visitor = await (await browser.newContext({ baseURL: node.url })).newPage();
  checks.watch(visitor);
  await visitor.goto('/');
  await expect(visitor.getByRole('link', { name: 'New pack' })).toBeHidden();
  await visitor.getByRole('link', { name: 'Enter an invitation' }).click();
  await visitor.getByLabel('Invitation token').fill(token);
  await checks.accessible(visitor);
  await visitor.getByRole('button', { name: 'Submit' }).click();
  await expect(visitor.getByRole('heading', { name: 'You may contribute' })).toBeVisible();
  await expect(visitor.getByRole('link', { name: 'New pack' })).toBeVisible();
  expect(await visitor.evaluate(() => document.cookie)).toBe('');

  await page.getByRole('button', { name: 'Done' }).click();
  // The link and the token both contain it.
  await expect(page.getByText(token)).toHaveCount(0);
  await page.getByRole('button', { name: 'Revoke invitation: Ada Lovelace' }).click();
  await expect(page.getByRole('cell', { name: 'Ada Lovelace', exact: true })).toBeHidden();
  await visitor.reload();
  await expect(visitor.getByLabel('Invitation token')).toBeVisible();
});
