/** The form for a page that the bookmark of the settings sends. */
export const HAND_IN_PATH = '/hand-in';

/** The paths of the pages of the web interface. The node sends the same HTML document for each. */
export const PAGE_PATHS = [
  '/',
  '/packs',
  '/packs/:id',
  '/packs/:id/compare/:other',
  '/assemble',
  '/studies',
  '/studies/:id',
  '/nodes',
  '/nodes/*path',
  '/sources',
  '/sources/:id',
  '/search',
  '/timeline',
  '/timeline/:id',
  '/view/:sha256',
  '/pages/:id',
  '/pages/:id/compare/:other',
  '/draws/:id',
  HAND_IN_PATH,
  '/handed-in',
  '/handed-in/:id',
  '/findings',
  '/cases',
  '/cases/:id',
  '/alerts',
  '/alerts/deliveries',
  '/ledger',
  '/verify',
  '/withheld',
  '/sharing',
  '/sharing/peers/:id',
  '/settings',
] as const;

/**
 * Returns whether a path serves data, assets or sessions and not a page of the web interface. Such paths may serve bytes
 * written by strangers.
 */
export function isDataPath(path: string): boolean {
  return /^\/(api|archive|assets|extension|log|manage|memento|oai|pair|robots\.txt|sign-in|sitemap|sitemap\.xml|timegate|timemap|witness)(\/|$)/.test(
    path,
  );
}

/** The pages of the settings. The URL fragment names the page. */
export const SETTING_PAGES = [
  { id: 'storage', title: 'Storage' },
  { id: 'copies', title: 'Copies' },
  { id: 'collection', title: 'Collection' },
  { id: 'network', title: 'Network' },
  { id: 'proof', title: 'Proof' },
  { id: 'browsers', title: 'Browsers' },
] as const;
export type SettingPage = (typeof SETTING_PAGES)[number]['id'];
