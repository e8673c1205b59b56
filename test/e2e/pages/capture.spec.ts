import type { Page } from '@playwright/test';
import { expect, test } from '../support/fixtures.ts';
import type { ScriptedWeb } from '../support/scriptedWeb.ts';

/** Playwright cannot run its own scripts in the frame of an archived document. */
const BLOCKED = /Blocked script execution in '[^']*\/archive\/[0-9a-f]{64}\/page/;

test('a page that scripts draw is watched as a person sees it, shown, and drawn again from the archive', async ({
  page,
  web,
  checks,
}) => {
  checks.allow(BLOCKED);
  publishShop(web, '2.10');
  await setUp(page);
  await page.goto('/sources?add');
  const form = page.getByRole('dialog', { name: 'Watch a source' });
  await form.getByLabel('URL').fill(web.url('/shop'));
  await form.getByLabel('URL').press('Enter');
  await expect(form.getByText(/Scripts build this page/)).toBeVisible();
  await expect(form.getByRole('radio', { name: /The page as a person sees it/ })).toBeChecked();
  await form.getByLabel('Also report changes to the picture alone, if at least').check();
  await form.getByLabel('Share of the pixels that must change').fill('0.5');
  await checks.accessible(page);
  await form.getByRole('button', { name: 'Watch', exact: true }).click();

  const captures = page.getByRole('list', { name: 'Page captures, newest first' });
  await expect(captures.getByRole('listitem')).toHaveCount(1);
  await expect(
    page.getByText('the file and the page; a picture change is reported from 0.5 %'),
  ).toBeVisible();
  const thumbnail = captures.locator('img');
  await thumbnail.scrollIntoViewIfNeeded();
  await expect(thumbnail).toHaveJSProperty('naturalWidth', 400);
  await checks.accessible(page);

  await captures.getByRole('link').first().click();
  await expect(page.getByRole('heading', { level: 1, name: 'The shop' })).toBeVisible();
  await expect(page.getByAltText('Picture of The shop')).toHaveJSProperty('naturalWidth', 1280);
  await expect(page.getByText('4 answers, 1 without one')).toBeVisible();
  await page.getByRole('button', { name: 'Cite' }).click();
  const cite = page.getByRole('dialog', { name: 'Cite' });
  await cite.getByText('PWID', { exact: true }).click();
  await expect(cite.locator('pre')).toHaveText(/^urn:pwid:[^:]+:.*Z:page:http:.*\/shop$/);
  await page.keyboard.press('Escape');
  const document = page.frameLocator('iframe');
  await expect(document.getByText('Bread costs 2.10')).toBeVisible();
  // A style that only the page asked for comes from the archive.
  await expect(document.locator('body')).toHaveCSS('background-color', 'rgb(255, 238, 221)');
  await checks.accessible(page);
  await page.getByRole('tab', { name: 'Text' }).click();
  await expect(page.getByLabel('Text of the page')).toContainText('Bread costs 2.10');
  await page.getByRole('tab', { name: 'Requests (5)' }).click();
  const requests = page.getByRole('table', { name: 'Requests of the page, in order' });
  await expect(requests.getByRole('row')).toHaveCount(6);
  await page.getByText('Without an answer 1').click();
  await expect(requests.getByRole('row')).toHaveCount(2);
  await expect(requests).toContainText('would send data to another site, which is never allowed');
  await checks.accessible(page);

  const asked = web.requests('/prices');
  await page.getByRole('button', { name: 'Draw again from the archive' }).click();
  const again = page.getByRole('region', { name: 'Drawn again from the archive' });
  await expect(again).toContainText(
    'Same picture, same text. This proves that the picture can be reproduced',
  );
  await expect(again.getByAltText('The page as it was drawn now')).toHaveJSProperty('naturalWidth', 1280);
  expect(web.requests('/prices')).toBe(asked);
  await checks.accessible(page);
});

test('two captures are compared by keyboard alone, from the event of a change', { tag: '@trial' }, async ({
  page,
  web,
  checks,
}) => {
  publishShop(web, '2.10');
  await setUp(page);
  const source = await watchPage(page, web.url('/shop'));
  publishShop(web, '2.35');
  await collect(page, source);
  const { items } = (await (await page.request.get('/api/events?observer=browser')).json()) as {
    items: { id: number; observed_at: string }[];
  };
  // The drawn page changed, and the file is as it was first seen.
  expect(await (await page.request.get(`/manage/sources/${source}`)).json()).toMatchObject({
    last_event_type: 'changed',
    last_event_at: items[0]?.observed_at,
  });
  await page.goto('/timeline');
  const row = page.getByRole('article', { name: `Event ${items[0]?.id}` });
  await expect(row.getByAltText('The page as it was drawn')).toBeVisible();
  await expect(row).toContainText('this node’s browser');
  // On a phone, too, what changed has room.
  await page.setViewportSize({ width: 400, height: 800 });
  const summary = row.getByText('2.10 → 2.35');
  await expect.poll(async () => (await summary.boundingBox())?.width).toBeGreaterThan(80);
  await page.setViewportSize({ width: 1280, height: 720 });
  await row.getByRole('link').focus();
  await page.keyboard.press('Enter');
  const compare = page.getByRole('link', { name: 'Compare with the previous capture' });
  const event = page.getByRole('complementary', { name: 'Event' });
  await expect(event.getByText('The visible text of the page changed.')).toBeVisible();
  await checks.accessible(page);
  await compare.focus();
  await page.keyboard.press('Enter');

  await expect(page.getByRole('heading', { level: 1, name: 'What changed: The shop' })).toBeVisible();
  await expect(page.getByText(/^2 parts of the picture changed/)).toBeVisible();
  await expect(page.getByText('Change 1 of 2')).toBeVisible();
  const words = page.getByRole('region', { name: 'Changed passages' });
  await expect(words.locator('ins').first()).toContainText('2.35');
  const changed = page.getByRole('table', { name: 'Requests: different answer' });
  await expect(changed).toContainText('/prices');
  await checks.accessible(page);

  const pictures = page.getByRole('region', { name: 'Pictures of both captures' });
  await expect(pictures.getByAltText('The page after')).toHaveJSProperty('complete', true);
  const top = () => pictures.evaluate((box) => box.scrollTop);
  const first = await top();
  await page.keyboard.press('n');
  await expect(page.getByText('Change 2 of 2')).toBeVisible();
  await expect.poll(top).toBeGreaterThan(first);
  // The close-up of a change as wide as the page is as wide as its place.
  await expect
    .poll(() => page.locator('figure img[alt=""]').evaluateAll(edgesInPlace))
    .toEqual([
      [0, 0],
      [0, 0],
    ]);
  await page.keyboard.press('p');
  await expect(page.getByText('Change 1 of 2')).toBeVisible();

  await page.getByRole('radio', { name: 'Side by side' }).focus();
  await page.keyboard.press('ArrowRight');
  const slider = page.getByRole('slider', { name: 'How much of the older picture is shown' });
  await slider.focus();
  await page.keyboard.press('Home');
  await expect(slider).toHaveAttribute('aria-valuetext', '0 % before');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect(slider).toHaveAttribute('aria-valuetext', '1 % before');
  await page.keyboard.press('End');
  await expect(slider).toHaveAttribute('aria-valuetext', '100 % before');
  const before = await top();
  await page.keyboard.press('ArrowDown');
  await expect.poll(top).toBeGreaterThan(before);
  const box = await slider.boundingBox();
  if (!box) throw new Error('The slider has no place.');
  await pictures.evaluate((element) => element.scrollTo({ top: 0 }));
  const place = await pictures.boundingBox();
  if (!place) throw new Error('The pictures have no place.');
  await page.mouse.click(box.x + box.width / 4, place.y + place.height / 2);
  await expect(slider).toHaveAttribute('aria-valuetext', '25 % before');
  await checks.accessible(page);
});

test('a page of a WARC file is drawn, and what a capture lacks is named', { tag: '@trial' }, async ({
  page,
  web,
  checks,
}) => {
  await test.step('a page of a WARC file is drawn as it looked, and what is missing is fetched once', async () => {
    checks.allow(BLOCKED);
    await setUp(page);
    const html =
      '<!doctype html><title>Ten years ago</title><h1>Old news</h1><img src="/late.svg" alt=""><script>document.body.append("drawn by script")</script>';
    const answer = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${html.length}\r\n\r\n${html}`;
    const record = `WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000009>\r\nWARC-Date: 2014-01-02T03:04:05Z\r\nWARC-Target-URI: ${web.url('/news')}\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: ${answer.length}\r\n\r\n${answer}\r\n\r\n`;
    await page.request.post('/manage/captures?observer=Web%20Museum&wait=true', {
      headers: { 'Content-Type': 'application/warc' },
      data: record,
    });
    await page.goto('/timeline/1');
    await page.getByRole('link', { name: 'View', exact: true }).first().click();
    await page.getByRole('button', { name: 'Draw', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Ten years ago' })).toBeVisible();
    await expect(page.getByText('Drawn from the archive alone, including scripts')).toBeVisible();
    await expect(page.getByLabel('Text of the page')).toContainText('drawn by script');
    const missing = page.getByRole('region', { name: 'What is missing' });
    await expect(missing.getByRole('listitem')).toHaveText([web.url('/late.svg')]);
    expect(web.requests('/late.svg')).toBe(0);
    await checks.accessible(page);

    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><circle r="40"/></svg>';
    web.publish('/late.svg', { headers: { 'Content-Type': 'image/svg+xml' }, body: svg });
    await missing.getByRole('button', { name: 'Fetch what is missing now' }).click();
    await expect(page.getByText('2 answers', { exact: true })).toBeVisible();
    await expect(missing).toBeHidden();
    expect(web.requests('/late.svg')).toBe(1);
  });
  await test.step('what a page had no answer to is named, and captures say what they are not', async () => {
    checks.allow(/404/);
    await setUp(page);
    web.publish(
      '/blank',
      '<!doctype html><title>Blank</title><body style="background: #345; height: 30000px">',
    );
    const source = await watchPage(page, web.url('/blank'));
    await page.goto(`/sources/${source}`);
    await page.getByRole('list', { name: 'Page captures, newest first' }).getByRole('link').first().click();
    await expect(page.getByText('No text. The page was drawn but shows no text')).toBeVisible();
    // No setting changes this limit.
    await expect(page.getByText('Cut off. The page is longer than a capture can be')).toHaveText(
      /20,000 pixels high\.\s*$/,
    );
    await page.getByRole('tab', { name: 'Text' }).click();
    await expect(page.getByText('See the picture.')).toBeVisible();
    await checks.accessible(page);

    await page.request.patch('/manage/settings', { data: { page_max_requests: 2 } });
    publishShop(web, '2.10');
    await page.goto('/sources?page');
    const form = page.getByRole('dialog', { name: 'Capture a page now' });
    await form.getByLabel('URL').fill(web.url('/shop'));
    await checks.accessible(page);
    await form.getByLabel('URL').press('Enter');
    await expect(page.getByText('Cut off. The page made more requests than the limit allows.')).toBeVisible();
    await checks.accessible(page);

    await page.goto('/pages/pg_00000000000000000000');
    await expect(page.getByText('No page capture has this id')).toBeVisible();
  });
});

/** How far the left and the right edge of each picture are from those of its place, which cuts off what is beyond. */
function edgesInPlace(pictures: Element[]): number[][] {
  return pictures.map((picture) => {
    const place = picture.parentElement?.parentElement?.getBoundingClientRect() ?? new DOMRect();
    const { left, right } = picture.getBoundingClientRect();
    return [Math.round(left - place.left), Math.round(right - place.right)];
  });
}

/** A shop whose prices come by POST. It also sends data to another site, which is refused. */
function publishShop(web: ScriptedWeb, price: string): void {
  const typed = (type: string, body: string) => ({ headers: { 'Content-Type': type }, body });
  web.publish(
    '/shop',
    '<!doctype html><title>The shop</title><link rel="stylesheet" href="/style.css"><body><div id="app"></div><script src="/app.js"></script>',
  );
  web.publish('/style.css', typed('text/css', 'body { background: #fed } p { margin: 0 0 1400px }'));
  web.publish(
    '/app.js',
    typed(
      'text/javascript',
      `fetch('/prices', { method: 'POST', body: '{}' }).then((answer) => answer.json()).then((prices) => {
         for (const [name, price] of prices) {
           const line = document.createElement('p');
           line.textContent = name + ' costs ' + price;
           if (name === 'Total') line.style.background = price > 2.2 ? '#fbb' : '#bfb';
           document.getElementById('app').append(line);
         }
       });
       fetch('http://elsewhere.example/', { method: 'POST', body: 'x' }).catch(() => {});`,
    ),
  );
  web.publish(
    '/prices',
    typed(
      'application/json',
      JSON.stringify([
        ['Bread', price],
        ['Milk', '1.20'],
        ['Total', price],
      ]),
    ),
  );
}

async function setUp(page: Page): Promise<void> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
}

/** Watches an address as a page and checks it; returns the id of its source. */
async function watchPage(page: Page, url: string): Promise<string> {
  const answer = await page.request.post('/manage/sources', { data: { url, capture: 'page' } });
  const { id } = (await answer.json()) as { id: string };
  await collect(page, id);
  return id;
}

async function collect(page: Page, source: string): Promise<void> {
  await page.request.post('/manage/collections?wait=true', { data: { sources: [source] } });
}
