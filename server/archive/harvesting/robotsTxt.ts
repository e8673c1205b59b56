/**
 * The paths that crawlers must skip: exports, files and searches, which are expensive and lead to nothing new; later
 * pages of lists; and the owner's pages. The longest matching rule wins (RFC 9309). Paths without a rule are allowed.
 */
const DISALLOWED = [
  '/api/dump.jsonl',
  '/api/warc',
  '/api/search',
  '/api/events.atom?',
  '/api/events/stream',
  '/api/events?',
  '/api/packs?',
  '/api/studies?',
  '/api/sources?',
  '/api/packs/*/file',
  '/api/packs/*/verify',
  '/api/ledger/verify',
  '/oai?*resumptionToken=',
  '/manage/',
  '/memento/',
  '/sign-in/',
  '/timegate/',
  '/timemap/',
  '/search',
  '/assemble',
  '/settings',
  '/sharing',
];

/** Returns `robots.txt` (RFC 9309). While the node is not shared, nothing is allowed. */
export function robotsTxt({ isShared, origin }: { isShared: boolean; origin: string }): string {
  if (!isShared) return 'User-agent: *\nDisallow: /\n';
  const rules = DISALLOWED.map((path) => `Disallow: ${path}\n`).join('');
  return `User-agent: *\n${rules}Allow: /\n\nSitemap: ${origin}/sitemap.xml\n`;
}
