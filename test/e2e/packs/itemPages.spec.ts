import type { Pack } from '../../../shared/archive/pack.ts';
import { expect, test } from '../support/fixtures.ts';

test('the page of a pack carries its JSON-LD; a page of nothing answers 404', async ({ page, checks }) => {
  await test.step('the page of a pack carries its JSON-LD without an error, and drops it on the next page', async () => {
    const answer = await page.request.post('/api/packs', {
      data: {
        pack_format: 1,
        terms_version: '2026-10-01',
        title: 'Sea </script><script>document.title = "taken"</script> level',
        authors: [{ name: 'Ada Lovelace' }],
        license: 'CC0-1.0',
        outcome: 'positive',
      },
    });
    const pack = (await answer.json()) as Pack;
    await page.goto(`/packs/${pack.id}`);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(pack.title);
    const jsonLd = page.locator('script[type="application/ld+json"]');
    expect(JSON.parse((await jsonLd.textContent()) ?? '')).toMatchObject({
      '@type': 'Dataset',
      name: pack.title,
    });
    await expect(page).not.toHaveTitle('taken');
    await page.getByRole('link', { name: 'Timeline' }).first().click();
    await expect(page).toHaveURL(/\/timeline$/);
    await expect(jsonLd).toHaveCount(0);
  });
  await test.step('a page of something that does not exist answers 404 and says so', async () => {
    checks.allow(/Failed to load resource: .* 404/);
    for (const path of [
      '/packs/pk_00000000000000000000',
      '/studies/st_00000000000000000000',
      '/no/such/page',
    ]) {
      const response = await page.goto(path);
      expect(response?.status(), path).toBe(404);
      await expect(
        page.getByText(/not found|no such|nothing|does not exist|there is no/i).first(),
      ).toBeVisible();
    }
  });
});
