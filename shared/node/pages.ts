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
  '/help',
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

/** A page of the sidebar. */
export interface SidebarPage {
  to: string;
  label: string;
  /** Who may see it; everyone if omitted. */
  for?: 'owner' | 'contributor';
}

/** The pages of the sidebar in their groups. The palette and the menu of the desktop app have the same. */
export const SIDEBAR_GROUPS = [
  { title: '', pages: [{ to: '/', label: 'Overview' }] },
  {
    title: 'Archive',
    pages: [
      { to: '/packs', label: 'Packs' },
      { to: '/assemble', label: 'New pack', for: 'contributor' },
      { to: '/studies', label: 'Studies' },
      { to: '/nodes', label: 'Subjects' },
    ],
  },
  {
    title: 'Collection',
    pages: [
      { to: '/sources', label: 'Sources' },
      { to: '/timeline', label: 'Timeline' },
      { to: '/search', label: 'Text search' },
      { to: '/handed-in', label: 'Hand in a file', for: 'owner' },
      { to: '/alerts', label: 'Alerts', for: 'owner' },
    ],
  },
  {
    title: 'Notes',
    pages: [
      { to: '/findings', label: 'Findings' },
      { to: '/cases', label: 'Cases' },
    ],
  },
  {
    title: 'Verification',
    pages: [
      { to: '/verify', label: 'Verify' },
      { to: '/ledger', label: 'Ledger' },
    ],
  },
  {
    title: 'This node',
    pages: [
      { to: '/withheld', label: 'Withheld', for: 'owner' },
      { to: '/sharing', label: 'Sharing', for: 'owner' },
      { to: '/settings', label: 'Settings', for: 'owner' },
      { to: '/help', label: 'Help' },
    ],
  },
] as const satisfies readonly { title: string; pages: readonly SidebarPage[] }[];
export type SidebarPath = (typeof SIDEBAR_GROUPS)[number]['pages'][number]['to'];
