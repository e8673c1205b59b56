import { createHash } from 'node:crypto';
import type { Page } from '@playwright/test';
import type { DraftSummary, StoredDraft } from '../../../shared/archive/draft.ts';
import { dropBuffers } from '../support/dropFiles.ts';
import { fillRecord } from '../support/fillRecord.ts';
import { expect, test } from '../support/fixtures.ts';
import { holdRequests } from '../support/holdRequests.ts';
import type { NodeProcess } from '../support/nodeProcess.ts';

const SAVED = 'The draft is saved on this node.';

async function draftsOf(node: NodeProcess): Promise<DraftSummary[]> {
  const headers = { Authorization: `Bearer ${node.token}` };
  const response = await fetch(new URL('/manage/drafts', node.url), { headers });
  return ((await response.json()) as { items: DraftSummary[] }).items;
}

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

function titleOf(page: Page) {
  return page.getByRole('textbox', { name: 'Title' });
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

  const storageState = { cookies: await page.context().cookies(), origins: [] };
  const other = await browser.newPage({ baseURL: node.url, storageState });
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

test('a draft whose first answer was lost with the page is not created twice', async ({
  page,
  node,
  checks,
}) => {
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

test('a draft whose first answer was lost is not overwritten if somebody continued it', async ({
  page,
  node,
  checks,
}) => {
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

test('a draft that an earlier release left in the browser is taken over once', async ({ page, node }) => {
  await page.goto('/verify');
  await page.evaluate(async () => {
    const draft = { title: 'From before', summary: 'Typed in an earlier release' };
    localStorage.setItem('strongroom-draft', JSON.stringify({ state: { draft }, version: 1 }));
    const entry = { id: '1', path: 'old.txt', mediaType: 'text/plain', bytes: 3 };
    localStorage.setItem('strongroom-draft-files', JSON.stringify([entry]));
    await new Promise<void>((resolve, reject) => {
      const request = indexedDB.open('strongroom-draft', 1);
      request.onupgradeneeded = () => request.result.createObjectStore('files', { keyPath: 'id' });
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const change = request.result.transaction('files', 'readwrite');
        change.objectStore('files').put({ id: '1', file: new File(['old'], 'old.txt') });
        change.oncomplete = () => {
          request.result.close();
          resolve();
        };
      };
    });
  });
  await page.goto('/assemble');
  await expect(titleOf(page)).toHaveValue('From before');
  await expect.poll(async () => (await draftsOf(node)).map(({ counts }) => counts.files)).toEqual([1]);
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(titleOf(page)).toHaveValue('From before');
  await expect(page.getByRole('button', { name: /^digest of old.txt/ })).toBeVisible();
  expect(await draftsOf(node)).toHaveLength(1);
});

test('several drafts are kept: a new one is started, another is continued, and one is deleted', async ({
  page,
  node,
  checks,
}) => {
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
  await page.getByRole('dialog', { name: 'Start over?' }).getByRole('button', { name: 'Start over' }).click();
  await expect(titleOf(page)).toHaveValue('');
  await expect.poll(async () => (await draftsOf(node)).map(({ title }) => title)).toEqual(['Second draft']);
});

test('a change in another window is shown, and the person decides which version stays', async ({
  page,
  node,
  checks,
}) => {
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

async function rename(page: Page, from: string, to: string): Promise<void> {
  await page
    .getByRole('button', { name: `Edit path of ${from}` })
    .first()
    .click();
  await page.getByLabel('Path in the pack').fill(to);
  await page.keyboard.press('Enter');
}

async function filesOf(node: NodeProcess): Promise<Record<string, string>> {
  const [draft] = await draftsOf(node);
  if (!draft) return {};
  const headers = { Authorization: `Bearer ${node.token}` };
  const response = await fetch(new URL(`/manage/drafts/${draft.id}`, node.url), { headers });
  const { files } = (await response.json()) as StoredDraft;
  return Object.fromEntries(files.map(({ path, sha256 }) => [path, sha256.slice(0, 8)]));
}

const DIGESTS = { one: sha256('one'), two: sha256('two') };

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

test('a file that is renamed to the path of another one does not replace it', async ({ page, node }) => {
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
  await expect(page.getByText(SAVED)).toBeVisible();
  expect(await filesOf(node)).toEqual({ 'one.txt': DIGESTS.one, 'two.txt': DIGESTS.two });
  await rename(page, 'two.txt', 'three.txt');
  await expect
    .poll(async () => Object.values(await filesOf(node)).sort())
    .toEqual(Object.values(DIGESTS).sort());
  await expect.poll(async () => Object.keys(await filesOf(node))).toEqual(['three.txt', 'two.txt']);
});

test('a renaming whose answer was lost is not repeated', async ({ page, node, checks }) => {
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

test('a draft is published only after it was shown', async ({ page, node }) => {
  await page.goto('/assemble');
  await titleOf(page).fill('Seen first');
  await dropBuffers(page, [['a.csv', Buffer.from('a')]]);
  await fillRecord(page);
  await expect(page.getByText(SAVED)).toBeVisible();
  await expect.poll(async () => (await draftsOf(node))[0]?.counts.files).toBe(1);

  const answer = await holdRequests(page, 'GET', '**/manage/drafts/*');
  await page.reload();
  const publish = page.getByRole('button', { name: 'Publish', exact: true });
  await expect(page.getByText('Opening the draft…')).toBeVisible();
  await expect(publish).toBeDisabled();
  answer();
  await publish.click();
  await expect(page.getByText('The node recorded the fingerprint that this browser computed.')).toBeVisible();
});

test('a draft that is discarded while it is saved for the first time is gone', async ({ page, node }) => {
  const answer = await holdRequests(page, 'POST', '**/manage/drafts');
  await page.goto('/assemble');
  const asked = page.waitForRequest((request) => request.method() === 'POST');
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

test('a draft that cannot be opened is not published, and is opened again on request', async ({
  page,
  checks,
}) => {
  checks.allow(/ERR_FAILED/);
  await page.goto('/assemble');
  await titleOf(page).fill('Opened later');
  await fillRecord(page);
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.route('**/manage/drafts/*', (route) => route.abort());
  await page.reload();
  const publish = page.getByRole('button', { name: 'Publish', exact: true });
  await expect(page.getByRole('button', { name: 'Try again' })).toBeVisible();
  await expect(publish).toBeDisabled();
  await page.unroute('**/manage/drafts/*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await publish.click();
  await expect(page.getByRole('heading', { level: 1, name: 'Opened later' })).toBeVisible();
});

test('files that another window added are shown before they are published', async ({ page, node }) => {
  await page.goto('/assemble');
  await titleOf(page).fill('Two windows');
  await dropBuffers(page, [['one.txt', Buffer.from('one')]]);
  await fillRecord(page);
  await expect.poll(() => filesOf(node)).toEqual({ 'one.txt': DIGESTS.one });
  await expect(page.getByText(SAVED)).toBeVisible();
  const [draft] = await draftsOf(node);
  const added = await fetch(new URL(`/manage/drafts/${draft?.id}/files?path=two.txt`, node.url), {
    method: 'PUT',
    headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/octet-stream' },
    body: 'two',
  });
  expect(added.status).toBe(200);
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByText('This draft was changed in another window.')).toBeVisible();
  await page.getByRole('button', { name: 'Show the other version' }).click();
  await expect(page.getByRole('button', { name: /^digest of two.txt/ })).toBeVisible();
  expect(await draftsOf(node)).toHaveLength(1);
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Two windows' })).toBeVisible();
  await expect(page.getByText('two.txt').first()).toBeVisible();
});

test('publishing again after a lost answer gives the same pack', async ({ page, node, checks }) => {
  checks.allow(/ERR_FAILED|Failed to load/);
  await page.goto('/assemble');
  await titleOf(page).fill('Answered once');
  await fillRecord(page);
  let isLost = true;
  await page.route('**/publish', async (route) => {
    if (!isLost) return route.continue();
    isLost = false;
    await route.fetch();
    await route.abort();
  });
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByText('node_unreachable')).toBeVisible();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Answered once' })).toBeVisible();
  const packs = (await (await fetch(new URL('/api/packs', node.url))).json()) as { total: number };
  expect(packs.total).toBe(1);
});
