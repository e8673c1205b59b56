/** The addresses of the interface's pages; the node answers each with the interface's one document. */
export const PAGE_PATHS = [
  '/',
  '/packs',
  '/packs/:id',
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
  '/ledger',
  '/sharing',
  '/settings',
] as const;

/**
 * Whether an address of the node gives out data, its own files or a session, and is no page of the interface. Bytes that
 * strangers wrote lie at such addresses.
 */
export function isDataPath(path: string): boolean {
  return /^\/(api|archive|assets|log|manage|memento|sign-in|timegate|timemap)(\/|$)/.test(path);
}
