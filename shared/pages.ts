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
