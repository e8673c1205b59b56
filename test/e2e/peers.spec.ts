import { expect, test } from './support/fixtures.ts';
import { startNode } from './support/nodeProcess.ts';
import { publishPack } from './support/publishPack.ts';

test('the owner adds a peer, compares its key, mirrors it and removes it', async ({ page, node, checks }) => {
  const other = await startNode();
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
    await expect(
      peers.getByText('1 pack, 0 events and 1 object were taken. 0 were held already.'),
    ).toBeVisible();
    await peers.getByRole('switch', { name: /^Mirror again every hour/ }).click();
    await expect(peers.getByRole('switch', { name: /^Mirror again every hour/ })).toBeChecked();
    await checks.accessible(page);
    await page.goto('/packs');
    await expect(page.getByRole('link', { name: 'Tides' })).toBeVisible();
    await page.goto('/sharing');
    await peers.getByRole('button', { name: /^Remove/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove peer' }).click();
    await expect(peers.getByRole('heading', { name: 'Take what other nodes hold.' })).toBeVisible();
  } finally {
    await other.stop();
  }
  expect(node.url).toBeTruthy();
});
