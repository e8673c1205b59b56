import { writeFile } from 'node:fs/promises';
import { collectChanges } from '../support/changes.ts';
import { expect, test } from '../support/fixtures.ts';
import { publishPack } from '../support/publishPack.ts';

test.use({ viewport: { width: 1440, height: 900 } });

const CHANGE = {
  name: 'notice',
  type: 'text/html',
  from: '<title>Notice</title><p>The fee is 10 euros for everyone.</p>',
  to: '<title>Notice</title><p>The fee is 20 euros for everyone.</p>',
};

test('a passage is quoted, and a case is filled', async ({ page, node, web, checks }, testInfo) => {
  const [event] = await collectChanges(page, node, web, [CHANGE]);
  await test.step('a passage that is selected on the page of an event is quoted, versioned, withdrawn and found', async () => {
    await page.goto(`/timeline/${event}`);
    await page.getByRole('button', { name: 'Text', exact: true }).first().click();
    await page
      .getByRole('region', { name: 'Text of the object' })
      .first()
      .locator('pre')
      .click({ clickCount: 3 });
    await page.getByRole('button', { name: 'Add a finding' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a finding' });
    await expect(dialog.getByLabel('Quoted passage')).toHaveValue(/The fee is 20 euros for everyone\./);
    await expect(dialog.getByText('Found in the text of the object (After): characters')).toBeVisible();
    await expect(dialog.getByText('cannot be changed or deleted')).toBeVisible();
    await checks.accessible(page);
    await dialog.getByLabel('Finding').fill('The fee doubled.');
    await dialog.getByRole('combobox', { name: 'Tags' }).fill('fees');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Save finding' }).click();
    const card = page.getByRole('article', { name: /Finding about/ });
    await expect(card.getByText('The fee doubled.')).toBeVisible();
    await expect(card.locator('blockquote')).toContainText('The fee is 20 euros');

    await card.getByRole('button', { name: 'New version' }).click();
    const version = page.getByRole('dialog', { name: 'New version of the finding' });
    await version.getByLabel('Finding', { exact: true }).fill('The fee doubled within a day.');
    await version.getByRole('button', { name: 'Save finding' }).click();
    await expect(card.getByText('within a day')).toBeVisible();
    await expect(card).toHaveCount(1);

    await page.goto('/findings');
    await page.getByRole('searchbox', { name: 'Search findings' }).fill('doubled');
    await expect(card).toHaveCount(1);
    await checks.accessible(page);
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV' }).click();
    expect((await downloading).suggestedFilename()).toBe('findings.csv');

    await card.getByRole('button', { name: 'Withdraw' }).click();
    const withdrawal = page.getByRole('dialog', { name: 'Withdraw finding' });
    await withdrawal.getByLabel('Reason').fill('The page was a draft.');
    await withdrawal.getByRole('button', { name: 'Withdraw' }).click();
    await expect(page.getByRole('heading', { name: 'No finding matches' })).toBeVisible();
    await page.goto('/findings?state=withdrawn');
    await expect(card.getByText('The page was a draft.')).toBeVisible();
  });
  await test.step('a case is filled from the pages of a pack and an event, ordered by keyboard, and downloaded as a bag', async () => {
    const pack = await publishPack(node, { title: 'Fees of ten years' });
    await page.goto('/cases');
    await expect(page.getByRole('heading', { name: 'No cases yet' })).toBeVisible();
    await checks.accessible(page);
    await page.goto(`/packs/${pack.id}`);
    await page.getByRole('button', { name: 'Add to a case' }).click();
    const dialog = page.getByRole('dialog', { name: 'New case' });
    await dialog.getByLabel('Title').fill('The fee');
    await dialog.getByRole('button', { name: 'Create case' }).click();
    await expect(dialog).toBeHidden();
    await page.goto(`/timeline/${event}`);
    await page.getByRole('button', { name: 'Add to The fee' }).click();
    await expect(page.getByText('Added to the case “The fee”.')).toBeVisible();
    await page.goto('/cases');
    await page.getByRole('link', { name: 'The fee' }).click();
    const items = page.getByRole('list', { name: 'Items' }).getByRole('listitem');
    await expect(items).toHaveText([/Fees of ten years/, /notice/]);
    await checks.accessible(page);

    await page.getByRole('button', { name: 'Move notice up' }).focus();
    await page.keyboard.press('Enter');
    await expect(items).toHaveText([/notice/, /Fees of ten years/]);
    await expect(page.getByRole('button', { name: 'Move notice up' })).toBeFocused();
    await page.getByRole('button', { name: 'Edit the note on notice' }).click();
    await page.getByLabel('Note', { exact: true }).fill('See the second sentence.');
    await page.getByRole('button', { name: 'Save note' }).click();
    await expect(page.getByLabel('Note', { exact: true })).toBeHidden();
    await page.reload();
    await expect(items.first()).toContainText('See the second sentence.');

    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download bag' }).click();
    const download = await downloading;
    const file = testInfo.outputPath('case.zip');
    await download.saveAs(file);
    await writeFile(testInfo.outputPath('name.txt'), download.suggestedFilename());
    expect(download.suggestedFilename()).toMatch(/^strongroom-case-ca_[0-9a-f]{20}\.zip$/);

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect(page.getByRole('heading', { name: 'No cases yet' })).toBeVisible();
  });
});

test('visitors read findings and cases without the controls of the owner, and nothing of what is sealed', async ({
  page,
  browser,
  node,
  checks,
}) => {
  await test.step('a finding is sealed, which visitors see without what it says, and revealed', async () => {
    const pack = await publishPack(node, { title: 'Polls of ten years' });
    await page.goto(`/packs/${pack.id}`);
    await page.getByRole('button', { name: 'Add a finding' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a finding' });
    await dialog.getByLabel('Finding', { exact: true }).fill('The mayor will lose.');
    await dialog.getByLabel('Seal it: only a commitment is published now').check();
    await expect(dialog.getByText('keep that key')).toBeVisible();
    await checks.accessible(page);
    await dialog.getByRole('button', { name: 'Seal finding' }).click();
    const card = page.getByRole('article', { name: /Sealed finding/ });
    await expect(card.getByText('The mayor will lose.')).toBeVisible();
    await expect(card.getByText('Sealed since')).toBeVisible();

    const context = await browser.newContext({ baseURL: node.url });
    const visitor = await context.newPage();
    checks.watch(visitor);
    await visitor.goto(`/packs/${pack.id}`);
    await expect(visitor.getByRole('heading', { name: 'Polls of ten years' })).toBeVisible();
    await visitor.goto('/findings');
    await visitor.getByRole('link', { name: 'Show sealed findings' }).click();
    const seen = visitor.getByRole('article', { name: /Sealed finding/ });
    await expect(seen.getByText('What it says is not public yet.')).toBeVisible();
    await expect(visitor.getByText('mayor')).toHaveCount(0);
    await expect(visitor.getByRole('button', { name: 'Reveal' })).toHaveCount(0);
    await checks.accessible(visitor);

    await card.getByRole('button', { name: 'Reveal' }).click();
    const question = page.getByRole('dialog', { name: 'Reveal finding?' });
    await expect(question.getByText('This cannot be undone.')).toBeVisible();
    await checks.accessible(page);
    await question.getByRole('button', { name: 'Reveal' }).click();
    const revealed = page.getByRole('article', { name: /Finding about/ });
    await expect(revealed.getByText('Was sealed')).toBeVisible();
    await visitor.goto('/findings');
    await expect(visitor.getByText('The mayor will lose.')).toBeVisible();
    await context.close();
  });
  await test.step('a visitor reads findings and cases without the controls of the owner', async () => {
    const pack = await publishPack(node, { title: 'Read by all' });
    const headers = { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' };
    const send = async (path: string, body: object) => {
      const answer = await fetch(new URL(path, node.url), {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(201);
      return (await answer.json()) as { id: string };
    };
    await send('/manage/findings', { target: { kind: 'pack', id: pack.id }, text: 'For all to see' });
    const { id } = await send('/manage/cases', {
      title: 'Open case',
      items: [{ kind: 'pack', id: pack.id }],
    });
    const context = await browser.newContext({ baseURL: node.url });
    const page = await context.newPage();
    checks.watch(page);
    for (const path of ['/findings', `/packs/${pack.id}`]) {
      await page.goto(path);
      await expect(page.getByText('For all to see')).toBeVisible();
      for (const name of ['Add a finding', 'New version', 'Withdraw', 'Add to Open case'])
        await expect(page.getByRole('button', { name })).toHaveCount(0);
    }
    await page.goto(`/cases/${id}`);
    await expect(page.getByRole('link', { name: 'Read by all' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'Download bag' })).toBeVisible();
    for (const name of ['Edit', 'Delete']) await expect(page.getByRole('button', { name })).toHaveCount(0);
    await context.close();
  });
});
