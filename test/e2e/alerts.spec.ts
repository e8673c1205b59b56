import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from '@playwright/test';
import { expect, test } from './support/fixtures.ts';

async function send(page: Page, path: string, data: object): Promise<unknown> {
  const answer = await page.request.post(path, { data });
  expect(answer.ok(), await answer.text()).toBe(true);
  return answer.json();
}

test('the owner adds an alert and sets the mail server', async ({ page, web, checks }) => {
  await test.step('the owner adds an alert from the page of a source, tests it, and sees what was sent', async () => {
    const calls: string[] = [];
    let status = 204;
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        calls.push(body);
        response.writeHead(status).end();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const hook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    try {
      await page.goto('/alerts');
      await expect(page.getByRole('heading', { name: 'No alerts yet' })).toBeVisible();
      await expect(page.getByText('No mail server yet. E-mail alerts need an SMTP server.')).toBeVisible();

      web.publish('/fees', '<p>The fee is 120 euros.</p>');
      const { id } = (await send(page, '/manage/sources', { url: web.url('/fees'), name: 'Fees' })) as {
        id: string;
      };
      await send(page, '/manage/collections?wait=true', {});
      await page.goto(`/sources/${id}`);
      await page.getByRole('link', { name: 'Alert me' }).click();
      const dialog = page.getByRole('dialog', { name: 'New alert' });
      await expect(dialog.getByLabel('Name')).toHaveValue('Changes to Fees');
      await expect(dialog.getByText('Immediately, nobody yet, when Fees changes,')).toBeVisible();
      await expect(
        dialog.getByText('Shown by the desktop app. A notification waits up to one day for the app to open.'),
      ).toBeVisible();
      await dialog.getByRole('button', { name: 'Add alert' }).click();
      await expect(dialog.getByText('Say where the alert goes.')).toBeVisible();
      await dialog.getByRole('button', { name: 'Conditions on the watched part' }).click();
      await dialog.getByLabel('First number is above').fill('140');
      await dialog.getByLabel('Pattern that newly matches').fill('(');
      await expect(
        dialog.getByText('if in what is watched the first number is above 140 and the pattern “(”'),
      ).toBeVisible();
      await dialog.getByLabel('Webhooks').fill(hook);
      await dialog.getByLabel('Webhooks').press('Enter');
      checks.allow(/422/);
      await dialog.getByRole('button', { name: 'Add alert' }).click();
      await expect(dialog.getByText('This is not a regular expression of RE2’s syntax')).toBeVisible();
      await dialog.getByLabel('Pattern that newly matches').fill('');
      await checks.accessible(page);
      await dialog.getByRole('button', { name: 'Add alert' }).click();
      await expect(
        dialog.getByText('This address is private. Allow that (allow_private) if it is intended.'),
      ).toBeVisible();
      await dialog.getByLabel('Allow webhooks on this machine and on private networks').check();
      await dialog.getByRole('button', { name: 'Add alert' }).click();
      const secret = page.getByRole('dialog', { name: 'Webhook secret' });
      await expect(secret.getByText(/^whsec_/)).toBeVisible();
      await checks.accessible(page);
      await secret.getByRole('button', { name: 'Done' }).click();

      await page.getByRole('button', { name: 'Send a test: Changes to Fees' }).click();
      await expect(page.getByText(`Sent: a webhook request to ${hook}.`)).toBeVisible();
      expect(calls).toHaveLength(1);
      status = 410;
      web.publish('/fees', '<p>The fee is 145 euros.</p>');
      await send(page, '/manage/collections?wait=true', {});
      const deliveries = page.getByRole('region', { name: 'Deliveries' });
      const row = deliveries.getByRole('row', { name: /Fees has changed/ });
      await expect(row).toContainText('failed');
      expect(calls[1]).toContain('120 → 145 euros');
      await checks.accessible(page);
      status = 204;
      await row.getByRole('button', { name: 'Send again: Fees has changed' }).click();
      await expect(row).toContainText('sent');
      await deliveries.getByRole('link', { name: 'All deliveries' }).click();
      await expect(page).toHaveURL(/\/alerts\/deliveries$/);
      await expect(page.getByRole('row', { name: /Fees has changed/ })).toBeVisible();
      await page.getByText('Failed', { exact: true }).click();
      await expect(page.getByText('No delivery matches the filters.')).toBeVisible();
      await page.goto('/alerts/deliveries?state=sent');
      await page.getByRole('combobox', { name: 'Rule' }).click();
      await page.getByRole('option', { name: 'Changes to Fees' }).click();
      await expect(page).toHaveURL(/state=sent&alert=al_/);
      await expect(page.getByRole('row', { name: /Fees has changed/ })).toBeVisible();

      await page.goto('/alerts');
      await page.getByRole('button', { name: 'Pause: Changes to Fees' }).click();
      await expect(page.getByText('paused', { exact: true })).toBeVisible();
      await page.getByRole('button', { name: 'Edit: Changes to Fees' }).click();
      const edit = page.getByRole('dialog', { name: 'Edit alert' });
      await edit.getByText('Daily digest').click();
      await edit.getByLabel('Only with a quality').first().click();
      await page.getByRole('option', { name: 'No warning' }).click();
      await page.getByRole('option', { name: 'Rate limits' }).click();
      await page.keyboard.press('Tab');
      await expect(
        edit.getByText('with a page that has no warning or looks like a rate limit'),
      ).toBeVisible();
      await checks.accessible(page);
      await edit.getByRole('button', { name: 'Save' }).click();
      await expect(page.getByText(/^Every morning, a webhook request to/)).toBeVisible();
      await page.getByRole('button', { name: 'Remove: Changes to Fees' }).click();
      await page.getByRole('button', { name: 'Remove alert' }).click();
      await expect(page.getByRole('heading', { name: 'No alerts yet' })).toBeVisible();
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
  await test.step('the owner sets the mail server, whose password is not shown again', async () => {
    await page.goto('/alerts');
    await page.getByRole('button', { name: 'Set up mail server' }).click();
    const dialog = page.getByRole('dialog', { name: 'Mail server' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog.getByText('Enter the name or the IP address of the mail server.')).toBeVisible();
    await dialog.getByLabel('Server').fill('mail.example.org');
    await dialog.getByLabel('User name').fill('keeper');
    await dialog.getByLabel('Password', { exact: true }).fill('never shown');
    await dialog.getByLabel('From').fill('Archive <archive@example.org>');
    await checks.accessible(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(
      page.getByText('mail.example.org:587, STARTTLS, as keeper, from Archive <archive@example.org>.'),
    ).toBeVisible();
    await page.getByRole('button', { name: 'Change mail server' }).click();
    await expect(dialog.getByLabel('Password', { exact: true })).toHaveValue('');
    await expect(dialog.getByText('Leave empty to keep the saved password.')).toBeVisible();
  });
});
