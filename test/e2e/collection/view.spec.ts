import { readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { PNG } from 'pngjs';
import { packForm, sampleRecord } from '../../support/archive/packs.ts';
import { pdfOf } from '../../support/pdf.ts';
import { expect, test } from '../support/fixtures.ts';
import type { ScriptedResponse, ScriptedWeb } from '../support/scriptedWeb.ts';

/** Playwright cannot run its own scripts in the frame, either. */
const BLOCKED = /Blocked script execution in '[^']*\/archive\/[0-9a-f]{64}\/page/;

const HTML = `<!doctype html><title>Daily levels</title><link rel="stylesheet" href="/style.css">
<body onload="document.body.textContent='ran'"><script>document.body.textContent = 'ran'</script>
<h1>Levels</h1><img src="/red.png" alt="red square" width="40" height="40" onerror="parent.ran = true">
<img src="/gone.png" alt="gone"><p id="styled">Styled text</p><a href="/other">The other page</a>
<a href="/dead">A dead link</a><form action="/send"><input aria-label="q"><button>Send</button></form>
<iframe src="/frame"></iframe><svg><script>document.body.textContent = 'ran'</script></svg></body>`;

test('a page is shown with its styles and images, runs no script and loads nothing from elsewhere', async ({
  page,
  web,
  checks,
}) => {
  checks.allow(BLOCKED);
  const [id = ''] = await archive(page, web, {
    '/page': HTML,
    '/style.css': {
      headers: { 'Content-Type': 'text/css' },
      body: '@import "/more.css"; body { background: url(/red.png) }',
    },
    '/more.css': { headers: { 'Content-Type': 'text/css' }, body: '#styled { color: rgb(1, 2, 3) }' },
    '/red.png': { headers: { 'Content-Type': 'image/png' }, body: redSquare() },
    '/other': '<title>Other</title><h1>The other page is here</h1>',
  });
  web.publish('/page', HTML.replace('Levels</h1>', 'New levels</h1>'));
  await collect(page, [id]);
  const before = requestsTo(web);
  const sent: string[] = [];
  page.on('request', (request) => sent.push(request.url()));

  await page.goto(`/sources/${id}`);
  await expect(page.getByRole('region', { name: 'Text of the object' })).toContainText('New levels');
  await page.getByRole('link', { name: 'View current version' }).click();
  const frame = page.frameLocator('iframe');
  await expect(frame.getByRole('heading', { name: 'New levels' })).toBeVisible();
  await expect(frame.locator('#styled')).toHaveCSS('color', 'rgb(1, 2, 3)');
  await expect(frame.locator('body')).toHaveCSS('background-image', /^url\("data:image\/png;base64,/);
  await expect(frame.getByAltText('red square')).toHaveJSProperty('naturalWidth', 8);
  await expect(frame.getByRole('button', { name: 'Send' })).toBeDisabled();
  await expect(frame.getByText('ran')).toHaveCount(0);

  await page.getByRole('button', { name: '1 resource not shown' }).click();
  const missing = page.getByRole('list', { name: 'Resources that are not shown' });
  await expect(missing.getByRole('listitem')).toHaveText([`${web.url('/gone.png')} not in the archive`]);
  await checks.accessible(page);

  await page.getByRole('link', { name: 'Older version' }).click();
  await expect(frame.getByRole('heading', { name: 'Levels', exact: true })).toBeVisible();
  await page.goBack();
  await expect(frame.getByRole('heading', { name: 'New levels' })).toBeVisible();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download' }).click();
  expect((await download).suggestedFilename()).toBe('page.html');
  expect(await readFile(await (await download).path(), 'utf8')).toContain('New levels');

  await frame.getByText('A dead link').click();
  await frame.getByRole('link', { name: 'The other page' }).click();
  await expect(frame.getByRole('heading', { name: 'The other page is here' })).toBeVisible();
  await expect(page).toHaveURL(/\/view\/[0-9a-f]{64}\?source=so_/);
  expect(requestsTo(web)).toBe(before);
  expect(sent.filter((url) => url.startsWith(web.url('')))).toEqual([]);
});

test('PDF, images, Markdown, tables, JSON, feeds and other files are shown as what they are', async ({
  page,
  web,
  checks,
}) => {
  const typed = (type: string, body: string | Buffer): ScriptedResponse => ({
    headers: { 'Content-Type': type },
    body,
  });
  const ids = await archive(page, web, {
    '/paper.pdf': typed('application/pdf', pdfOf(['First page', 'Second page'])),
    '/red.png': typed('image/png', redSquare()),
    '/notes.md': typed(
      'text/markdown',
      '# Notes\n\n[relative](other.md) <script>alert(1)</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |',
    ),
    '/rows.csv': typed('text/csv', 'name;value\n"Berlin; Mitte";12\n'),
    '/data.json': typed('application/json', '{"level":1.50,"unit":"m"}'),
    '/feed': typed(
      'application/rss+xml',
      `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><item><title>First &amp; best</title>
       <link>https://example.org/1</link><description>&lt;p&gt;Plain &lt;img src=x onerror=alert(1)&gt;text&lt;/p&gt;</description></item></channel></rss>`,
    ),
    '/bundle.zip': typed('application/zip', 'PK\x03\x04 not really'),
  });
  const open = async (index: number) => {
    await page.goto(`/sources/${ids[index] ?? ''}`);
    await page.getByRole('link', { name: 'View current version' }).click();
  };
  await open(0);
  const first = page.getByRole('img', { name: 'Page 1' });
  await expect(first).toHaveAttribute('data-painted', 'true');
  expect(await darkPixels(page)).toBeGreaterThan(50);
  await expect(page.getByRole('region', { name: '2 pages of paper.pdf' })).toBeVisible();
  await checks.accessible(page);
  await open(1);
  await expect(page.getByRole('img', { name: 'red.png' })).toBeVisible();
  await open(2);
  await expect(page.getByRole('heading', { name: 'Notes', level: 3 })).toBeVisible();
  await expect(page.getByRole('link', { name: 'relative' })).toHaveAttribute('href', web.url('/other.md'));
  await checks.accessible(page);
  await open(3);
  await expect(page.getByRole('cell', { name: 'Berlin; Mitte' })).toBeVisible();
  await open(4);
  const tree = page.getByRole('tree', { name: 'Content of the object' });
  await expect(tree.getByRole('treeitem').nth(1)).toHaveText('level:1.50');
  await checks.accessible(page);
  await tree.getByRole('treeitem').first().focus();
  await page.keyboard.press('ArrowLeft');
  await expect(tree.getByRole('treeitem')).toHaveCount(1);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('End');
  await expect(tree.getByRole('treeitem').nth(2)).toBeFocused();
  await page.getByRole('button', { name: 'Show as text' }).click();
  await expect(page.getByLabel('Content of the object')).toContainText('"level": 1.50');
  await open(5);
  await expect(page.getByRole('heading', { name: 'First & best' })).toBeVisible();
  await expect(page.getByText('Plain text')).toBeVisible();
  await checks.accessible(page);
  await open(6);
  await expect(page.getByText('There is no view for this type of file.')).toBeVisible();
  await checks.accessible(page);
});

test('an unknown object has a page; events and packs lead to what they contain', async ({
  page,
  web,
  checks,
  node,
}) => {
  await test.step('an unknown object has a page with status 404, and events lead to the view', async () => {
    checks.allow(/404/);
    checks.allow(BLOCKED);
    const unknown = await page.goto(`/view/${'0'.repeat(64)}`);
    expect(unknown?.status()).toBe(404);
    await expect(page.getByRole('heading', { name: 'Object not found' })).toBeVisible();
    await archive(page, web, { '/page': HTML });
    await page.goto('/timeline/1');
    await page.getByRole('link', { name: 'View', exact: true }).first().click();
    await expect(page.frameLocator('iframe').getByRole('heading', { name: 'Levels' })).toBeVisible();
  });
  await test.step('files of packs that are PDF or Markdown have a preview', async () => {
    const form = packForm(sampleRecord({ title: 'With a paper' }), {
      'paper.pdf': new Uint8Array(pdfOf(['The paper'])),
      'README.md': '# Read me\n\n[elsewhere](../x.md)',
    });
    const headers = { Authorization: `Bearer ${node.token}` };
    const answer = await fetch(new URL('/api/packs', node.url), { method: 'POST', headers, body: form });
    const { id } = (await answer.json()) as { id: string };
    await page.goto(`/packs/${id}`);
    await page.getByRole('button', { name: 'paper.pdf', exact: true }).click();
    await expect(page.getByRole('img', { name: 'Page 1' })).toHaveAttribute('data-painted', 'true');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'README.md', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'Read me' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'elsewhere' })).toHaveCount(0);
    await checks.accessible(page);
  });
});

/** Publishes pages, watches and checks them; returns the ids of their sources. */
async function archive(
  page: Page,
  web: ScriptedWeb,
  pages: Readonly<Record<string, ScriptedResponse | string>>,
): Promise<string[]> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  const ids: string[] = [];
  for (const [path, response] of Object.entries(pages)) {
    web.publish(path, response);
    const answer = await page.request.post('/manage/sources', { data: { url: web.url(path) } });
    ids.push(((await answer.json()) as { id: string }).id);
  }
  await collect(page, ids);
  return ids;
}

async function collect(page: Page, sources: string[]): Promise<void> {
  await page.request.post('/manage/collections?wait=true', { data: { sources } });
}

function requestsTo(web: ScriptedWeb): number {
  const paths = [
    '/page',
    '/style.css',
    '/more.css',
    '/red.png',
    '/gone.png',
    '/other',
    '/dead',
    '/send',
    '/frame',
  ];
  return paths.reduce((sum, path) => sum + web.requests(path), 0);
}

function redSquare(): Buffer {
  const png = new PNG({ width: 8, height: 8 });
  for (let at = 0; at < png.data.length; at += 4) png.data.set([255, 0, 0, 255], at);
  return PNG.sync.write(png);
}

/** Counts the dark pixels of the first canvas. */
function darkPixels(page: Page): Promise<number> {
  return page
    .locator('canvas')
    .first()
    .evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {
        data: [],
      };
      let dark = 0;
      for (let at = 0; at < data.length; at += 4) if ((data[at] ?? 255) < 100) dark += 1;
      return dark;
    });
}
