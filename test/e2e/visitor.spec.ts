import type { Browser, Page } from '@playwright/test';
import { renderSVG } from 'uqr';
import type { Pack } from '../../shared/archive/pack.ts';
import { dropBuffers } from './support/dropFiles.ts';
import { fillRecord } from './support/fillRecord.ts';
import { expect, test } from './support/fixtures.ts';
import type { NodeProcess } from './support/nodeProcess.ts';
import type { PageChecks } from './support/pageChecks.ts';
import { publishPack } from './support/publishPack.ts';

test('an invitation link lets a visitor publish, comment, flag and replicate, and leaves no token behind', async ({
  page,
  node,
  checks,
  browser,
}) => {
  const original = await publishPack(node, { title: 'Dose and effect' });
  await page.goto('/sharing');
  await page.getByRole('radio', { name: /^Contribute/ }).click();
  await page.getByRole('button', { name: 'Share for contributions' }).click();
  await expect(page.getByText('Anyone with an invitation can add packs')).toBeVisible();
  await page.getByLabel('Name').fill('Ada Lovelace');
  await page.getByRole('button', { name: 'Create invitation' }).click();
  const invitation = page.getByRole('region', { name: 'New invitation' });
  const link = (await invitation.getByText('/sharing#invitation-').textContent()) ?? '';
  const token = new URL(link).hash.slice(1);
  expect(token).toMatch(/^invitation-[0-9a-f]{64}$/);
  const code = renderSVG(link, { ecc: 'M', border: 3 });
  await expect(invitation.getByRole('img', { name: 'QR code of the invitation link' })).toHaveAttribute(
    'src',
    `data:image/svg+xml,${encodeURIComponent(code)}`,
  );

  const visitor = await visitorOf(browser, node, checks);
  const requested: string[] = [];
  visitor.on('request', (request) => requested.push(request.url()));
  await visitor.goto('/packs');
  await visitor.goto(`/sharing#${token}`);
  await expect(visitor.getByRole('heading', { name: 'You may contribute' })).toBeVisible();
  await checks.accessible(visitor);
  expect(visitor.url()).toBe(`${node.url}/sharing`);
  expect(requested.filter((address) => new URL(address).href.includes(token))).toEqual([]);
  const kept = await visitor.evaluate(() =>
    JSON.stringify([
      document.cookie,
      history.state,
      Object.entries(localStorage),
      Object.entries(sessionStorage),
    ]),
  );
  expect(kept).not.toContain(token);

  await visitor.getByRole('link', { name: 'Publish a pack' }).click();
  await dropBuffers(visitor, [['measured.csv', Buffer.from('dose,effect\n1,0.2\n')]]);
  await visitor.getByLabel('Title', { exact: true }).fill('Measured by a visitor');
  await fillRecord(visitor);
  await visitor.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(visitor.getByRole('heading', { level: 1, name: 'Measured by a visitor' })).toBeVisible();

  await visitor.goto(`/packs/${original.id}`);
  await visitor.getByLabel('Your name').fill('Ada Lovelace');
  await visitor.getByRole('textbox', { name: 'Comment' }).fill('Which dose?');
  await visitor.getByRole('button', { name: 'Comment', exact: true }).click();
  await expect(visitor.getByText('Which dose?')).toBeVisible();
  await visitor.getByRole('button', { name: /^Flag/ }).click();
  const dialog = visitor.getByRole('dialog', { name: 'Flag pack' });
  await dialog.getByRole('radio', { name: 'Duplicate of another pack' }).check();
  await dialog.getByRole('button', { name: 'Flag pack' }).click();
  await expect(dialog).toBeHidden();

  await visitor.goto(`/assemble?replicates=${original.id}`);
  await expect(visitor.getByLabel('Title', { exact: true })).toHaveValue('Replication of: Dose and effect');
  await visitor.getByRole('radio', { name: /^reproduced/i }).click();
  await fillRecord(visitor);
  await visitor.getByRole('button', { name: 'Publish', exact: true }).click();
  await expect(visitor.getByRole('heading', { level: 1, name: 'Replication of: Dose' })).toBeVisible();
  const read = await page.request.get(`/api/packs/${original.id}`);
  const { flags, replications } = (await read.json()) as Pack;
  expect([flags.length, replications.length]).toEqual([1, 1]);
  await visitor.context().close();
});

test('a visitor without an invitation is asked for one, and a reached limit is shown in words', async ({
  node,
  checks,
  browser,
}) => {
  await test.step('a visitor without an invitation is asked for one where a pack is made, and a wrong one is explained', async () => {
    await asOwner(node, 'PUT', '/manage/sharing', { mode: 'contribute', require_invitation: true });
    const { token } = await asOwner<{ token: string }>(node, 'POST', '/manage/invitations', {});
    const visitor = await visitorOf(browser, node, checks);
    checks.allow(/401 \(Unauthorized\)/);
    await visitor.goto('/assemble');
    await expect(visitor.getByText('once you have entered an invitation')).toBeVisible();
    await checks.accessible(visitor);
    await visitor
      .getByLabel('Invitation token')
      .fill(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`);
    await visitor.getByRole('button', { name: 'Submit' }).click();
    await expect(visitor.getByRole('alert')).toContainText('This invitation is not valid');
    // A whole link may be pasted too.
    await visitor.getByLabel('Invitation token').fill(`${node.url}/sharing#${token}`);
    await visitor.getByRole('button', { name: 'Submit' }).click();
    await expect(visitor.getByRole('heading', { name: 'New pack' })).toBeVisible();
    await expect(visitor.getByLabel('Title', { exact: true })).toBeVisible();

    const other = await visitorOf(browser, node, checks);
    await other.goto('/sharing#invitation-cut0ff');
    await expect(other.getByRole('alert')).toContainText('This invitation is not valid');
    await expect(other.getByLabel('Invitation token')).toBeVisible();
    expect(other.url()).toBe(`${node.url}/sharing`);

    await asOwner(node, 'PUT', '/manage/sharing', { mode: 'contribute', require_invitation: false });
    const anyone = await visitorOf(browser, node, checks);
    await anyone.goto('/assemble');
    await expect(anyone.getByLabel('Title', { exact: true })).toBeVisible();
    await asOwner(node, 'PUT', '/manage/sharing', { mode: 'read', require_invitation: false });
    await anyone.reload();
    await expect(anyone.getByText('The owner shares this archive for reading')).toBeVisible();
  });
  await test.step('a reached limit and its time are shown in words, in the zone of the visitor', async () => {
    const pack = await publishPack(node, { title: 'Dose and effect' });
    await asOwner(node, 'PUT', '/manage/sharing', { mode: 'contribute', require_invitation: false });
    await asOwner(node, 'PATCH', '/manage/settings', { ip_writes_per_hour: 1 });
    checks.allow(/429 \(Too Many Requests\)/);
    const visitor = await visitorOf(browser, node, checks, 'Asia/Kolkata');
    await visitor.goto(`/packs/${pack.id}`);
    await visitor.getByLabel('Your name').fill('Ada Lovelace');
    for (const text of ['first', 'second']) {
      await visitor.getByRole('textbox', { name: 'Comment' }).fill(text);
      await visitor.getByRole('button', { name: 'Comment', exact: true }).click();
      if (text === 'first') await expect(visitor.getByRole('listitem').getByText('first')).toBeVisible();
    }
    // The hour ends at a full hour in UTC, which is half past in India.
    await expect(visitor.getByRole('alert')).toContainText(
      /^Your limit of 1 contribution per hour is reached\. Try again at (\d+ \w+, )?\d\d:30 GMT\+5:30 \(in \d+ \w+\)\./,
    );
    await expect(visitor.getByRole('textbox', { name: 'Comment' })).toHaveValue('second');
    await checks.accessible(visitor);
  });
});

/** A page in a browser that is not signed in. */
async function visitorOf(
  browser: Browser,
  node: NodeProcess,
  checks: PageChecks,
  timezoneId?: string,
): Promise<Page> {
  const context = await browser.newContext({ baseURL: node.url, timezoneId });
  const visitor = await context.newPage();
  checks.watch(visitor);
  return visitor;
}

async function asOwner<Answer>(
  node: NodeProcess,
  method: string,
  path: string,
  body: unknown,
): Promise<Answer> {
  const response = await fetch(new URL(path, node.url), {
    method,
    headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.ok).toBe(true);
  return (await response.json()) as Answer;
}
