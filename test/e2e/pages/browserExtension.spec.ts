import { readFile } from 'node:fs/promises';
import type { PairingCode } from '../../../shared/node/pairing.ts';
import { expect, test } from '../support/fixtures.ts';

test('the settings offer the extension, show a code, list the browsers that are paired, and revoke them', async ({
  page,
  node,
  checks,
}) => {
  await page.goto('/settings#extension');
  const section = page.getByRole('region', { name: 'Browser extension' });
  const downloading = page.waitForEvent('download');
  await section.getByRole('link', { name: 'Download the extension' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe('strongroom-extension.zip');
  expect((await readFile(await download.path())).subarray(0, 4).toString()).toBe('PK\u0003\u0004');

  const answered = page.waitForResponse((response) => response.url().endsWith('/manage/pairings'));
  await section.getByRole('button', { name: 'Pair a browser' }).click();
  const { code } = (await (await answered).json()) as PairingCode;
  const panel = section.getByRole('region', { name: 'Pair a browser' });
  await expect(panel.getByText(code)).toBeVisible();
  await expect(panel.getByText(node.url)).toBeVisible();
  await expect(panel.getByText(/valid for another (10:00|9:5\d)/)).toBeVisible();
  await checks.accessible(page);
  await checks.accessible(page, 'dark');

  const paired = await page.request.post('/pair', { data: { code, name: 'Chrome on Linux' } });
  expect(paired.status()).toBe(201);
  await expect(section.getByText('Paired: Chrome on Linux.')).toBeVisible();
  await expect(panel).toBeHidden();
  const list = section.getByRole('table', { name: 'Paired browsers' });
  await expect(list.getByRole('row')).toContainText(['Browser', 'never']);
  // One that was paired before is not the one that used the code, also if the newest is revoked meanwhile.
  const { code: second } = (await (await page.request.post('/manage/pairings')).json()) as PairingCode;
  await page.request.post('/pair', { data: { code: second, name: 'Firefox' } });
  await page.reload();
  await section.getByRole('button', { name: 'Pair a browser' }).click();
  await expect(panel).toBeVisible();
  await section.getByRole('button', { name: 'Revoke Firefox' }).click();
  await expect(list.getByRole('row')).toHaveCount(2);
  await expect(panel).toBeVisible();
  await section.getByRole('button', { name: 'Revoke Chrome on Linux' }).click();
  await expect(list).toBeHidden();
  await expect(panel).toBeVisible();
  await expect(section.getByText(/^Paired: /)).toBeHidden();
});

test('the bookmark fills the form, and nothing else can', async ({ page, node, web, checks }) => {
  await test.step('the bookmark sends a page and the selection to the form, and nothing is kept before the person agrees', async () => {
    web.publish(
      '/members?id=7',
      `<!doctype html><title>Members</title><p id="who">Only members read this.</p>
     <script>document.body.dataset.name = 'Ada'</script><img src="x" onerror="this.remove()">`,
    );
    await page.goto('/settings#extension');
    const link = page.getByRole('link', { name: 'Hand in to Strongroom' });
    const bookmark = (await link.getAttribute('href')) ?? '';
    expect(bookmark).toMatch(/^javascript:/);
    await link.click();
    await expect(page.getByText('Drag it to the bookmarks bar')).toBeVisible();

    const members = await page.context().newPage();
    await members.goto(web.url('/members?id=7'));
    await members.evaluate(() =>
      getSelection()?.selectAllChildren(document.querySelector('#who') ?? document.body),
    );
    const opening = page.context().waitForEvent('page');
    await members.evaluate(decodeURIComponent(bookmark.slice('javascript:'.length)));
    const form = await opening;
    checks.watch(form);
    await expect(form.getByText(`${new URL(web.url('/')).host} sent this page.`)).toBeVisible();
    await expect(form).toHaveURL(`${node.url}/hand-in`);
    await expect(form.getByText('page.html')).toBeVisible();
    await expect(form.getByLabel('Address')).toHaveValue(web.url('/members?id=7'));
    await expect(form.getByLabel('Quotation')).toHaveValue('Only members read this.');
    expect(await (await page.request.get('/manage/handed-in')).json()).toMatchObject({ total: 0 });
    await checks.accessible(form);
    await form.getByRole('button', { name: 'Hand in', exact: true }).click();
    await expect(form).toHaveURL(/\/handed-in\/hi_/);
    const findings = await (await page.request.get('/api/findings')).json();
    expect(findings).toMatchObject({ items: [{ passage: { exact: 'Only members read this.' } }] });
  });
  await test.step('another page cannot fill the form: neither one of another origin nor one that was not opened from it', async () => {
    web.publish('/evil', '<!doctype html><title>Evil</title>');
    const evil = await page.context().newPage();
    await evil.goto(web.url('/evil'));
    const opening = page.context().waitForEvent('page');
    await evil.evaluate((address) => {
      const opened = open(`${address}/hand-in#${new URLSearchParams({ url: 'https://bank.example/' })}`);
      setInterval(() => opened?.postMessage({ kind: 'strongroom-page', html: '<h1>Forged</h1>' }, '*'), 20);
    }, node.url);
    const form = await opening;
    await expect(form.getByLabel('Address')).toHaveValue('https://bank.example/');
    await form.evaluate(() => {
      window.postMessage({ kind: 'strongroom-page', html: '<h1>Forged</h1>' }, '*');
      return new Promise((received) => window.addEventListener('message', received, { once: true }));
    });
    await expect(form.getByText('The page has not sent its text.')).toBeVisible();
    await expect(form.getByText('page.html')).toBeHidden();
    // The next page is out of reach of the one that opened this one.
    await form.getByRole('link', { name: 'Findings' }).click();
    await expect(form.getByRole('heading', { name: 'Findings', level: 1 })).toBeVisible();
    await form.waitForFunction(() => window.opener === null);
  });
});
