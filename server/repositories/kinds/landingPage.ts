import { doiIn, lastSegment, list, orcidIn, textOf } from '../fields.ts';
import { type Answer, type Answers, jsonOf, type ListedFile, type ReadRepository } from '../repository.ts';
import { type Described, readSchemaOrg } from './schemaOrg.ts';
import { parseLinkHeader, parseLinkSet, readHead, type WebLink } from './webLinks.ts';

const MAX_LINK_SETS = 10;
const MAX_DESCRIPTIONS = 10;
const MAX_AUTHORS = 200;

/**
 * Reads any page that says in a standard way what it is: with typed links to its metadata and its files (Signposting, FAIR
 * level 1 and 2: link headers, link elements and link sets), or with JSON-LD of schema.org, or both.
 *
 * Sources: https://signposting.org/FAIR/, RFC 8288, RFC 9264
 */
export const readLandingPage: ReadRepository = (landing, answers) => {
  if (landing.status === null || landing.status > 299) return undefined;
  const isJson = /\bjson\b/.test(landing.contentType);
  const head = isJson ? { links: [], jsonLd: [landing.text], title: '' } : readHead(landing);
  const links = withLinkSets(
    [...parseLinkHeader(landing.links, landing.finalUrl), ...head.links],
    landing,
    answers,
  );
  const described = describedBy(head.jsonLd.flatMap(parsed), links, landing, answers);
  const files = filesOf(links, described?.files ?? []);
  // A page with neither is a page like any other.
  if (!described && files.length === 0) return undefined;
  const { title, doi, summary, authors, license, keywords } = described ?? linkedOnly(head.title);
  const hrefs = (rel: string) => links.filter((link) => link.rel === rel).map(({ href }) => href);
  if (title === '') return undefined;
  return {
    repository: 'Signposting and schema.org',
    title,
    doi: doiIn(hrefs('cite-as')[0]) ?? doi,
    conceptDoi: null,
    url: landing.finalUrl,
    summary,
    authors: authors.length > 0 ? authors : hrefs('author').slice(0, MAX_AUTHORS).map(linkedAuthor),
    license: license ?? hrefs('license')[0] ?? null,
    keywords,
    files,
    warnings: described
      ? []
      : ['The page has no description that can be read: only its title, its files and its links were taken.'],
  };
};

function linkedOnly(title: string): Described {
  const plain = title.replace(/\s+/g, ' ').trim();
  return { title: plain, doi: null, summary: '', authors: [], license: null, keywords: [], files: [] };
}

function withLinkSets(links: readonly WebLink[], landing: Answer, answers: Answers): WebLink[] {
  const sets = links.filter(({ rel }) => rel === 'linkset').slice(0, MAX_LINK_SETS);
  const urls = [...new Set(sets.map(({ href }) => href))];
  return [
    ...links,
    ...answers.allNeeded(urls).flatMap((answer) => {
      const json = jsonOf(answer);
      if (json !== undefined) return parseLinkSet(json, landing.finalUrl);
      return answer.status === 200 ? parseLinkHeader([answer.text], landing.finalUrl) : [];
    }),
  ];
}

function describedBy(
  inPage: unknown[],
  links: readonly WebLink[],
  landing: Answer,
  answers: Answers,
): Described | undefined {
  const own = readSchemaOrg(inPage, landing.finalUrl);
  if (own) return own;
  const urls = links
    .filter(({ rel, type }) => rel === 'describedby' && (type === 'application/ld+json' || type === ''))
    .map(({ href }) => href);
  const documents = answers
    .all([...new Set(urls)].slice(0, MAX_DESCRIPTIONS))
    .flatMap((answer) => list(jsonOf(answer)));
  return readSchemaOrg(documents, landing.finalUrl);
}

function parsed(text: string): unknown[] {
  try {
    return list(JSON.parse(text) as unknown);
  } catch {
    // Pages have JSON-LD of many hands; what is broken says nothing.
    return [];
  }
}

/** The items of the links, with what JSON-LD says of the same addresses. Items that are pages are no files. */
function filesOf(links: readonly WebLink[], described: readonly ListedFile[]): ListedFile[] {
  const byUrl = new Map(described.flatMap((file) => file.urls.map((url) => [url, file] as const)));
  for (const { href, rel, type } of links) {
    if (rel !== 'item' || byUrl.has(href) || type === 'text/html') continue;
    byUrl.set(href, {
      name: nameOf(href),
      bytes: null,
      checksum: null,
      urls: [href],
      mediaType: textOf(type) || null,
    });
  }
  return [...byUrl.values()];
}

/** Repositories end the addresses of files with such a word. */
function nameOf(href: string): string {
  const last = lastSegment(href);
  if (!/^(content|download)$/i.test(last)) return last;
  const url = new URL(href);
  url.pathname = url.pathname.replace(/\/[^/]*\/?$/, '');
  return lastSegment(url.href) || last;
}

function linkedAuthor(href: string): Described['authors'][number] {
  const orcid = orcidIn(href);
  return { name: orcid ?? href, orcid, affiliation: '' };
}
