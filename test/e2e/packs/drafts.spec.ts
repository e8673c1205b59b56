import type { Page } from '@playwright/test';
import { addElsewhere, DIGESTS, draftsOf, filesOf, forgetDrafts, SAVED, titleOf } from '../support/drafts.ts';
import { dropBuffers } from '../support/dropFiles.ts';
import { fillRecord } from '../support/fillRecord.ts';
import { expect, test } from '../support/fixtures.ts';
import { holdRequests } from '../support/holdRequests.ts';
import { signIn } from '../support/signIn.ts';

/** Lets the node create the first draft, and loses its answer. */
async function loseFirstAnswer(page: Page, onCreated: () => Promise<void> = async () => {}): Promise<void> {
  let lost = 0;
  await page.route('**/manage/drafts', async (route) => {
    if (route.request().method() !== 'POST' || lost > 0) return route.fallback();
    lost += 1;
    await route.fetch();
    await onCreated();
    await route.abort();
  });
}

test('a draft is saved on the node, continued in another browser, and published without sending its files again', async ({
  page,
  node,
  browser,
  checks,
}) => {
  await page.goto('/assemble');
  await titleOf(page).fill('Two browsers');
  await dropBuffers(page, [['a.csv', Buffer.from('a,b\n1,2\n')]]);
  await expect(page.getByText(SAVED)).toBeVisible();
  await expect.poll(async () => (await draftsOf(node))[0]?.counts.files).toBe(1);

  const link = await page.request.post('/manage/sign-in-links');
  const other = await browser.newPage({ baseURL: node.url });
  await signIn(other, ((await link.json()) as { url: string }).url);
  checks.watch(other);
  const sent: string[] = [];
  other.on('request', (request) => {
    if (request.method() !== 'GET') sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  await other.goto('/assemble');
  await expect(titleOf(other)).toHaveValue('Two browsers');
  await expect(other.getByRole('button', { name: /^digest of a.csv/ })).toBeVisible();
  await fillRecord(other);
  await other.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(other.getByRole('heading', { level: 1, name: 'Two browsers' })).toBeVisible();
  expect(sent.filter((line) => line.includes('/files') || line.endsWith('/api/packs'))).toEqual([]);
  expect(await draftsOf(node)).toEqual([]);
  await other.close();
});

test('a draft whose first answer was lost is neither created twice nor overwritten, and is gone when it is discarded', {
  tag: '@trial',
}, async ({ page, node, checks }) => {
  await test.step('a draft whose first answer was lost with the page is not created twice', async () => {
    checks.allow(/ERR_FAILED/);
    await loseFirstAnswer(page);
    await page.goto('/assemble');
    await titleOf(page).fill('Once');
    await expect.poll(async () => (await draftsOf(node)).length).toBe(1);
    await page.reload();
    await expect(titleOf(page)).toHaveValue('Once');
    await titleOf(page).fill('Once only');
    await expect(page.getByText(SAVED)).toBeVisible();
    await expect.poll(async () => (await draftsOf(node)).map(({ title }) => title)).toEqual(['Once only']);
  });
  await forgetDrafts(page, node);
  await test.step('a draft whose first answer was lost is not overwritten if somebody continued it', async () => {
    checks.allow(/ERR_FAILED/);
    await loseFirstAnswer(page, async () => {
      const [{ id } = { id: '' }] = await draftsOf(node);
      const body = JSON.stringify({
        record: { title: 'Continued' },
        form: { title: 'Continued', writer: 'x' },
      });
      const headers = { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' };
      await fetch(new URL(`/manage/drafts/${id}`, node.url), { method: 'PATCH', headers, body });
    });
    await page.goto('/assemble');
    await titleOf(page).fill('Begun');
    await expect(page.getByText(SAVED)).toBeVisible();
    const titles = (await draftsOf(node)).map(({ title }) => title).sort();
    expect(titles).toEqual(['Begun', 'Continued']);
  });
  await forgetDrafts(page, node);
  await test.step('a draft whose first answer was lost is gone when it is discarded', async () => {
    checks.allow(/ERR_FAILED/);
    let isCreated = false;
    await page.route('**/manage/drafts', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      if (!isCreated) await route.fetch();
      isCreated = true;
      await route.abort();
    });
    await page.goto('/assemble');
    await titleOf(page).fill('Discarded');
    await expect(page.getByText('The node does not respond.')).toBeVisible();
    expect(await draftsOf(node)).toHaveLength(1);
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start over' }).click();
    await expect(titleOf(page)).toHaveValue('');
    expect(await draftsOf(node)).toEqual([]);
  });
  await forgetDrafts(page, node);
  await test.step('a draft that is discarded while it is saved for the first time is gone', async () => {
    const answer = await holdRequests(page, 'POST', '**/manage/drafts');
    await page.goto('/assemble');
    const asked = page.waitForRequest(
      (request) => request.method() === 'POST' && request.url().endsWith('/manage/drafts'),
    );
    await titleOf(page).fill('Discarded');
    await asked;
    await page.getByRole('button', { name: 'Start over' }).click();
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await page.getByRole('dialog').getByRole('button', { name: 'Start over' }).click();
    answer();
    expect((await deleted).ok()).toBe(true);
    await expect(titleOf(page)).toHaveValue('');
    expect(await draftsOf(node)).toEqual([]);
  });
});

test('several drafts are kept; signing out ends the saving on the node', {
  tag: '@trial',
}, async ({ page, node, checks }) => {
  await test.step('several drafts are kept: a new one is started, another is continued, and one is deleted', async () => {
    await page.goto('/assemble');
    await titleOf(page).fill('First draft');
    await expect(page.getByText(SAVED)).toBeVisible();
    await page.getByRole('button', { name: 'Drafts' }).click();
    const dialog = page.getByRole('dialog', { name: 'Drafts' });
    await dialog.getByRole('button', { name: 'New draft' }).click();
    await expect(titleOf(page)).toHaveValue('');
    await titleOf(page).fill('Second draft');
    await expect(page.getByText(SAVED)).toBeVisible();
    await page.getByRole('button', { name: 'Drafts' }).click();
    await expect(dialog.getByRole('listitem')).toHaveCount(2);
    await checks.accessible(page);
    await dialog.getByRole('button', { name: 'Open First draft' }).click();
    await expect(titleOf(page)).toHaveValue('First draft');
    await page.getByRole('button', { name: 'Start over' }).click();
    await page
      .getByRole('dialog', { name: 'Start over?' })
      .getByRole('button', { name: 'Start over' })
      .click();
    await expect(titleOf(page)).toHaveValue('');
    await expect.poll(async () => (await draftsOf(node)).map(({ title }) => title)).toEqual(['Second draft']);
  });
  await forgetDrafts(page, node);
  await test.step('signing out ends the saving on the node, and the draft is there for the owner only', async () => {
    checks.allow(/status of (401|403)/);
    await page.request.put('/manage/sharing', { data: { mode: 'contribute', require_invitation: false } });
    await page.goto('/assemble');
    await titleOf(page).fill('Of the owner');
    await expect(page.getByText(SAVED)).toBeVisible();
    await page.getByRole('link', { name: 'Settings' }).first().click();
    await page.getByRole('tab', { name: 'Browsers' }).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await expect(page.getByText('Only the owner can see the settings')).toBeVisible();
    await page.goBack();
    await page.goBack();
    await expect(page.getByText('The draft is saved in this browser as you type.')).toBeVisible();
    await expect(titleOf(page)).toHaveValue('');
    await titleOf(page).fill('Of a visitor');
    await fillRecord(page);
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Of a visitor' })).toBeVisible();
    expect((await draftsOf(node)).map(({ title }) => title)).toEqual(['Of the owner']);
  });
});

test('one draft in two windows: files and records that differ, names, and answers that were lost', {
  tag: '@trial',
}, async ({ page, node, checks }) => {
  await test.step('a change in another window is shown, and the person decides which version stays', async () => {
    checks.allow(/status of 409/);
    await page.goto('/assemble');
    await titleOf(page).fill('Mine');
    await expect(page.getByText(SAVED)).toBeVisible();
    const [draft] = await draftsOf(node);
    await fetch(new URL(`/manage/drafts/${draft?.id}`, node.url), {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ record: { title: 'Theirs' } }),
    });
    await titleOf(page).fill('Mine again');
    await expect(page.getByText('This draft was changed in another window.')).toBeVisible();
    await page.getByRole('button', { name: 'Show the other version' }).click();
    await expect(titleOf(page)).toHaveValue('Theirs');
  });
  await forgetDrafts(page, node);
  await test.step('a file that is renamed to the path of another one does not replace it', async () => {
    await page.goto('/assemble');
    await titleOf(page).fill('Renamed');
    await dropBuffers(page, [
      ['one.txt', Buffer.from('one')],
      ['two.txt', Buffer.from('two')],
    ]);
    await expect.poll(() => filesOf(node)).toEqual({ 'one.txt': DIGESTS.one, 'two.txt': DIGESTS.two });
    await rename(page, 'one.txt', 'two.txt');
    // The next change is saved after the renaming.
    await titleOf(page).fill('Renamed again');
    await expect.poll(async () => (await draftsOf(node))[0]?.title).toBe('Renamed again');
    await expect(page.getByText('except 1 file with a problem')).toBeVisible();
    expect(await filesOf(node)).toEqual({ 'one.txt': DIGESTS.one, 'two.txt': DIGESTS.two });
    await rename(page, 'two.txt', 'three.txt');
    await expect
      .poll(async () => Object.values(await filesOf(node)).sort())
      .toEqual(Object.values(DIGESTS).sort());
    await expect.poll(async () => Object.keys(await filesOf(node))).toEqual(['three.txt', 'two.txt']);
  });
  await forgetDrafts(page, node);
  await test.step('a file name that no pack can have is explained at the file, which is saved under another name', async () => {
    await page.goto('/assemble');
    await titleOf(page).fill('Names');
    await dropBuffers(page, [
      ['one.txt', Buffer.from('one')],
      ['50%.txt', Buffer.from('two')],
    ]);
    await expect(page.getByRole('alert').filter({ hasText: 'must not contain %' })).toBeVisible();
    await expect(page.getByText('saved on this node, except 1 file with a problem.')).toBeVisible();
    expect(await filesOf(node)).toEqual({ 'one.txt': DIGESTS.one });
    await rename(page, '50%.txt', 'half.txt');
    await expect.poll(() => filesOf(node)).toEqual({ 'half.txt': DIGESTS.two, 'one.txt': DIGESTS.one });
    await expect(page.getByText(SAVED)).toBeVisible();
  });
  await forgetDrafts(page, node);
  await test.step('files that another window added stay when this one saves its own, and the person is asked', async () => {
    await page.goto('/assemble');
    await titleOf(page).fill('Files of two');
    await dropBuffers(page, [['mine.txt', Buffer.from('mine')]]);
    await expect.poll(async () => Object.keys(await filesOf(node))).toEqual(['mine.txt']);
    await expect(page.getByText(SAVED)).toBeVisible();
    await addElsewhere(node, 'one.txt', 'one');
    await rename(page, 'mine.txt', 'renamed.txt');
    await expect(page.getByText('This draft was changed in another window.')).toBeVisible();
    expect(Object.keys(await filesOf(node))).toEqual(['one.txt', 'renamed.txt']);
    await page.getByRole('button', { name: 'Show the other version' }).click();
    await expect(page.getByRole('button', { name: /^digest of one.txt/ })).toBeVisible();
    await expect(page.getByText(SAVED)).toBeVisible();
  });
  await forgetDrafts(page, node);
  await test.step('a renaming whose answer was lost is not repeated', async () => {
    checks.allow(/ERR_FAILED|Failed to load/);
    await page.goto('/assemble');
    await titleOf(page).fill('Lost answer');
    await dropBuffers(page, [
      ['one.txt', Buffer.from('one')],
      ['two.txt', Buffer.from('two')],
    ]);
    await expect.poll(() => filesOf(node)).toEqual({ 'one.txt': DIGESTS.one, 'two.txt': DIGESTS.two });
    await expect(page.getByText(SAVED)).toBeVisible();
    let isLost = false;
    await page.route('**/files', async (route) => {
      const { rename = [] } = route.request().postDataJSON() as { rename?: unknown[] };
      // The removal may be saved alone, before the name was typed.
      if (isLost || rename.length === 0) return route.continue();
      isLost = true;
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Remove two.txt' }).click();
    await rename(page, 'one.txt', 'two.txt');
    await expect.poll(() => isLost).toBe(true);
    await titleOf(page).fill('Answer lost');
    await expect.poll(async () => (await draftsOf(node))[0]?.title).toBe('Answer lost');
    await expect(page.getByText(SAVED)).toBeVisible();
    expect(await filesOf(node)).toEqual({ 'two.txt': DIGESTS.one });
  });
});

async function rename(page: Page, from: string, to: string): Promise<void> {
  await page
    .getByRole('button', { name: `Edit path of ${from}` })
    .first()
    .click();
  await page.getByLabel('Path in the pack').fill(to);
  await page.keyboard.press('Enter');
}
