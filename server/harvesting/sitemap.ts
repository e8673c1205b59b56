import { Problem } from '../../shared/problems.ts';
import { countItems, entryAtPlace, type SitemapKind, sitemapItems } from '../store/sqlite/archive/harvest.ts';
import type { Store } from '../store/store.ts';
import { element, type Xml } from './formats.ts';
import { secondOf } from './harvest.ts';

/** The maximum number of URLs in a sitemap (https://www.sitemaps.org/protocol.html). */
const MAX_URLS = 50_000;
/** The number of URLs read at once, so that other requests are answered in between. */
const BATCH = 1_000;
const KINDS: readonly SitemapKind[] = ['packs', 'studies'];

const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

/**
 * Returns the sitemap index: a sitemap for each 50,000 packs, and for each 50,000 studies. A new item never moves another
 * into another sitemap.
 *
 * @param most the maximum number of URLs in a sitemap.
 */
export function sitemapIndex({ read }: Pick<Store, 'read'>, origin: string, most = MAX_URLS): string {
  const sitemaps = KINDS.flatMap((kind) =>
    Array.from({ length: Math.ceil(countItems(read, kind) / most) }, (_, index) =>
      element('sitemap', {}, [element('loc', {}, [`${origin}/sitemap/${kind}-${index + 1}.xml`])]),
    ),
  );
  return `${DECLARATION}${element('sitemapindex', { xmlns: NAMESPACE }, sitemaps).text}\n`;
}

/**
 * Returns one sitemap in pieces. `lastmod` is the second of the ledger entry that last changed the page.
 *
 * @param name a name that the index lists, such as `packs-1.xml`.
 * @throws Problem `not_found`
 */
export function readSitemap(
  { read }: Pick<Store, 'read'>,
  name: string,
  origin: string,
  most = MAX_URLS,
): Iterable<string> {
  const [, word, number] = /^(packs|studies)-([1-9]\d{0,5})\.xml$/.exec(name) ?? [];
  const kind = KINDS.find((each) => each === word);
  const first = kind && entryAtPlace(read, kind, (Number(number) - 1) * most);
  if (kind === undefined || first === undefined) {
    throw new Problem('not_found', 'There is no such sitemap. The sitemaps are listed in /sitemap.xml.');
  }
  return sitemapPieces({ read }, { kind, first, most, origin });
}

function* sitemapPieces(
  { read }: Pick<Store, 'read'>,
  { kind, first, most, origin }: { kind: SitemapKind; first: number; most: number; origin: string },
): Generator<string> {
  yield `${DECLARATION}<urlset xmlns="${NAMESPACE}">\n`;
  let from = first;
  for (let left = most; left > 0; left -= BATCH) {
    const limit = Math.min(left, BATCH);
    const items = sitemapItems(read, kind, { from, limit });
    yield items.map(({ id, at }) => `${urlXml(`${origin}/${kind}/${id}`, at).text}\n`).join('');
    if (items.length < limit) break;
    from = (items.at(-1)?.entry ?? 0) + 1;
  }
  yield '</urlset>\n';
}

function urlXml(url: string, changedAt: string): Xml {
  return element('url', {}, [element('loc', {}, [url]), element('lastmod', {}, [secondOf(changedAt)])]);
}

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
  '/withheld',
];

/** Returns `robots.txt` (RFC 9309). While the node is not shared, nothing is allowed. */
export function robotsTxt({ isShared, origin }: { isShared: boolean; origin: string }): string {
  if (!isShared) return 'User-agent: *\nDisallow: /\n';
  const rules = DISALLOWED.map((path) => `Disallow: ${path}\n`).join('');
  return `User-agent: *\n${rules}Allow: /\n\nSitemap: ${origin}/sitemap.xml\n`;
}
