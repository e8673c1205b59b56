import { readFile, writeFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { history, ScriptedLog } from '../ledger/witness/scriptedLog.ts';
import { runCommand } from '../support/cli.ts';
import { TimestampAuthority } from '../support/network/timestampAuthority.ts';
import { expect, test } from './support/fixtures.ts';

test(
  'saved checkpoints are checked, also in the older format; an entry is found by its number',
  { tag: '@trial' },
  async ({ page, node, checks }, testInfo) => {
    await test.step('a saved checkpoint is checked in the browser and by the command, and shows whether the ledger was rewritten', async () => {
      await record(page, 3);
      await page.goto('/ledger');
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save checkpoint' }).click();
      const saved = await download;
      expect(saved.suggestedFilename()).toMatch(/-3\.checkpoint$/);
      const file = testInfo.outputPath(saved.suggestedFilename());
      await saved.saveAs(file);
      const text = await readFile(file, 'utf8');
      expect(text).toMatch(/^\S+\n3\n\S{44}\n\n— \S+ \S+\n$/);

      await record(page, 4);
      await page.reload();
      await page.getByRole('button', { name: 'Check a saved checkpoint' }).click();
      const choose = page.locator('input[type=file]');
      await choose.setInputFiles(file);
      await expect(page.getByText('The ledger has not been rewritten.')).toBeVisible();
      await expect(page.getByText('all 3 entries are unchanged')).toBeVisible();
      await expect(page.getByText('It was made with the key of this node.')).toBeVisible();
      await checks.accessible(page);
      const fonts = await page.evaluate(async () => {
        const { ready } = document.fonts;
        return [...(await ready)].filter(({ status }) => status === 'loaded').map(({ family }) => family);
      });
      const families = [...new Set(fonts.map((family) => family.replaceAll('"', '')))].sort();
      expect(families, 'fonts that come with the app').toEqual([
        'Inter Variable',
        'Source Code Pro Variable',
        'Source Serif 4 Variable',
      ]);

      const command = await runCommand(['ledger', 'verify', '--data', node.dataFolder, '--checkpoint', file]);
      expect(command.stdout).toContain('Nothing was rewritten since the checkpoint over 3 entries.');
      expect(command.code).toBe(0);

      await writeFile(file, text.replace('\n3\n', '\n2\n'));
      await choose.setInputFiles(file);
      await expect(page.getByText('The checkpoint was altered: its signature does not match.')).toBeVisible();
      await checks.accessible(page);

      await writeFile(file, 'a shopping list');
      await choose.setInputFiles(file);
      await expect(page.getByRole('alert')).toContainText('not a checkpoint');
    });
    await test.step('an entry is found by its number, and an altered entry is reported', async () => {
      // Sixty in all.
      await record(page, 53);
      await page.goto('/ledger');
      await expect(page.getByText('60 down to 11 of 60').first()).toBeVisible();
      await page.getByRole('button', { name: 'Older' }).first().click();
      await expect(page.getByText('10 down to 1 of 60').first()).toBeVisible();
      await page.getByRole('textbox', { name: 'Go to entry number' }).first().fill('42');
      await page.keyboard.press('Enter');
      await expect(page).toHaveURL(/#42$/);
      const entry = page.locator('#entry-42');
      await expect(entry).toBeInViewport();
      // In words; the id is among the details.
      await expect(entry.getByRole('link', { name: 'http://127.0.0.1:9/41' })).toBeVisible();
      await expect(entry).toContainText('the hash matches');
      await expect(entry).toContainText('is the hash of #41');

      await page.route(/\/api\/ledger\?/, async (route) => {
        const answer = await route.fetch();
        const body = (await answer.json()) as { items: { seq: number; subject: string; hash: string }[] };
        for (const item of body.items) {
          if (item.seq === 41)
            Object.assign(item, { subject: 'so_00000000000000000000', hash: 'cd'.repeat(32) });
        }
        await route.fulfill({ response: answer, json: body });
      });
      await page.reload();
      await expect(entry).toContainText('is not the hash of #41');
      await expect(page.locator('#entry-41')).toContainText('does not match its content');
      await page.getByRole('button', { name: 'Verify in this browser' }).click();
      await expect(page.getByRole('table', { name: 'Ledger faults' })).toContainText('#41');
      await checks.accessible(page);
    });
  },
);

test('a visitor verifies the ledger, its key changes and checkpoints by a former key, without the controls of the owner', async ({
  page,
  node,
  browser,
  checks,
  host,
}, testInfo) => {
  await test.step('a visitor can verify the ledger and sees no controls of the owner', async () => {
    await record(page, 2);
    const visitor = await (await browser.newContext()).newPage();
    checks.watch(visitor);
    await visitor.goto(`${node.url}/ledger`);
    await visitor.getByRole('button', { name: 'Verify', exact: true }).click();
    await expect(visitor.getByText('2 entries verified. No faults found.')).toBeVisible();
    await visitor.goto(`${node.url}/sources`);
    await visitor.getByRole('link', { name: 'http://127.0.0.1:9/0' }).click();
    await expect(visitor.getByText('No events yet')).toBeVisible();
    await expect(visitor.getByRole('button', { name: 'Check now' })).toHaveCount(0);
    await expect(visitor.getByRole('heading', { name: 'Retrievals' })).toHaveCount(0);
    await checks.accessible(visitor);
    await visitor.context().close();
  });
  await test.step('the history of the key is shown, and a checkpoint by a former key is still checked', async () => {
    const dataFolder = testInfo.outputPath('data');
    const first = await host.open({ dataFolder });
    const added = await fetch(new URL('/manage/sources', first.url), {
      method: 'POST',
      headers: { Authorization: `Bearer ${first.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: 'http://127.0.0.1:9/0' }),
    });
    expect(added.status).toBe(201);
    const file = testInfo.outputPath('kept.checkpoint');
    await writeFile(file, await (await fetch(new URL('/api/ledger/checkpoint', first.url))).text());
    const oldKey = (await (await fetch(new URL('/api/ledger/key', first.url))).text()).trim();
    await first.stop();
    expect((await runCommand(['key', '--renew', '--data', dataFolder])).code).toBe(0);
    const node = await host.open({ dataFolder });
    try {
      const visitor = await (await browser.newContext({ baseURL: node.url })).newPage();
      checks.watch(visitor);
      await visitor.goto('/ledger');
      const change = visitor.getByRole('list', { name: 'Key changes' }).getByRole('listitem');
      await expect(change).toContainText('The old key signed the new one.');
      await expect(change).toContainText(oldKey);
      await checks.accessible(visitor);
      await visitor.getByRole('button', { name: 'Check a saved checkpoint' }).click();
      await visitor.locator('input[type=file]').setInputFiles(file);
      await expect(visitor.getByText('The ledger has not been rewritten.')).toBeVisible();
      await expect(visitor.getByText('It was made with a former key of this node')).toBeVisible();
      await visitor.context().close();
    } finally {
      await node.stop();
    }
  });
});

/** Appends this many entries to the ledger, by adding sources that are never checked. */
async function record(page: Page, count: number): Promise<void> {
  const listed = await page.request.get('/api/ledger?limit=1');
  const { total } = (await listed.json()) as { total: number };
  for (let number = total; number < total + count; number += 1) {
    await page.request.post('/manage/sources', { data: { url: `http://127.0.0.1:9/${number}` } });
  }
}

test('the owner has the ledger timestamped, and sees which entries are covered, since when and by whom', async ({
  page,
  node,
  checks,
}, testInfo) => {
  checks.allow(/502 \(Bad Gateway\)|503.*\/api\/status/);
  const authority = await TimestampAuthority.open();
  try {
    await record(page, 3);
    // The owner is asked once, at the first start or here. After “No”, the settings change it.
    const question = page.getByRole('region', { name: 'May this node ask timestamp authorities?' });
    await page.goto('/');
    await expect(question).toContainText('SHA-256 of the ledger’s checkpoint');
    await checks.accessible(page);
    const section = page.getByRole('region', { name: 'Timestamps' });
    await page.goto('/ledger');
    await question.getByRole('textbox', { name: 'Authorities' }).fill('');
    await question.getByRole('button', { name: 'Yes, ask them' }).click();
    await expect(question).toContainText('Name at least one authority');
    await question.getByRole('textbox', { name: 'Authorities' }).fill(`${authority.url}\nnonsense`);
    await question.getByRole('button', { name: 'Yes, ask them' }).click();
    await expect(question.getByRole('textbox', { name: 'Authorities' })).toHaveAttribute(
      'aria-invalid',
      'true',
    );
    await checks.accessible(page);
    await question.getByRole('button', { name: 'No', exact: true }).click();
    await expect(question).toBeHidden();
    await page.reload();
    await expect(section.getByText('No timestamps yet')).toBeVisible();
    await expect(question).toBeHidden();
    expect(authority.queries).toEqual([]);
    await section.getByRole('link', { name: 'settings' }).click();
    await page.getByLabel('Authorities').fill(authority.url);
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('Settings saved.')).toBeVisible();

    await page.goto('/ledger');
    await section.getByRole('button', { name: 'Timestamp now' }).click();
    const row = section.getByRole('row').nth(1);
    await expect(row).toContainText('1 to 3');
    await expect(row).toContainText(authority.url);
    const download = page.waitForEvent('download');
    await row.getByRole('link', { name: 'Reply' }).click();
    const reply = testInfo.outputPath('kept.tsr');
    await (await download).saveAs(reply);
    const text = await page.request.get(
      (await row.getByRole('link', { name: 'Stamped text' }).getAttribute('href')) ?? '',
    );
    await writeFile(testInfo.outputPath('kept.txt'), await text.body());
    expect(
      await authority.openssl(
        'ts',
        '-verify',
        '-data',
        testInfo.outputPath('kept.txt'),
        '-in',
        reply,
        '-CAfile',
        'ca.pem',
      ),
    ).toBe('Verification: OK\n');
    await checks.accessible(page);

    authority.answering = () => ({ status: 500, body: Buffer.from('Oops.') });
    await section.getByRole('button', { name: 'Timestamp now' }).click();
    await expect(section.getByRole('alert')).toContainText('It answered with status 500.');
    await checks.accessible(page);
    const command = await runCommand(['ledger', 'verify', '--data', node.dataFolder]);
    expect(command.code).toBe(0);

    const unanswered = { timestamps_answered: false, timestamp_authorities: [] };
    await page.request.patch('/manage/settings', { data: unanswered });
    await page.goto('/');
    await question.getByRole('textbox', { name: 'Authorities' }).fill(authority.url);
    await question.getByRole('button', { name: 'Yes, ask them' }).click();
    await expect(question).toBeHidden();
    expect(await (await page.request.get('/manage/settings')).json()).toMatchObject({
      timestamps_answered: true,
      timestamp_authorities: [authority.url],
    });
  } finally {
    await authority.close();
  }
});

test('another node cosigns the checkpoint, and a log that rewrites its history raises an alert', async ({
  host,
  page,
  checks,
}) => {
  checks.allow(/503.*\/api\/status/);
  const witness = await host.open();
  try {
    await record(page, 2);
    const [logKey, witnessKey] = [
      await (await page.request.get('/api/ledger/key')).text(),
      await (await fetch(new URL('/witness/key', witness.url))).text(),
    ];
    const headers = { Authorization: `Bearer ${witness.token}`, 'Content-Type': 'application/json' };
    const added = { method: 'POST', headers, body: JSON.stringify({ key: logKey.trim() }) };
    expect((await fetch(new URL('/manage/witness/logs', witness.url), added)).status).toBe(201);
    await page.goto('/settings#proof');
    await page
      .getByRole('textbox', { name: 'Witnesses' })
      .fill(`${new URL('/witness', witness.url).href} ${witnessKey.trim()}`);
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('Settings saved.')).toBeVisible();
    await page.goto('/ledger');
    const section = page.getByRole('region', { name: 'Witnesses' });
    await section.getByRole('button', { name: 'Have it cosigned now' }).click();
    await expect(section.getByText('all entries')).toBeVisible();

    const log = new ScriptedLog();
    await section.getByLabel('Be a witness of another log').fill(log.key);
    await section.getByRole('button', { name: 'Add' }).click();
    await expect(section.getByText('log.example/scripted')).toBeVisible();
    await page.request.post('/witness/add-checkpoint', { data: log.request(history('a', 3), 0) });
    await page.request.post('/witness/add-checkpoint', { data: log.request(history('b', 3), 3) });
    await page.reload();
    await expect(section.getByText('log.example/scripted has two histories of 3 entries.')).toBeVisible();
    await checks.accessible(page);
  } finally {
    await witness.stop();
  }
});
