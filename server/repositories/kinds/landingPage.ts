import { Parser } from 'htmlparser2';
import {
  addressOf,
  at,
  bytesOf,
  checksumOf,
  doiIn,
  type Fields,
  fields,
  firstText,
  lastSegment,
  list,
  orcidIn,
  plainText,
  textOf,
} from '../fields.ts';
import {
  type Answer,
  type Answers,
  jsonOf,
  type ListedFile,
  type ReadRepository,
  type RepositoryRecord,
} from '../repository.ts';

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
      name: fileNameOf(href),
      bytes: null,
      checksum: null,
      urls: [href],
      mediaType: textOf(type) || null,
    });
  }
  return [...byUrl.values()];
}

/** Repositories end the addresses of files with such a word. */
function fileNameOf(href: string): string {
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

/** What JSON-LD says of a record. */
type Described = Pick<
  RepositoryRecord,
  'title' | 'doi' | 'summary' | 'authors' | 'license' | 'keywords' | 'files'
>;

/** The types that describe a record, the best first. */
const TYPES = [
  'Dataset',
  'SoftwareSourceCode',
  'SoftwareApplication',
  'ScholarlyArticle',
  'Article',
  'CreativeWork',
];
const MAX_NODES = 20_000;

/**
 * Reads the schema.org description of a record in documents of JSON-LD. The names of schema.org are read as they are written
 * everywhere; a document that renames them in its context is not.
 *
 * Sources: https://schema.org/Dataset, https://developers.google.com/search/docs/appearance/structured-data/dataset
 */
function readSchemaOrg(documents: readonly unknown[], base: string): Described | undefined {
  const nodes = documents.flatMap(nodesOf).slice(0, MAX_NODES);
  const byId = new Map(nodes.map((node) => [textOf(node['@id']), node]));
  const resolved = (value: unknown): Fields => {
    const node = fields(value);
    return Object.keys(node).length === 1 ? (byId.get(textOf(node['@id'])) ?? node) : node;
  };
  for (const type of TYPES) {
    const found = nodes.find((node) => isOfType(node, type) && textOf(nameOf(node)) !== '');
    if (found) return describe(found, base, resolved);
  }
  return undefined;
}

function nodesOf(document: unknown): Fields[] {
  return list(document).flatMap((one) => {
    const node = fields(one);
    const graph = list(node['@graph']).map(fields);
    // A page may say that it is about the dataset.
    const main = list(node.mainEntity ?? node.mainEntityOfPage).map(fields);
    return [node, ...graph, ...main];
  });
}

function isOfType(node: Fields, type: string): boolean {
  return list(node['@type']).some((one) => textOf(one).replace(/^.*[/#:]/, '') === type);
}

function nameOf(node: Fields): unknown {
  return list(node.name).map(valueOf).find(Boolean) ?? node.headline;
}

/** Texts in a language are `{"@value": "…"}`. */
function valueOf(value: unknown): string {
  return typeof value === 'object' ? textOf(at(value, '@value')) : textOf(value);
}

function describe(node: Fields, base: string, resolved: (value: unknown) => Fields): Described {
  return {
    title: plainText(nameOf(node)),
    doi: doiOfNode(node),
    summary: list(node.description ?? node.abstract)
      .map((one) => plainText(valueOf(one)))
      .join('\n\n'),
    authors: list(node.creator ?? node.author).map((one) => authorOf(one, resolved)),
    license: licenseIn(node.license),
    keywords: list(node.keywords).flatMap((one) =>
      typeof one === 'string'
        ? one.split(/[,;]/).map((word) => word.trim())
        : [firstText(at(one, 'name'), at(one, '@value'))],
    ),
    files: [...list(node.distribution), ...list(node.encoding), ...list(node.hasPart)]
      .map(resolved)
      .flatMap((one) => fileOf(one, base)),
  };
}

function doiOfNode(node: Fields): string | null {
  const stated = [...list(node.identifier), node['@id'], node.sameAs, node.url].flatMap(list);
  for (const one of stated) {
    const doi = doiIn(
      typeof one === 'object' ? firstText(at(one, 'value'), at(one, '@id'), at(one, 'url')) : one,
    );
    if (doi !== null) return doi;
  }
  return null;
}

function authorOf(given: unknown, resolved: (value: unknown) => Fields): RepositoryRecord['authors'][number] {
  if (typeof given === 'string') return { name: textOf(given), orcid: null, affiliation: '' };
  const outer = resolved(given);
  // A Role wraps the person.
  const person = isOfType(outer, 'Role') ? resolved(outer.creator ?? outer.author) : outer;
  const ids = [person['@id'], person.identifier, person.sameAs, person.url].flatMap(list);
  const orcids = ids.map((id) =>
    orcidIn(typeof id === 'object' ? firstText(at(id, 'value'), at(id, '@id'), at(id, 'url')) : id),
  );
  const affiliations = list(person.affiliation).map((one) =>
    typeof one === 'string' ? one : textOf(resolved(one).name),
  );
  return {
    name: firstText(person.name, [person.givenName, person.familyName].map(textOf).filter(Boolean).join(' ')),
    orcid: orcids.find((orcid) => orcid !== null) ?? null,
    affiliation: affiliations.filter(Boolean).join('; '),
  };
}

function licenseIn(stated: unknown): string | null {
  const names = list(stated).map((one) =>
    typeof one === 'object' ? firstText(at(one, 'url'), at(one, '@id'), at(one, 'name')) : textOf(one),
  );
  return firstText(...names) || null;
}

/** Returns the file of a download. What has no address, such as a part that is a dataset of its own, is none. */
function fileOf(node: Fields, base: string): ListedFile[] {
  const url = addressOf(node.contentUrl, base);
  if (url === undefined) return [];
  const checksum =
    checksumOf('sha256', node.sha256) ??
    checksumOf('sha512', node.sha512) ??
    checksumOf('md5', node.md5) ??
    // RO-Crate and others: {"@type": "Checksum", "algorithm": "md5", "value": "…"}
    checksumOf(at(node.checksum, 'algorithm'), at(node.checksum, 'value'));
  return [
    {
      name: firstText(nameWithEnding(textOf(node.name), url), lastSegment(url)),
      // Only a bare number is a size in bytes: “1.2 MB” is rounded.
      bytes: bytesOf(
        typeof node.contentSize === 'string'
          ? node.contentSize.replace(/\s*B(ytes)?$/i, '')
          : node.contentSize,
      ),
      checksum,
      urls: [url],
      mediaType: textOf(list(node.encodingFormat ?? node.fileFormat)[0]) || null,
    },
  ];
}

/** A name may be a title, such as “Measurements”. Then the ending of the address is kept. */
function nameWithEnding(name: string, url: string): string {
  if (name === '' || /\.[A-Za-z0-9]{1,8}$/.test(name)) return name;
  const last = lastSegment(url);
  return /\.[A-Za-z0-9]{1,8}$/.test(last) ? last : name;
}

/** A typed link (RFC 8288). */
interface WebLink {
  href: string;
  rel: string;
  type: string;
}

/** What is read from a page in one pass. */
export interface PageHead {
  links: WebLink[];
  /** The texts of its scripts of type `application/ld+json`. */
  jsonLd: string[];
  title: string;
}

const MAX_LINKS = 50_000;
const PARAMETER = ' ?; ?[^ =;,]+ ?(?:= ?(?:"(?:[^"\\\\]|\\\\.)*"|[^ ";,]*))?';
const LINK = new RegExp(` ?,? ?<([^<>]*)>((?:${PARAMETER})*)`, 'y');
const ONE_PARAMETER = / ?; ?([^ =;,]+) ?(?:= ?(?:"((?:[^"\\]|\\.)*)"|([^ ";,]*)))?/g;

/** Reads the values of `Link` headers, or a link set in the same form (RFC 9264, section 4.1). It ends where they are wrong. */
function parseLinkHeader(values: readonly string[], base: string): WebLink[] {
  return values.flatMap((value) => {
    const links: WebLink[] = [];
    const text = value.replace(/\s+/g, ' ');
    LINK.lastIndex = 0;
    for (let found = LINK.exec(text); found && links.length < MAX_LINKS; found = LINK.exec(text)) {
      const parameters = new Map<string, string>();
      for (const [, name = '', quoted, bare] of (found[2] ?? '').matchAll(ONE_PARAMETER)) {
        const key = name.toLowerCase();
        // The first of several counts (section 3.3).
        if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '');
      }
      const anchor = parameters.get('anchor');
      if (anchor === undefined || isSameDocument(anchor, base))
        links.push(...linksOf(found[1], parameters, base));
    }
    return links;
  });
}

function isSameDocument(anchor: string, base: string): boolean {
  return withoutFragment(addressOf(anchor, base) ?? '') === withoutFragment(base);
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0] ?? '';
}

function linksOf(href: unknown, parameters: { get(name: string): unknown }, base: string): WebLink[] {
  const address = addressOf(href, base);
  if (address === undefined) return [];
  const type = textOf(parameters.get('type')).split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return textOf(parameters.get('rel'))
    .toLowerCase()
    .split(/\s+/)
    .slice(0, 10)
    .map((rel) => ({ href: address, rel, type }));
}

/** Reads a link set in JSON (RFC 9264, section 4.2): the links of a page. */
function parseLinkSet(json: unknown, anchor: string): WebLink[] {
  return list(at(json, 'linkset'))
    .map(fields)
    .filter((context) => context.anchor === undefined || isSameDocument(textOf(context.anchor), anchor))
    .flatMap((context) =>
      Object.entries(context).flatMap(([rel, targets]) =>
        rel === 'anchor'
          ? []
          : list(targets).flatMap((target) =>
              linksOf(at(target, 'href'), new Map(Object.entries({ ...fields(target), rel })), anchor),
            ),
      ),
    )
    .slice(0, MAX_LINKS);
}

/** Reads the link elements, the title and the JSON-LD of a page. */
function readHead({ text, finalUrl }: Answer): PageHead {
  const head: PageHead = { links: [], jsonLd: [], title: '' };
  let inside: 'title' | 'json' | undefined;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'link' && head.links.length < MAX_LINKS)
        head.links.push(...linksOf(attributes.href, new Map(Object.entries(attributes)), finalUrl));
      if (name === 'title' && head.title === '') inside = 'title';
      if (name === 'script' && /^application\/ld\+json\b/i.test(attributes.type ?? '')) {
        inside = 'json';
        head.jsonLd.push('');
      }
    },
    ontext(piece) {
      if (inside === 'title') head.title += piece;
      if (inside === 'json') head.jsonLd.push((head.jsonLd.pop() ?? '') + piece);
    },
    onclosetag(name) {
      if (name === 'title' || name === 'script') inside = undefined;
    },
  });
  parser.end(text);
  return head;
}
