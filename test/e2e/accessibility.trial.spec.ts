import { join } from 'node:path';
import { matchPath } from 'react-router';
import { PAGE_PATHS } from '../../shared/node/pages.ts';
import { type OwnerApi, openOwnerApi } from '../demo/ownerApi.ts';
import { accessibilityViolations } from './support/accessibility.ts';
import { type DemoPage, demoPages, fillWithDemo, openDemoPage } from './support/demoPages.ts';
import { expect, test } from './support/fixtures.ts';

const NO_PAGE = 'pg_00000000000000000000';

/** The pages that no picture shows, and dialogs of each kind. */
async function furtherPages(api: OwnerApi): Promise<DemoPage[]> {
  const { items: packs } = await api.call('listPacks', { query: { limit: '2' } });
  const { nodes } = await api.call('readTree');
  const released = packs[1]?.files[0]?.sha256 ?? '';
  await api.call('release', { body: { sha256: released, reason: 'personal_data' } });
  const filed = await api.call('createCase', { body: { title: 'Weather', description: 'What changed.' } });
  const dialog = (name: string, path: string, button: string): DemoPage => ({
    name,
    path,
    prepare: async (page) => {
      await page.getByRole('button', { name: button }).first().click();
      await page.getByRole('dialog').waitFor();
    },
  });
  return [
    { name: 'compare', path: `/packs/${packs[0]?.id}/compare/${packs[1]?.id}` },
    { name: 'node', path: `/nodes/${nodes[0]?.path}` },
    { name: 'search', path: '/search?q=penguins' },
    { name: 'findings', path: '/findings' },
    { name: 'cases', path: '/cases' },
    { name: 'case', path: `/cases/${filed.id}` },
    { name: 'hand in a page', path: '/hand-in' },
    { name: 'hand in a file', path: '/handed-in' },
    { name: 'unknown file', path: '/handed-in/hi_00000000000000000000' },
    { name: 'alerts', path: '/alerts' },
    { name: 'deliveries', path: '/alerts/deliveries' },
    { name: 'released', path: '/withheld?tab=released' },
    { name: 'sharing', path: '/sharing' },
    { name: 'before sharing', path: '/sharing?share=read' },
    { name: 'unknown peer', path: '/sharing/peers/pe_00000000000000000000' },
    // `pages/capture.spec.ts` checks these pages with captures.
    { name: 'unknown page capture', path: `/pages/${NO_PAGE}` },
    { name: 'unknown comparison', path: `/pages/${NO_PAGE}/compare/${NO_PAGE}` },
    { name: 'unknown drawing', path: `/draws/${NO_PAGE}` },
    { name: 'settings', path: '/settings' },
    { name: 'help', path: '/help' },
    { name: 'no page', path: '/nowhere' },
    dialog('a new source', '/sources', 'Watch a source'),
    dialog('a new study', '/studies', 'New study'),
    dialog('a new case', '/cases', 'New case'),
    dialog('a new alert', '/alerts', 'New alert'),
    dialog('a new copy', '/settings#copies', 'Add a copy'),
    dialog('a new peer', '/sharing', 'Add a peer'),
    dialog('a release', '/withheld', 'Release for good'),
    dialog('a flag', `/packs/${packs[0]?.id}`, 'Flag'),
    {
      name: 'the palette',
      path: '/',
      prepare: async (page) => {
        await page.keyboard.press('ControlOrMeta+k');
        await page.getByRole('dialog').waitFor();
      },
    },
  ];
}

test('every page and each kind of dialog is accessible in both colour schemes', async ({
  page,
  node,
  web,
  checks,
}) => {
  // Some fifty pages, each checked twice.
  test.slow();
  checks.allow(/status of 404/);
  const api = await openOwnerApi({ url: node.url, tokenFile: join(node.dataFolder, 'owner-token') });
  await fillWithDemo(api, web);
  const shown = [...(await demoPages(api)), ...(await furtherPages(api))];
  for (const each of shown) {
    await test.step(each.name, async () => {
      await openDemoPage(page, node.url, each);
      await checks.accessible(page, 'light');
      await checks.accessible(page, 'dark');
    });
  }
  const missed = PAGE_PATHS.filter(
    (pattern) =>
      !shown.some(({ path }) => matchPath(pattern.replace('*path', '*'), path.split('?')[0] ?? '')),
  );
  expect(missed, 'pages without a check').toEqual([]);
});

test('the API documentation is accessible in both themes, on a large screen and on a phone', async ({
  page,
}) => {
  await page.goto('/api/docs');
  // One part of each kind is checked, because the page is long.
  const parts = ['nav', 'header', '#addPack', '#readBlob', '#schema-Pack', '#problem-not_found'];
  expect(await accessibilityViolations(page, 'light', parts)).toBe('');
  await page.getByRole('navigation').getByTitle('Upload a pack').click();
  await expect(page.getByRole('heading', { name: 'Upload a pack' })).toBeInViewport();
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  await page.getByRole('link', { name: 'Contents' }).click();
  await expect(page.getByRole('navigation')).toBeInViewport();
  const loaded = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  expect(loaded).toEqual([]);
  // Only contrast differs in the dark. It is looked for among all that is on the page, so the rest is removed.
  await page.evaluate((kept) => {
    for (const each of document.querySelectorAll('main > *, main section > *'))
      if (!kept.some((part) => each.matches(`${part}, ${part} *, :has(${part})`))) each.remove();
  }, parts);
  expect(await accessibilityViolations(page, 'dark', parts)).toBe('');
});
