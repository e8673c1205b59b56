import {
  addElsewhere,
  changeElsewhere,
  DIGESTS,
  draftsOf,
  filesOf,
  forgetDrafts,
  SAVED,
  titleOf,
} from '../support/drafts.ts';
import { dropBuffers } from '../support/dropFiles.ts';
import { fillRecord } from '../support/fillRecord.ts';
import { expect, test } from '../support/fixtures.ts';
import { holdRequests } from '../support/holdRequests.ts';

test('what another window changed is not published unseen', { tag: '@trial' }, async ({
  page,
  node,
  checks,
}) => {
  await test.step('files that another window added are shown before they are published', async () => {
    checks.allow(/status of 409/);
    await page.goto('/assemble');
    await titleOf(page).fill('Two windows');
    await dropBuffers(page, [['one.txt', Buffer.from('one')]]);
    await fillRecord(page);
    await expect.poll(() => filesOf(node)).toEqual({ 'one.txt': DIGESTS.one });
    await expect(page.getByText(SAVED)).toBeVisible();
    await addElsewhere(node, 'two.txt', 'two');
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect(page.getByText('This draft was changed in another window.')).toBeVisible();
    await page.getByRole('button', { name: 'Show the other version' }).click();
    await expect(page.getByRole('button', { name: /^digest of two.txt/ })).toBeVisible();
    expect(await draftsOf(node)).toHaveLength(1);
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Two windows' })).toBeVisible();
    await expect(page.getByText('two.txt').first()).toBeVisible();
  });
  await forgetDrafts(page, node);
  await test.step('a file that another window adds while the draft is published is not published unseen', async () => {
    checks.allow(/status of 409/);
    await page.goto('/assemble');
    await titleOf(page).fill('Seen files only');
    await dropBuffers(page, [['one.txt', Buffer.from('one')]]);
    await fillRecord(page);
    await expect.poll(() => filesOf(node)).toEqual({ 'one.txt': DIGESTS.one });
    await expect(page.getByText(SAVED)).toBeVisible();
    let isAdded = false;
    await page.route(/\/publish\?/, async (route) => {
      if (!isAdded) await addElsewhere(node, 'two.txt', 'two');
      isAdded = true;
      await route.continue();
    });
    const publish = page.getByRole('button', { name: 'Publish', exact: true });
    await publish.click();
    await expect(page.getByText('This draft was changed in another window.')).toBeVisible();
    expect(await draftsOf(node)).toHaveLength(1);
    await page.getByRole('button', { name: 'Keep this version' }).click();
    await expect(page.getByText(SAVED)).toBeVisible();
    expect(await filesOf(node)).toEqual({ 'one.txt': DIGESTS.one });
    await publish.click();
    await expect(page.getByRole('heading', { level: 1, name: 'Seen files only' })).toBeVisible();
  });
  await forgetDrafts(page, node);
  await test.step('a record that another window changed is not published unseen, and “Keep this version” keeps this one', async () => {
    checks.allow(/status of 409/);
    await page.goto('/assemble');
    await titleOf(page).fill('Mine');
    await fillRecord(page);
    await expect(page.getByText(SAVED)).toBeVisible();
    await changeElsewhere(node, 'Theirs');
    const publish = page.getByRole('button', { name: 'Publish', exact: true });
    await publish.click();
    await expect(page.getByText('This draft was changed in another window.')).toBeVisible();
    await page.getByRole('button', { name: 'Keep this version' }).click();
    await expect(page.getByText(SAVED)).toBeVisible();
    await publish.click();
    await expect(page.getByRole('heading', { level: 1, name: 'Mine' })).toBeVisible();
  });
});

test('a draft is published as it was shown, once, also if it could not be opened or the answer was lost', {
  tag: '@trial',
}, async ({ page, node, checks }) => {
  await test.step('publishing again after a lost answer gives the same pack', async () => {
    checks.allow(/ERR_FAILED|Failed to load/);
    await page.goto('/assemble');
    await titleOf(page).fill('Answered once');
    await fillRecord(page);
    let isLost = true;
    await page.route(/\/publish\?/, async (route) => {
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
  await forgetDrafts(page, node);
  await test.step('a draft is published only after it was shown', async () => {
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
    await expect(
      page.getByText('The node recorded the fingerprint that this browser computed.'),
    ).toBeVisible();
  });
  await forgetDrafts(page, node);
  await test.step('a draft that cannot be opened is not published, and is opened again on request', async () => {
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
});
