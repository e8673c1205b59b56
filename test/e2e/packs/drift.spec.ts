import { expect, test } from '../support/fixtures.ts';
import { publishPack } from '../support/publishPack.ts';

test('a pack says that sources and files to which it relates have changed since', async ({
  page,
  node,
  web,
  checks,
}) => {
  web.publish('/prices', { headers: { 'Content-Type': 'text/plain' }, body: '120 euros' });
  const source = { url: web.url('/prices'), name: 'Prices' };
  await page.request.post('/manage/sources', { data: source });
  await page.request.post('/manage/collections?wait=true');
  const data = await publishPack(node, { title: 'Data' });
  const sha256 = data.files[0]?.sha256 ?? '';
  const paper = await publishPack(node, {
    title: 'Paper',
    related: [
      { relation: 'Cites', identifier: source.url },
      { relation: 'IsDerivedFrom', identifier: sha256 },
    ],
  });
  await page.goto(`/packs/${paper.id}`);
  const works = page.getByRole('complementary', { name: 'Details' });
  await expect(works.getByText('Unchanged since this pack was received: Prices')).toBeVisible();
  await expect(works.getByText(/^Unchanged .* data\.txt in a pack$/)).toBeVisible();

  web.publish('/prices', { headers: { 'Content-Type': 'text/plain' }, body: '145 euros' });
  await page.request.post('/manage/collections?wait=true');
  await page.reload();
  await expect(works.getByText(/^Changed .*: Prices$/)).toBeVisible();
  await checks.accessible(page);
  await works.getByRole('link', { name: 'Prices', exact: true }).click();
  await expect(page).toHaveURL(/\/timeline\/2$/);
});
