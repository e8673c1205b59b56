import { DataverseServer } from '../../repositories/deposit/dataverseServer.ts';
import { InvenioServer } from '../../repositories/deposit/invenioServer.ts';
import { closeRepositories } from '../../repositories/deposit/repositoryServer.ts';
import { expect, test } from '../support/fixtures.ts';
import { publishPack } from '../support/publishPack.ts';

test.afterEach(closeRepositories);

test('the owner deposits a pack as a draft, publishes it, and everybody sees its DOI', async ({
  page,
  node,
  checks,
}) => {
  const server = await new InvenioServer().listen();
  const place = server.url.replace('http://', '');
  const pack = await publishPack(node, { title: 'Tides' });
  await page.goto(`/packs/${pack.id}`);
  await page.getByRole('button', { name: 'Deposit…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Deposit in a repository' });
  await expect(dialog.getByText('Add the repository first')).toBeVisible();
  await dialog.getByRole('button', { name: 'Add repository' }).click();
  await expect(dialog.getByText('Enter the token.')).toBeVisible();
  await checks.accessible(page);
  await dialog.getByLabel('Address').fill(server.url);
  await dialog.getByRole('textbox', { name: 'Token' }).fill('wrong');
  await dialog.getByRole('button', { name: 'Add repository' }).click();
  await expect(dialog.getByLabel('Keep it as a draft there')).toBeChecked();
  await checks.accessible(page);
  await dialog.getByRole('button', { name: 'Deposit', exact: true }).click();
  await expect(dialog).toBeHidden();
  const deposits = page.getByRole('region', { name: 'Deposits' });
  await expect(deposits.getByText(/^Failed /)).toBeVisible();
  await expect(deposits.getByText('does not accept the token')).toBeVisible();
  await expect(deposits).not.toContainText('wrong');
  await checks.accessible(page);

  await page.goto('/settings#repositories');
  const repositories = page.getByRole('region', { name: 'Repositories' });
  await repositories.getByRole('button', { name: 'Add a repository' }).click();
  const adding = page.getByRole('dialog', { name: 'Add a repository' });
  await adding.getByLabel('Address').fill(`${server.url}/`);
  await adding.getByRole('textbox', { name: 'Token' }).fill(server.token);
  await adding.getByRole('button', { name: 'Add repository' }).click();
  await expect(adding).toBeHidden();
  await expect(repositories.getByRole('heading', { name: place })).toHaveCount(1);
  await checks.accessible(page);

  await page.goto(`/packs/${pack.id}`);
  await deposits.getByRole('button', { name: `Continue: ${place}` }).click();
  await expect(deposits.getByText(/^Sent as a draft/)).toBeVisible();
  await expect(deposits.getByText('(reserved: it resolves once published)')).toBeVisible();
  await expect(page.getByRole('complementary', { name: 'Details' })).not.toContainText('10.5072');
  await deposits.getByRole('button', { name: `Publish: ${place}` }).click();
  const asked = page.getByRole('dialog', { name: 'Publish this deposit?' });
  await checks.accessible(page);
  await asked.getByRole('button', { name: 'Publish' }).click();
  await expect(deposits.getByText(/^Published /)).toBeVisible();
  const doi = [...server.records.values()][0]?.doi ?? '';
  await expect(
    page.getByRole('complementary', { name: 'Details' }).getByRole('link', { name: doi }),
  ).toHaveAttribute('href', `https://doi.org/${doi}`);
  await expect(page.locator('pre[aria-label="APA"]')).toContainText(`https://doi.org/${doi}`);
  await checks.accessible(page);

  await page.goto('/settings#repositories');
  await repositories.getByRole('button', { name: `Remove: ${place}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(repositories.getByRole('heading', { name: 'Deposit packs with a DOI' })).toBeVisible();
});

test('a second repository is added while a pack is deposited, and progress can be cancelled', {
  tag: '@trial',
}, async ({ page, node, checks }) => {
  const server = await new DataverseServer().listen();
  const place = server.url.replace('http://', '');
  const first = { kind: 'invenio', url: 'http://127.0.0.1:1', token: 'x' };
  await page.request.post(new URL('/manage/repositories', node.url).href, {
    headers: { Authorization: `Bearer ${node.token}` },
    data: first,
  });
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  server.fault = async (name) => {
    if (name === 'add') await held;
    return undefined;
  };
  const pack = await publishPack(node, { title: 'Winds' });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`/packs/${pack.id}`);
  await page.getByRole('button', { name: 'Deposit…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Deposit in a repository' });
  await dialog.getByRole('combobox', { name: 'Repository' }).click();
  await page.getByRole('option', { name: 'Another repository…' }).click();
  await dialog.getByText('Dataverse', { exact: true }).click();
  await dialog.getByLabel('Address').fill(server.url);
  await dialog.getByRole('textbox', { name: 'Token' }).fill(server.token);
  await dialog.getByRole('button', { name: 'Add repository' }).click();
  await expect(dialog.getByRole('combobox', { name: 'Repository' })).toHaveValue(place);
  await dialog.getByLabel('Publish it').check();
  await dialog.getByRole('button', { name: 'Deposit and publish' }).click();
  const deposits = page.getByRole('region', { name: 'Deposits' });
  await expect(deposits.getByText('Being sent, begun')).toBeVisible();
  await checks.accessible(page);
  await page.getByRole('button', { name: 'Cancel: Depositing a pack' }).click();
  await expect(deposits.getByText('It was cancelled.')).toBeVisible();
  release();
  await deposits.getByRole('button', { name: `Continue: ${place}` }).click();
  await expect(deposits.getByText(/^Published /)).toBeVisible();
  expect(server.publications).toHaveLength(1);
});
