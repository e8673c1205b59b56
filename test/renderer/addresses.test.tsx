import { matchRoutes } from 'react-router';
import { afterEach, expect, test, vi } from 'vitest';
import type { DesktopWindows } from '../../electron/windows.ts';
import { NAV_GROUPS } from '../../renderer/src/components/layout/Navigation.tsx';
import { directMatches } from '../../renderer/src/components/layout/Palette.tsx';
import { pageRoutes } from '../../renderer/src/pages/routes.tsx';
import { PAGE_PATHS, SETTING_PAGES } from '../../shared/node/pages.ts';
import { asked, forget, type MenuEntry } from '../support/electronDouble.ts';

vi.mock('electron', () => import('../support/electronDouble.ts'));

afterEach(() => {
  forget();
  vi.restoreAllMocks();
});

/** Returns whether the interface has a page at this path, other than “not found”. */
function isPage(address: string): boolean {
  const { pathname } = new URL(address, 'http://node');
  return matchRoutes(pageRoutes, pathname)?.at(-1)?.route.path !== '*';
}

/** Clicks every item and returns the paths that the window opened. */
async function addressesBehind(setUp: (windows: DesktopWindows) => void): Promise<string[]> {
  const addresses: string[] = [];
  const windows: Pick<DesktopWindows, 'show' | 'goTo' | 'find' | 'openAnother'> = {
    show: () => undefined,
    goTo: (path) => void addresses.push(path),
    find: () => undefined,
    openAnother: async () => undefined,
  };
  setUp(windows as DesktopWindows);
  const click = (items: MenuEntry[]) => {
    for (const { submenu, click: clicked } of items) {
      clicked?.({ checked: true });
      click(submenu ?? []);
    }
  };
  for (const items of asked.menus) click(items);
  return addresses;
}

const node = { url: 'http://127.0.0.1:9', dataFolder: '/nowhere', onAway: () => undefined } as never;
const preferences = {
  current: { keep_running: false, open_at_login: false },
  change: () => ({}),
  onChange: () => undefined,
} as never;
const opened = { open: () => undefined, handOver: () => undefined };

test.each(['linux', 'darwin', 'win32'] as const)('every menu item leads to a page (%s)', async (platform) => {
  vi.spyOn(process, 'platform', 'get').mockReturnValue(platform);
  const { setUpMenu } = await import('../../electron/menu.ts');
  const addresses = await addressesBehind((windows) =>
    setUpMenu({ node, windows, preferences, opened, showLog: () => undefined }),
  );
  expect(addresses).toEqual(
    expect.arrayContaining([
      ...NAV_GROUPS.flatMap(({ items }) => items.map(({ to }) => to)),
      ...SETTING_PAGES.map(({ id }) => `/settings#${id}`),
    ]),
  );
  expect(addresses.filter((address) => !isPage(address))).toEqual([]);
});

test('every tray item leads to a page', async () => {
  vi.spyOn(globalThis, 'setInterval').mockReturnValue(undefined as never);
  const { setUpTray } = await import('../../electron/desktopIntegration.ts');
  const addresses = await addressesBehind((windows) => setUpTray(node, windows));
  expect(addresses.filter((address) => !isPage(address))).toEqual([]);
});

test('every entry of the navigation and the palette leads to a page', () => {
  const places = NAV_GROUPS.flatMap(({ items }) => items.map(({ to }) => to));
  expect(places).toContain('/ledger');
  expect(places.filter((place) => !isPage(place))).toEqual([]);
});

test('every pasted id or address in the palette leads to a page', () => {
  const hex = 'abcdef0123456789abcd';
  const pasted = [
    `pk_${hex}`,
    `st_${hex}`,
    `so_${hex}`,
    hex.repeat(4).slice(0, 64),
    '#7',
    'a/b',
    'https://a.example/b',
  ];
  for (const text of pasted) {
    const hits = directMatches(text, 'http://node');
    expect(hits.length, text).toBeGreaterThan(0);
    expect(
      hits.filter(({ to }) => !isPage(to)),
      text,
    ).toEqual([]);
  }
});

test('the node serves the address of every page and no other', () => {
  const paths = pageRoutes[0]?.children?.flatMap(({ path = '' }) =>
    path.endsWith('/:id?') ? [path.slice(0, -'/:id?'.length), path.slice(0, -1)] : path,
  );
  const served = PAGE_PATHS.map((path) => path.replace('*path', '*'));
  expect(paths?.filter((path) => path !== '*').sort()).toEqual(served.sort());
});
