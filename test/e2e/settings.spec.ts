import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from './support/fixtures.ts';
import { holdRequests } from './support/holdRequests.ts';
import { publishPack } from './support/publishPack.ts';
import { startOver } from './support/startOver.ts';

test('a private address is allowed or refused; a link that opens a row shows it on a phone too', async ({
  page,
  web,
  checks,
  node,
}) => {
  await test.step('adding a private address says so, and the owner can allow or refuse it', async () => {
    web.publish('/page', '<title>Inside</title><p>inside</p>');
    await page.goto('/sources?add');
    const dialog = page.getByRole('dialog', { name: 'Watch a source' });
    await dialog.getByLabel('URL').fill('https://example.org/');
    await expect(dialog.getByText('is on your own network')).toBeHidden();
    await dialog.getByLabel('URL').fill(web.url('/page'));
    await expect(dialog.getByText('127.0.0.1 is on your own network.')).toBeVisible();
    await checks.accessible(page);
    const consent = dialog.getByRole('checkbox', { name: 'Allow a private address' });
    await consent.uncheck();
    await expect(dialog.getByRole('button', { name: 'Watch', exact: true })).toBeDisabled();
    await consent.check();
    await dialog.getByRole('button', { name: 'Watch', exact: true }).click();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();

    const edit = page.getByRole('dialog', { name: 'Edit source' });
    await edit.getByRole('button', { name: 'Fetch settings' }).click();
    await edit.getByRole('checkbox', { name: 'Allow private addresses' }).uncheck();
    await page.keyboard.press('Escape');
    const question = page.getByRole('dialog', { name: 'Discard changes?' });
    await expect(question).toBeVisible();
    await checks.accessible(page);
    await question.getByRole('button', { name: 'Keep editing' }).click();

    // Also if Escape follows the edit before the browser has rendered it.
    await edit.getByRole('checkbox', { name: 'Allow private addresses' }).check();
    await edit.getByRole('checkbox', { name: 'Allow private addresses' }).evaluate(async (box) => {
      (box as HTMLElement).click();
      await Promise.resolve();
      box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    });
    await expect(question).toBeVisible();
    await question.getByRole('button', { name: 'Keep editing' }).click();
    await edit.getByRole('button', { name: 'Save' }).click();
    await expect(edit).toBeHidden();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const source = await page.request.get(`/manage/sources/${id}`);
    expect(await source.json()).toMatchObject({ allow_private: false });
  });
  await test.step('a link that opens a row shows it on a phone too, with a way back', async () => {
    const pack = await publishPack(node, { title: 'Gulls at noon' });
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`/packs?open=${pack.id}`);
    const sheet = page.getByRole('dialog', { name: 'Open pack' });
    await expect(sheet.getByRole('heading', { name: 'Gulls at noon' })).toBeVisible();
    expect((await sheet.boundingBox())?.width).toBe(390);
    await checks.accessible(page);
    await sheet.getByRole('button', { name: 'Back' }).click();
    await expect(sheet).toBeHidden();
    await expect(page).toHaveURL(/\/packs$/);
    await expect(page.getByRole('link', { name: 'Gulls at noon' })).toBeVisible();
  });
});

test('settings are pages with a search; what was not saved is not lost, and only what was changed here is sent', async ({
  page,
  checks,
  node,
}) => {
  await test.step('settings are pages with a search, and a wrong field on another page is shown', async () => {
    await page.goto('/settings');
    const tab = (name: string) => page.getByRole('tab', { name, exact: true });
    await expect(tab('Storage')).toHaveAttribute('aria-selected', 'true');
    await page.getByLabel('Maximum archive size').fill('-1');
    await tab('Collection').click();
    await expect(page).toHaveURL(/#collection$/);
    await page.getByLabel(/^Check every/).fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    // What is typed on one page stays while others are open.
    await expect(tab('Storage')).toHaveAttribute('aria-selected', 'true');
    await expect(page.getByLabel('Maximum archive size')).toBeFocused();
    await page.getByLabel('Maximum archive size').fill('9');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('Settings saved.')).toBeVisible();
    const settings = await page.request.get('/manage/settings');
    expect(await settings.json()).toMatchObject({ data_cap_gb: 9, collection_every_minutes: 7 });

    await page.getByRole('searchbox', { name: 'Find a setting' }).fill('host pause');
    await expect(page.getByLabel('Pause per host')).toBeVisible();
    await expect(page.getByLabel('Maximum archive size')).toBeHidden();
    await checks.accessible(page);
    await page.getByRole('searchbox', { name: 'Find a setting' }).fill('passphrase');
    await expect(page.getByRole('region', { name: 'Copies' })).toBeVisible();
    await page.getByRole('searchbox', { name: 'Find a setting' }).fill('gramophone');
    await expect(page.getByText('No setting matches')).toBeVisible();
    await tab('Proof').click();
    await expect(page.getByLabel('Authorities')).toBeVisible();

    await page.keyboard.press('Control+k');
    await page.keyboard.type('settings: net');
    await page.getByText('Settings: Network').click();
    await expect(page.getByLabel('Proxy IP address')).toBeVisible();
  });
  await startOver(page);
  await test.step('unsaved settings are not lost: leaving asks, and saves, discards or stays', async () => {
    await page.goto('/settings');
    const cap = page.getByLabel('Maximum archive size');
    await cap.fill('12');
    await page.getByRole('link', { name: 'Packs', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Unsaved changes' });
    await expect(question).toBeVisible();
    await checks.accessible(page);
    await question.getByRole('button', { name: 'Keep editing' }).click();
    await expect(page).toHaveURL(/\/settings$/);
    await expect(cap).toHaveValue('12');

    await page.getByRole('link', { name: 'Packs', exact: true }).click();
    await question.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Packs' })).toBeVisible();
    await page.getByRole('link', { name: 'Settings' }).click();
    await expect(cap).toHaveValue('12');

    await cap.fill('-1');
    await page.getByRole('link', { name: 'Packs', exact: true }).click();
    await question.getByRole('button', { name: 'Save' }).click();
    await expect(question).toBeHidden();
    await expect(page).toHaveURL(/\/settings$/);
    await expect(cap).toHaveAttribute('aria-invalid', 'true');
    await page.getByRole('link', { name: 'Packs', exact: true }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Packs' })).toBeVisible();
    await page.goBack();
    await expect(cap).toHaveValue('12');

    await cap.fill('13');
    const asked = page.waitForEvent('dialog');
    const reloaded = page.reload();
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.accept();
    await reloaded;
    await expect(cap).toHaveValue('12');
  });
  await startOver(page);
  await test.step('what is typed while settings are saved stays, and only what was changed here is sent', async () => {
    await page.goto('/settings');
    const cap = page.getByLabel('Maximum archive size');
    await cap.fill('7');
    await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 4321 } });
    const answer = await holdRequests(page, 'PATCH', '**/manage/settings');
    const asked = page.waitForRequest((request) => request.method() === 'PATCH');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    expect((await asked).postDataJSON()).toEqual({ data_cap_gb: 7 });
    await cap.fill('8');
    answer();
    await expect(page.getByText('Settings saved.')).toBeVisible();
    await expect(cap).toHaveValue('8');
    await expect(page.getByText('Unsaved changes')).toBeVisible();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(page.getByText('Unsaved changes')).toBeHidden();
    const settings = await page.request.get('/manage/settings');
    expect(await settings.json()).toMatchObject({ data_cap_gb: 8, per_host_pause_ms: 4321 });
  });
  await startOver(page);
  await test.step('the units stay below the save bar, and an error stands under its number', async () => {
    await page.goto('/settings#collection');
    const pause = page.getByLabel('Pause per host');
    await pause.fill('-1');
    await pause.blur();
    const message = page.getByText('At least 0.', { exact: true });
    await expect(message).toBeVisible();
    const [value, error] = [await pause.boundingBox(), await message.boundingBox()];
    expect(error?.y).toBeGreaterThanOrEqual((value?.y ?? 0) + (value?.height ?? 0) - 1);
    expect(error?.x).toBeGreaterThanOrEqual((value?.x ?? 0) - 1);

    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 700 });
      const covered = await page.evaluate(async () => {
        const bar = document.querySelector<HTMLElement>('form [class*="save"]');
        if (!bar) throw new Error('There is no save bar.');
        let overlaps = 0;
        const above: string[] = [];
        for (let top = 0; top < document.body.scrollHeight; top += 17) {
          window.scrollTo(0, top);
          const frame = bar.getBoundingClientRect();
          for (const unit of document.querySelectorAll('form [data-position="right"] span')) {
            const { left, top: y, width: wide, height } = unit.getBoundingClientRect();
            const [x, middle] = [left + wide / 2, y + height / 2];
            const isUnder = x > frame.left && x < frame.right && middle > frame.top && middle < frame.bottom;
            if (!isUnder) continue;
            overlaps += 1;
            // Units let clicks through, so what is painted on top is asked with all of them clickable.
            for (const element of document.querySelectorAll<HTMLElement>('form [data-position="right"]'))
              element.style.pointerEvents = 'auto';
            if (!bar.contains(document.elementFromPoint(x, middle))) above.push(unit.textContent ?? '');
          }
        }
        return { overlaps, above };
      });
      expect(covered.overlaps).toBeGreaterThan(0);
      expect(covered.above).toEqual([]);
    }
    await page.getByRole('button', { name: 'Undo' }).click();
  });
  await startOver(page);
  await test.step('the data folder is shown with the command that moves it, and the old folder of a move is removed when told to', async () => {
    const old = await mkdtemp(join(tmpdir(), 'strongroom-old-'));
    const move = { id: '0'.repeat(32), at: '2026-11-01T10:00:00.000Z' };
    const write = (folder: string, name: string, other: string) =>
      writeFile(join(folder, name), JSON.stringify({ ...move, folder: other }));
    await write(old, 'moved.json', node.dataFolder);
    await write(node.dataFolder, 'moved-from.json', old);
    await page.goto('/settings#data-folder');
    const section = page.getByRole('region', { name: 'Data folder' });
    await expect(section).toContainText(`strongroom move ${node.dataFolder} NEW_FOLDER`);
    await expect(section).toContainText(`The old folder ${old} is kept until you remove it.`);
    await checks.accessible(page);
    await section.getByRole('button', { name: 'Remove the old folder' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await expect(section).not.toContainText(old);
    expect(existsSync(old)).toBe(false);

    await write(node.dataFolder, 'moved-from.json', old);
    await page.reload();
    await section.getByRole('button', { name: 'Forget the old folder' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget', exact: true }).click();
    await expect(section).not.toContainText(old);
  });
});
