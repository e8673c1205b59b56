import type { Pack } from '../../../shared/archive/pack.ts';
import { packForm, sampleRecord } from '../../support/archive/packs.ts';
import { expect, test } from '../support/fixtures.ts';
import { createHash } from 'node:crypto';

test('large', async ({ page, node }) => {
  const upload = async (record: object, files: Record<string, string>) => {
    const response = await fetch(new URL('/api/packs', node.url), {
      method: 'POST', headers: { Authorization: `Bearer ${node.token}` },
      body: packForm(sampleRecord(record), files),
    });
    expect(response.status).toBe(201);
    return (await response.json()) as Pack;
  };
  const content = 'year,value\n2025,3.4\n'.repeat(100);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const part = await upload({ title: 'Part' }, { piece: content });
  const make = (count: number) => Array.from({ length: count }, (_, n) => ({
    path: n < 30_000 ? `flat/${String(n).padStart(6, '0')}.csv` : `tree/s${n % 40}/d${n % 7}/reading-${n}.csv`,
    bytes: content.length, sha256, parts: [{ pack: part.id, path: 'piece', bytes: content.length, sha256 }],
  }));
  const set = await upload({ title: 'Hourly readings of all stations, 1990 to 2025' }, { 'set.json': JSON.stringify({ format: 'strongroom-set@1', files: make(100_000) }) });
  await page.goto('/packs');
  await page.getByRole('link', { name: /Hourly/ }).waitFor();
  await page.screenshot({ path: '/tmp/note/set-list.png' });
  for (const run of [1, 2]) {
    const t0 = Date.now();
    await page.goto(`/packs/${set.id}`);
    await page.getByRole('treegrid').waitFor();
    console.log('open page', run, Date.now() - t0);
  }
  const tree = page.getByRole('treegrid');
  let t0 = Date.now();
  await tree.getByRole('button', { name: 'Open flat/' }).click();
  await tree.getByText('000005.csv').waitFor();
  console.log('open flat', Date.now() - t0);
  t0 = Date.now();
  const api = await page.request.get(`/api/packs/${set.id}/set/entries?folder=flat&limit=500&offset=20000`);
  console.log('entries', Date.now() - t0, (await api.body()).length);
  t0 = Date.now();
  const whole = await page.request.get(`/api/packs/${set.id}/set`);
  console.log('whole set', Date.now() - t0, (await whole.body()).length);
  await page.screenshot({ path: '/tmp/note/set-light.png', fullPage: true });
  await tree.evaluate((el) => (el.parentElement as HTMLElement).scrollTo(0, 1e7));
  await page.waitForTimeout(500);
  await page.screenshot({ path: '/tmp/note/set-end.png', fullPage: true });
  t0 = Date.now();
  await page.getByLabel('Filter files').fill('reading-9999');
  await tree.getByText('reading-99990').first().waitFor();
  console.log('filter', Date.now() - t0);
  await page.screenshot({ path: '/tmp/note/set-filter.png' });
  await page.getByLabel('Filter files').fill('nothing such');
  await page.getByText('No file matches').waitFor();
  await page.screenshot({ path: '/tmp/note/set-empty.png' });
  await page.getByLabel('Filter files').fill('');
  await tree.waitFor();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.evaluate(() => localStorage.setItem('mantine-color-scheme-value', 'dark'));
  await page.reload();
  await tree.getByRole('button', { name: 'Open tree/' }).click();
  await tree.getByRole('button', { name: 'Open tree/s0/' }).click();
  await page.waitForTimeout(500);
  await page.screenshot({ path: '/tmp/note/set-dark.png', fullPage: true });
  t0 = Date.now();
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText(/claims verified|could not be/).waitFor();
  console.log('verify', Date.now() - t0);
  await page.screenshot({ path: '/tmp/note/set-verified.png', fullPage: true });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`/packs/${set.id}`);
  await tree.getByRole('button', { name: 'Open flat/' }).click();
  await page.waitForTimeout(500);
  await page.screenshot({ path: '/tmp/note/set-390.png', fullPage: true });
});
