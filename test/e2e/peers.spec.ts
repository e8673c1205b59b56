import type { Page } from '@playwright/test';
import type { Peer } from '../../shared/node/peer.ts';
import { expect, test } from './support/fixtures.ts';
import { publishPack } from './support/publishPack.ts';
import { signIn } from './support/signIn.ts';

test('the owner adds a peer, compares its key, mirrors it and removes it', async ({
  host,
  page,
  node,
  checks,
}) => {
  const other = await host.open();
  try {
    await publishPack(other, { title: 'Tides' });
    const key = (await (await fetch(`${other.url}/api/ledger/key`)).text()).trim();
    await page.goto('/sharing');
    const peers = page.getByRole('region', { name: 'Peers' });
    await peers.getByRole('button', { name: 'Add a peer' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a peer' });
    await dialog.getByRole('button', { name: 'Add peer' }).click();
    await expect(dialog.getByText('Enter the address or the link of the node.')).toBeVisible();
    await checks.accessible(page);
    await dialog.getByLabel('Address or link').fill(other.url);
    await dialog.getByRole('button', { name: 'Add peer' }).click();
    await expect(dialog).toBeHidden();
    await expect(peers.getByText(key)).toBeVisible();
    await expect(peers.getByText('Its ledger is verified.')).toBeVisible();
    await peers.getByRole('button', { name: /^Mirror all/ }).click();
    await expect(peers.getByText('1 pack, 0 events and 1 object mirrored. 0 already here.')).toBeVisible();
    await peers.getByRole('switch', { name: /^Mirror again every hour/ }).click();
    await expect(peers.getByRole('switch', { name: /^Mirror again every hour/ })).toBeChecked();
    await checks.accessible(page);
    await page.goto('/packs');
    await expect(page.getByRole('link', { name: 'Tides' })).toBeVisible();
    await page.goto('/sharing');
    await peers.getByRole('button', { name: /^Remove/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove peer' }).click();
    await expect(peers.getByRole('heading', { name: 'No peers yet' })).toBeVisible();
  } finally {
    await other.stop();
  }
  expect(node.url).toBeTruthy();
});

test('what a peer withholds and this archive has from elsewhere is decided on its page', async ({
  host,
  page,
  node,
  checks,
}) => {
  const other = await host.open();
  try {
    const pack = { title: 'Tides of two archives' };
    for (const each of [node, other]) await publishPack(each, pack);
    const { items } = (await (await fetch(`${other.url}/api/packs`)).json()) as { items: { id: string }[] };
    const headers = { Authorization: `Bearer ${other.token}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ pack: items[0]?.id, reason: 'copyright', note: 'Asked by letter.' });
    expect((await fetch(`${other.url}/manage/withheld`, { method: 'POST', headers, body })).status).toBe(201);
    await page.goto('/sharing');
    await page.getByRole('button', { name: 'Add a peer' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a peer' });
    await dialog.getByLabel('Address or link').fill(other.url);
    await dialog.getByRole('button', { name: 'Add peer' }).click();
    await expect(dialog).toBeHidden();
    await page.getByRole('button', { name: /^Mirror all/ }).click();
    await page.getByRole('link', { name: /thing that it withholds/ }).click();
    const proposals = page.getByRole('region', { name: 'For you to decide' });
    const proposal = proposals.getByRole('listitem', { name: pack.title });
    await expect(proposal).toContainText('The peer withholds this since');
    await expect(proposal).toContainText('Its note: Asked by letter.');
    await checks.accessible(page);
    await proposal.getByRole('button', { name: /^Withhold here/ }).click();
    await expect(proposals).toBeHidden();
    await page.goto('/withheld');
    await expect(page.getByRole('listitem', { name: new RegExp(pack.title) })).toBeVisible();
  } finally {
    await other.stop();
  }
});

async function keyOf({ url }: { url: string }): Promise<string> {
  return (await (await fetch(`${url}/api/ledger/key`)).text()).trim();
}

/** Answers the requests of the page with the list of peers, as this function returns it. */
async function listPeers(page: Page, items: () => Peer[]): Promise<void> {
  await page.route(/\/manage\/peers(\?|$)/, (route) => {
    const all = items();
    return route.fulfill({ json: { items: all, total: all.length, limit: 100, offset: 0, next: null } });
  });
}

test('a node gives a link, and another one adds it, browses it and takes what matches', async ({
  host,
  page,
  node,
  checks,
  browser,
}) => {
  const other = await host.open();
  try {
    for (const title of ['Tides', 'Winds']) await publishPack(node, { title });
    await page.goto('/sharing');
    const peers = page.getByRole('region', { name: 'Peers' });
    await peers.getByRole('button', { name: 'Link of this node' }).click();
    const own = page.getByRole('dialog', { name: 'Link of this node' });
    await expect(own.getByText('Share this node first.')).toBeVisible();
    await page.keyboard.press('Escape');
    await page.getByRole('radio', { name: /^Read/ }).click();
    await page.getByRole('button', { name: 'Share for reading' }).click();
    await expect(page.getByRole('img', { name: /^QR code of http/ })).toBeVisible();
    await peers.getByRole('button', { name: 'Link of this node' }).click();
    await expect(own.getByRole('img', { name: 'QR code of the link' })).toBeVisible();
    await checks.accessible(page);
    const link = (await own.getByText(/^http.*#key=/).textContent()) ?? '';

    const visitor = await (await browser.newContext()).newPage();
    await visitor.goto(`${node.url}/sharing${new URL(link).hash}`);
    await expect(visitor.getByRole('heading', { name: 'This is a link for another node' })).toBeVisible();

    const second = await (await browser.newContext({ baseURL: other.url })).newPage();
    checks.watch(second);
    await signIn(second, other.signInLink);
    await second.goto('/sharing');
    await second.getByRole('button', { name: 'Add a peer' }).click();
    const dialog = second.getByRole('dialog', { name: 'Add a peer' });
    await dialog.getByLabel('Address or link').fill(link);
    await expect(dialog.getByLabel('Key')).toHaveValue(await keyOf(node));
    await expect(dialog.getByLabel('Address or link')).toHaveValue(new URL(link).origin);
    await dialog.getByRole('switch', { name: 'Ask it to cosign ours' }).click();
    await checks.accessible(second);
    await dialog.getByRole('button', { name: 'Add peer' }).click();
    await expect(second.getByRole('switch', { name: /^Cosign its checkpoints/ })).toBeChecked();
    await expect(second.getByRole('switch', { name: /^Ask it to cosign ours/ })).toBeChecked();

    await second.getByRole('link', { name: /^Browse/ }).click();
    const packs = second.getByRole('region', { name: 'Packs' });
    await expect(packs.getByRole('row')).toHaveCount(3);
    await packs.getByRole('searchbox').fill('tides');
    await expect(packs.getByRole('row')).toHaveCount(2);
    await packs.getByRole('button', { name: 'Mirror what matches' }).click();
    await expect(second.getByText('1 pack, 0 events and 1 object mirrored.')).toBeVisible();
    await checks.accessible(second);
    await packs.getByRole('link', { name: 'Yes: Tides' }).click();
    await expect(second.getByRole('heading', { level: 1, name: 'Tides' })).toBeVisible();
    await expect(second.getByRole('link', { name: /^Entry \d+ of its ledger, with proof$/ })).toBeVisible();
    await second.context().close();
  } finally {
    await other.stop();
  }
});

test('a nearby node is added from the list, and refused if it is another one than it announced', async ({
  host,
  page,
  node,
  checks,
}) => {
  const other = await host.open();
  try {
    const announced = {
      name: 'node-near.local/strongroom',
      url: other.url,
      key: await keyOf(node),
      tls_fingerprint: null,
      peer: null,
    };
    await page.route('**/manage/peers/nearby', (route) =>
      route.fulfill({ json: { items: [announced], total: 1, limit: 100, offset: 0, next: null } }),
    );
    await page.goto('/sharing');
    const nearby = page.getByRole('region', { name: 'Nearby nodes' });
    await nearby.getByRole('button', { name: 'Add: node-near.local/strongroom' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a peer' });
    await expect(dialog.getByLabel('Address or link')).toHaveValue(other.url);
    checks.allow(/status of 409/);
    await dialog.getByRole('button', { name: 'Add peer' }).click();
    await expect(dialog.getByText('The node at this address has a different key.')).toBeVisible();
    await checks.accessible(page);
    await dialog.getByLabel('Key').fill(await keyOf(other));
    await dialog.getByRole('button', { name: 'Add peer' }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByText('Its ledger is verified.')).toBeVisible();
  } finally {
    await other.stop();
  }
});

test('another certificate is shown next to the pinned one, and accepted', async ({ page, checks }) => {
  const pinned = 'a1'.repeat(32);
  const shown = 'b2'.repeat(32);
  let peer: Peer = {
    id: `pe_${'0'.repeat(20)}`,
    url: 'https://127.0.0.1:7718',
    name: 'The lab',
    key: `lab+0a0b0c0d+${'A'.repeat(43)}=`,
    pinned_at: '2026-01-01T00:00:00.000Z',
    state: 'certificate_changed',
    last_contact_at: null,
    last_error: '127.0.0.1:7718 presents a different certificate from the pinned one. Ask its owner.',
    checkpoint: '',
    follow: false,
    mirrored_at: null,
    follows_withheld: { withheld: 0, released: 0 },
    proposals: 0,
    tls_fingerprint: pinned,
    tls_fingerprint_seen: shown,
    cosign: true,
    ask_to_cosign: false,
    observe_per_day: 0,
  };
  await listPeers(page, () => [peer]);
  await page.route(`**/manage/peers/${peer.id}`, (route) => {
    expect(route.request().postDataJSON()).toEqual({ tls_fingerprint: shown });
    peer = { ...peer, state: 'ok', last_error: null, tls_fingerprint: shown, tls_fingerprint_seen: null };
    return route.fulfill({ json: peer });
  });
  await page.goto('/');
  await expect(page.getByRole('alert')).toContainText('The lab presents a different certificate');
  await page.goto('/sharing');
  const alert = page.getByRole('alert');
  await expect(alert).toContainText(pinned);
  await expect(alert).toContainText(shown);
  await expect(page.getByRole('button', { name: 'Mirror all: The lab' })).toBeDisabled();
  await checks.accessible(page);
  await alert.getByRole('button', { name: 'Accept the new certificate' }).click();
  await expect(page.getByText('Its ledger is verified.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Mirror all: The lab' })).toBeEnabled();
});

test('a peer that agreed sees a change at the same moment, and the event says what it got', {
  tag: '@trial',
}, async ({ browser, host, web, checks }) => {
  const [asker, other] = await Promise.all([
    host.open({ isLoopbackPublic: true }),
    host.open({ isLoopbackPublic: true }),
  ]);
  try {
    const send = async ({ url, token }: typeof asker, method: string, path: string, body: unknown) => {
      const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
      expect(answer.ok).toBe(true);
      return (await answer.json()) as { id: string };
    };
    await send(asker, 'PATCH', '/manage/settings', { per_host_pause_ms: 0 });
    await send(asker, 'POST', '/manage/peers', { url: other.url });
    await send(other, 'POST', '/manage/peers', { url: asker.url });
    const pages = [
      '<p>First',
      '<h1>Fees</h1><p>Passport: 60<p>Card: 37',
      '<h1>Fees</h1><p>Passport: 70<p>Card: 37',
    ];
    web.publish('/fees', { body: (before) => pages[before] ?? '' });
    const { id } = await send(asker, 'POST', '/manage/sources', { url: web.url('/fees'), name: 'Fees' });
    await send(asker, 'POST', '/manage/collections?wait=true', {});

    const theirs = await (await browser.newContext({ baseURL: other.url })).newPage();
    checks.watch(theirs);
    await signIn(theirs, other.signInLink);
    await theirs.goto('/sharing');
    const perDay = theirs.getByRole('textbox', { name: /^Addresses to fetch for it per day/ });
    await perDay.fill('20');
    const saved = theirs.waitForResponse((answer) => answer.request().method() === 'PATCH');
    await perDay.press('Enter');
    expect((await saved).ok()).toBe(true);
    await theirs.reload();
    await expect(perDay).toHaveValue('20');
    await checks.accessible(theirs);

    const page = await (await browser.newContext({ baseURL: asker.url })).newPage();
    checks.watch(page);
    await signIn(page, asker.signInLink);
    await page.goto(`/sources/${id}`);
    const observers = page.getByRole('region', { name: 'Also seen by' });
    await observers.getByRole('switch').click();
    await expect(observers.getByRole('switch')).toBeChecked();
    await expect(observers.getByRole('switch')).toBeEnabled();
    await send(asker, 'POST', '/manage/collections?wait=true', {});
    const seen = page.getByRole('region', { name: 'Seen at the same moment' });
    await expect(async () => {
      await page.goto('/timeline/2');
      await expect(seen).toBeVisible({ timeout: 500 });
    }).toPass();
    await expect(seen).toContainText('Of 3 blocks of text here, 1 did not come there. 1 came only there.');
    await seen.getByRole('button', { name: 'Show what came only here' }).click();
    await expect(seen.getByRole('listitem').filter({ hasText: /^Passport: 60$/ })).toBeVisible();
    await checks.accessible(page);
    await page.goto(`/sources/${id}`);
    await expect(observers).toContainText('Its answer is recorded.');
    await checks.accessible(page);
    await Promise.all([page.context().close(), theirs.context().close()]);
  } finally {
    await Promise.all([asker.stop(), other.stop()]);
  }
});
