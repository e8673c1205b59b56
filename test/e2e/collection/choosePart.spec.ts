import type { Page } from '@playwright/test';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import { expect, test } from '../support/fixtures.ts';
import type { ScriptedWeb } from '../support/scriptedWeb.ts';

/** What the policy of an archived page refuses, and the sandbox of the frame, is logged. */
const REFUSED = /Content Security Policy|Blocked script execution/;

/** The page has scripts and handlers, a cover over all of it, and an id of a megabyte. */
const FEES = (fee: number) => `<!doctype html><title>Fees</title>
  <style>* { cursor: wait !important } body { margin: 20px } .cover { position: fixed; inset: 0; z-index: 2147483647 }</style>
  <body onload="document.title = 'ran'" onclick="document.title = 'ran'">
  <script>document.write('<p>ran');</script>
  <img name="querySelectorAll" src="x" onerror="document.title = 'ran'"><img name="elementFromPoint"><img name="createElement">
  <div class="cover" id="${'x'.repeat(1_000_000)}"></div>
  <h2>Fees</h2><p id="fee">The fee is <b>${fee}</b> euros.</p>
  <h2>Prices</h2><table><caption>Prices</caption><tr><th>Item<th>Price<tr><td>Tea<td>${fee}</table>
  <p>Seen today by ${fee * 7} people.</p>`;

async function open(page: Page): Promise<void> {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
}

/** Watches an address and checks it; returns the id of its source. */
async function watch(page: Page, url: string, fields: object = {}): Promise<string> {
  const answer = await page.request.post('/manage/sources', { data: { url, name: 'Fees', ...fields } });
  const { id } = (await answer.json()) as { id: string };
  await collect(page, id);
  return id;
}

async function collect(page: Page, source: string): Promise<void> {
  await page.request.post('/manage/collections?wait=true', { data: { sources: [source] } });
}

async function watched(page: Page, id: string) {
  return ((await (await page.request.get(`/manage/sources/${id}`)).json()) as WatchedSource).watch;
}

test('a part is chosen by clicking into the archived page, in which nothing runs, and by keyboard alone', async ({
  page,
  web,
  checks,
}) => {
  checks.allow(REFUSED);
  await open(page);
  web.publish('/fees', FEES(4));
  const id = await watch(page, web.url('/fees'));
  web.publish('/fees', FEES(5));
  await collect(page, id);
  await page.goto(`/sources/${id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const form = page.getByRole('dialog', { name: 'Edit source' });
  await form.getByRole('button', { name: 'Choose in the page' }).click();
  const chooser = page.getByRole('dialog', { name: 'Choose a part of the page' });
  const archived = page.frameLocator('iframe[title="The archived page"]');
  const beneath = chooser.getByRole('button', { name: 'Beneath' });
  await expect(beneath).toBeEnabled();

  // The cover is what is found first; beneath it is the page.
  const fee = await archived.locator('#fee').boundingBox();
  if (!fee) throw new Error('The paragraph has no place.');
  const at = [fee.x + fee.width / 2, fee.y + fee.height / 2] as const;
  await page.mouse.move(...at);
  await expect(chooser.getByText('the element div')).toBeVisible();
  await beneath.click();
  await page.mouse.move(at[0] + 1, at[1]);
  await expect(chooser.getByText(/^the paragraph “The fee is 5 euros/)).toBeVisible();
  await page.mouse.click(...at);
  const options = chooser.getByRole('radio');
  await expect(options).toHaveCount(2);
  await expect(chooser.getByRole('radio', { name: 'This element: #fee' })).toBeChecked();
  await expect(chooser.getByRole('radio', { name: 'Heading “Fees” and what follows it' })).toBeVisible();
  await checks.accessible(page);
  await chooser.getByRole('button', { name: 'Use this part' }).click();
  await expect(chooser).toBeHidden();
  await expect(form.getByLabel('Watched part')).toHaveValue('#fee');
  await expect(form.locator('blockquote')).toHaveText('The fee is 5 euros.');
  await expect(form.getByText('Would have alerted once in 2 versions.')).toBeVisible();

  // By keyboard: into the page by Tab, from its first element to the cell of the table, and out again.
  await form.getByRole('button', { name: 'Choose in the page' }).focus();
  await page.keyboard.press('Enter');
  await expect(beneath).toBeEnabled();
  await chooser.getByRole('button', { name: 'Around it' }).focus();
  await page.keyboard.press('Enter');
  const choose = chooser.getByRole('button', { name: 'Choose this' });
  // It is enabled once the page has said which element is shown.
  await expect(choose).toBeEnabled();
  await choose.focus();
  await page.keyboard.press('Tab');
  await expect(page.locator('iframe[title="The archived page"]')).toBeFocused();
  for (const _step of [1, 2, 3, 4, 5]) await page.keyboard.press('ArrowRight');
  await expect(chooser.getByText(/^the table/)).toBeVisible();
  for (const key of ['ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowRight'])
    await page.keyboard.press(key);
  await expect(chooser.getByText('the cell “5”')).toBeVisible();
  await page.keyboard.press('ArrowUp');
  await expect(chooser.getByText('the row “Tea 5”')).toBeVisible();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await expect(chooser.getByRole('radio', { name: 'Table “Prices”: Price' })).toBeChecked();
  const use = chooser.getByRole('button', { name: 'Use this part' });
  await expect(use).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(form.getByRole('combobox', { name: 'What is watched' })).toHaveValue('A table');
  await expect(form.getByText('Would have alerted once in 2 versions.')).toBeVisible();
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(form).toBeHidden();
  expect(await watched(page, id)).toEqual({ table: 'Prices', columns: ['Price'] });

  // Escape leaves the chooser and not the form; nothing of the page ran.
  await page.goto(`/sources/${id}?choose=page`);
  await expect(beneath).toBeEnabled();
  const frame = page.frames().find((each) => each.url().includes('/choose'));
  expect(await frame?.evaluate(() => [document.title, document.body.textContent?.includes('ran')])).toEqual([
    'Fees',
    false,
  ]);
  await page.keyboard.press('Escape');
  await expect(chooser).toBeHidden();
  await expect(form).toBeVisible();
});

test('a region is chosen by dragging a rectangle in the picture of a page, and by keyboard', {
  tag: '@trial',
}, async ({ page, web, checks }) => {
  await open(page);
  publishBlocks(web, 'teal', 'navy');
  const id = await watch(page, web.url('/blocks'), { capture: 'page' });
  publishBlocks(web, 'teal', 'red');
  await collect(page, id);
  await page.goto(`/sources/${id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const form = page.getByRole('dialog', { name: 'Edit source' });
  await form.getByRole('button', { name: 'Choose in the picture' }).click();
  const chooser = page.getByRole('dialog', { name: 'Choose a region of the picture' });
  const picture = chooser.getByAltText('The page as it was drawn last');
  await expect(picture).toHaveJSProperty('naturalWidth', 1280);
  const box = await picture.boundingBox();
  if (!box) throw new Error('The picture has no place.');
  const scale = box.width / 1280;
  await page.mouse.move(box.x + 20, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 120 * scale, box.y + 60 * scale, { steps: 4 });
  await page.mouse.move(box.x + 240 * scale, box.y + 120 * scale, { steps: 4 });
  await page.mouse.up();
  const region = chooser.getByRole('button', { name: /^Region: 2\d\d × 1?\d\d at \d+, \d+$/ });
  await expect(region).toBeVisible();
  await checks.accessible(page);

  const [left = 0, top = 0] =
    (await region.getAttribute('aria-label'))?.match(/\d+/g)?.slice(2).map(Number) ?? [];
  await region.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+ArrowLeft');
  await expect(chooser.getByLabel('From the top')).toHaveValue(`${top + 10} px`);
  await expect(chooser.getByLabel('From the left')).toHaveValue(`${left} px`);
  for (const [name, value] of [
    ['From the left', '0'],
    ['From the top', '0'],
    ['Width', '200'],
    ['Height', '9000'],
  ] as const)
    await chooser.getByLabel(name).fill(value);
  const use = chooser.getByRole('button', { name: 'Use this region' });
  await expect(chooser.getByText('The picture does not reach all of this region.')).toBeVisible();
  await expect(use).toBeDisabled();
  await chooser.getByLabel('Height').fill('90');
  await use.focus();
  await page.keyboard.press('Enter');

  await expect(form.getByLabel('Width')).toHaveValue('200 px');
  await expect(form.getByRole('img', { name: 'The watched region' })).toBeVisible();
  await expect(form.getByText('Would have alerted 0 times')).toBeVisible();
  await checks.accessible(page);
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(form).toBeHidden();
  await expect(page.getByText('Region of the picture: 200 × 90 at 0, 0')).toBeVisible();
  expect(await watched(page, id)).toEqual({ region: { x: 0, y: 0, width: 200, height: 90 } });

  publishBlocks(web, 'orange', 'red');
  await collect(page, id);
  const { items } = (await (
    await page.request.get('/api/events?observer=browser&event_type=changed')
  ).json()) as {
    items: { id: number }[];
  };
  expect(items).toHaveLength(1);
  await page.goto(`/timeline/${items[0]?.id}`);
  await expect(page.getByRole('img', { name: 'After, 200 × 90' })).toBeVisible();
  await expect(page.getByText('Only the watched part of this source is compared.')).toBeVisible();
  await checks.accessible(page);
});

/** A page without text: one block at the left, and one at the right. */
function publishBlocks(web: ScriptedWeb, left: string, right: string): void {
  web.publish(
    '/blocks',
    `<!doctype html><title>Blocks</title><body style="margin: 0; display: flex; justify-content: space-between">
     <div style="width: 200px; height: 90px; background: ${left}"></div>
     <div style="width: 200px; height: 90px; background: ${right}"></div>`,
  );
}
