import type { Page } from '@playwright/test';
import { expect, test } from '../support/fixtures.ts';

const COOKIE = 'cookie-of-e2e-5Rt8';

function cookieFile(value: string): string {
  return [
    '# Netscape HTTP Cookie File',
    `127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tsid\t${value}`,
    '.tracker.example\tTRUE\t/\tTRUE\t0\tid\tother',
  ].join('\n');
}

/** Drops a file on the field of the open dialog. */
async function drop(page: Page, content: string): Promise<void> {
  await page.getByRole('region', { name: 'Cookies' }).evaluate((target, text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'cookies.txt', { type: 'text/plain' }));
    target.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, content);
}

test('a source is watched with a login, which expires, and is replaced and removed', async ({
  page,
  web,
  checks,
}) => {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  web.publish('/mine', '<title>Mine</title><p>For members.</p>');
  await page.goto('/sources');
  await page.getByRole('button', { name: 'Watch a source' }).first().click();
  const form = page.getByRole('dialog', { name: 'Watch a source' });
  await form.getByLabel('URL').fill(web.url('/mine'));
  await form.getByRole('combobox', { name: 'Log in with' }).click();
  await page.getByRole('option', { name: 'New profile…' }).click();
  const dialog = page.getByRole('dialog', { name: 'New profile' });
  await expect(dialog.getByLabel('Site')).toHaveValue(new URL(web.url('/')).host);
  await dialog.getByRole('button', { name: 'Keep profile' }).click();
  await expect(dialog.getByText('Drop a file, or paste its content.')).toBeVisible();
  await checks.accessible(page);
  await dialog.getByLabel('Paste the content of the file').fill('sid=1');
  checks.allow(/422/);
  await dialog.getByRole('button', { name: 'Keep profile' }).click();
  await expect(dialog.getByText('Line 1 is not a cookie')).toBeVisible();
  await drop(page, cookieFile(COOKIE));
  await expect(dialog.getByText('cookies.txt', { exact: true })).toBeVisible();
  await dialog.getByLabel('Name').fill('My account');
  await dialog.getByRole('button', { name: 'Keep profile' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByText('1 cookie or item was left out')).toBeVisible();
  await expect(form.getByRole('combobox', { name: 'Log in with' })).toHaveValue(/My account/);
  await form.getByRole('button', { name: 'Test fetch' }).click();
  await expect(form.getByText('This would be stored as the first version.')).toBeVisible();
  // The title is what only the login shows, and names are public.
  await expect(form.getByLabel('Name', { exact: true })).toHaveValue('');
  await form.getByRole('button', { name: 'Watch', exact: true }).click();
  await expect(page.getByText('My account, works')).toBeVisible();

  web.publish('/mine', { status: 302, headers: { Location: '/login' } });
  web.publish('/login', '<input type="password">');
  await page.getByRole('button', { name: 'Check now' }).click();
  await expect(
    page.getByRole('strong').filter({ hasText: 'The site no longer accepts the login' }),
  ).toBeVisible();
  await expect(page.getByText('The site showed a login page instead.')).toBeVisible();
  await checks.accessible(page);
  await page.getByRole('button', { name: 'Log in again' }).click();
  const again = page.getByRole('dialog', { name: 'Log in again: My account' });
  await drop(page, cookieFile('another-7Yz'));
  await again.getByRole('button', { name: 'Replace' }).click();
  await expect(page.getByText('My account, not tried yet')).toBeVisible();

  await page.getByRole('link', { name: 'My account' }).click();
  const section = page.getByRole('region', { name: 'Profiles' });
  await expect(section.getByText('Not tried yet')).toBeVisible();
  await expect(section.getByText('1 cookie')).toBeVisible();
  await expect(section.getByText('1 source')).toBeVisible();
  await section.getByRole('button', { name: 'Remove: My account' }).click();
  const removal = page.getByRole('dialog', { name: 'Remove this profile?' });
  await expect(removal.getByText('1 source will not be fetched until')).toBeVisible();
  await removal.getByRole('button', { name: 'Remove' }).click();
  await expect(section.getByText('Watch pages that need a login')).toBeVisible();
  await checks.accessible(page);

  await page.goBack();
  await expect(page.getByText('The login of this source is gone')).toBeVisible();
  await page.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit source' });
  await expect(edit.getByRole('combobox', { name: 'Log in with' })).toHaveValue(
    'Its profile is gone: it is not fetched',
  );
  // Another change leaves it so.
  await edit.getByLabel('Agency').fill('Bank');
  await edit.getByRole('button', { name: 'Save' }).click();
  await expect(edit).toBeHidden();
  await expect(page.getByText('The login of this source is gone')).toBeVisible();
  await page.getByRole('button', { name: 'Edit' }).click();
  await edit.getByRole('combobox', { name: 'Log in with' }).click();
  await page.getByRole('option', { name: 'No login' }).click();
  await edit.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('The login of this source is gone')).toBeHidden();
  expect(await page.content()).not.toContain(COOKIE);
});
