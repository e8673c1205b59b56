import {
  addressOf,
  at,
  bytesOf,
  checksumOf,
  doiIn,
  fields,
  firstText,
  list,
  orcidIn,
  plainText,
  textOf,
} from '../fields.ts';
import type { Answer, Answers, ListedFile, ReadRepository, RepositoryRecord } from '../repository.ts';

/** A project, registration or component in the interface (version 2). */
const ENTRY = /^(.*\/v2)\/(nodes|registrations|guids)\/([a-z0-9]{5})\/?$/;
/** Its page. */
const PAGE = /^\/([a-z0-9]{5})\/?(?:overview\/?|files\/.*)?$/;

/**
 * Reads a public project, component or registration of OSF: the files of all its storages, folder by folder.
 *
 * Source: https://developer.osf.io/
 */
export const readOsf: ReadRepository = (landing, answers) => {
  const entry = entryOf(landing);
  if (entry === undefined) return undefined;
  const data = fields(at(answers.json(entry), 'data'));
  const attributes = fields(data.attributes);
  const title = textOf(attributes.title);
  if (title === '') return undefined;
  const related = (name: string) => addressOf(at(data, 'relationships', name, 'links', 'related', 'href'));
  const optional = (name: string) => {
    const href = related(name);
    return href === undefined ? [] : pages(answers, href);
  };
  const components = Number(at(data, 'relationships', 'children', 'links', 'related', 'meta', 'count') ?? 0);
  const licenseHref = related('license');
  const license = licenseHref === undefined ? undefined : answers.needed(licenseHref);
  return {
    repository: 'OSF',
    title,
    doi: doiIn(
      firstText(
        at(
          optional('identifiers').find((one) => at(one, 'attributes', 'category') === 'doi'),
          'attributes',
          'value',
        ),
        attributes.doi,
      ),
    ),
    conceptDoi: null,
    url: addressOf(at(data, 'links', 'html')) ?? landing.finalUrl,
    summary: plainText(attributes.description),
    authors: optional('contributors')
      .filter((one) => at(one, 'attributes', 'bibliographic') !== false)
      .map(authorOf),
    license:
      firstText(at(license, 'data', 'attributes', 'url'), at(license, 'data', 'attributes', 'name')) || null,
    keywords: list(attributes.tags).map(textOf),
    files: filesOf(answers, related('files')),
    warnings:
      components > 0 ? ['It has components, which are records of their own and are not included.'] : [],
  };
};

/** Returns the address of the entry that a page or an entry is of. */
function entryOf(landing: Answer): string | undefined {
  const url = new URL(landing.finalUrl);
  const [, base, kind, entry] = ENTRY.exec(url.pathname) ?? [];
  if (base !== undefined) return kind === 'guids' ? `${url.origin}${base}/guids/${entry}/` : landing.url;
  const guid = PAGE.exec(url.pathname)?.[1];
  if (guid === undefined) return undefined;
  if (url.hostname === 'osf.io') return `https://api.osf.io/v2/guids/${guid}/`;
  // Another installation says who it is.
  return /<meta[^>]{0,200}content=["']OSF["']/i.test(landing.text)
    ? `${url.origin}/v2/guids/${guid}/`
    : undefined;
}

function authorOf(contributor: unknown): RepositoryRecord['authors'][number] {
  const user = at(contributor, 'embeds', 'users', 'data', 'attributes');
  return {
    name: firstText(at(user, 'full_name'), at(contributor, 'attributes', 'unregistered_contributor')),
    orcid: orcidIn(list(at(user, 'social', 'orcid'))[0]),
    affiliation: textOf(at(list(at(user, 'employment'))[0], 'institution')),
  };
}

const MAX_PAGES = 1_000;

/** OSF gives ten items a page unless more are asked for, and takes few requests an hour without an account. */
const PAGE_SIZE = '100';

function inLongPages(address: string): string {
  const url = new URL(address);
  url.searchParams.set('page[size]', PAGE_SIZE);
  return url.href;
}

/** Returns the items of all pages of a list. The first says how many there are; the others are asked together. */
function pages(answers: Answers, address: string): unknown[] {
  const href = inLongPages(address);
  const first = answers.needed(href);
  const items = list(at(first, 'data'));
  const next = addressOf(at(first, 'links', 'next'), href);
  if (next === undefined) return items;
  const meta = at(first, 'links', 'meta') ?? at(first, 'meta');
  const count = Math.ceil(Number(at(meta, 'total')) / Number(at(meta, 'per_page')));
  const known = new URL(next).searchParams.get('page') === '2' && count > 1 && count <= MAX_PAGES;
  if (!known) return [...items, ...oneByOne(answers, next)];
  const others = Array.from({ length: count - 1 }, (_, index) => {
    const url = new URL(next);
    url.searchParams.set('page', String(index + 2));
    return url.href;
  });
  answers.all(others);
  return [...items, ...others.flatMap((url) => list(at(answers.needed(url), 'data')))];
}

function oneByOne(answers: Answers, first: string): unknown[] {
  const items: unknown[] = [];
  const seen = new Set<string>();
  for (let next: string | undefined = first; next !== undefined && !seen.has(next); ) {
    seen.add(next);
    const listing = answers.needed(next);
    items.push(...list(at(listing, 'data')));
    next = addressOf(at(listing, 'links', 'next'), next);
  }
  return items;
}

/** Reads the storages level by level, so that the folders of one level are asked together. */
function filesOf(answers: Answers, storages: string | undefined): ListedFile[] {
  if (storages === undefined) return [];
  const files: ListedFile[] = [];
  const providers = pages(answers, storages);
  const seen = new Set<string>();
  let level = providers.map((provider) => ({
    href: filesHref(provider),
    // Files of other storages than OSF's own go into a folder of the storage's name.
    folder:
      textOf(at(provider, 'attributes', 'provider')) === 'osfstorage'
        ? ''
        : `${textOf(at(provider, 'attributes', 'name'))}/`,
  }));
  while (level.length > 0) {
    const folders = level.flatMap(({ href, folder }) =>
      href === undefined || seen.has(href) ? [] : [{ href, folder }],
    );
    for (const { href } of folders) seen.add(href);
    answers.all(folders.map(({ href }) => href));
    level = folders.flatMap(({ href, folder }) =>
      pages(answers, href).flatMap((item) => {
        const name = textOf(at(item, 'attributes', 'name'));
        if (at(item, 'attributes', 'kind') === 'folder')
          return [{ href: filesHref(item), folder: `${folder}${name}/` }];
        files.push(fileOf(item, folder + name));
        return [];
      }),
    );
  }
  return files;
}

function filesHref(item: unknown): string | undefined {
  const href = addressOf(at(item, 'relationships', 'files', 'links', 'related', 'href'));
  return href === undefined ? undefined : inLongPages(href);
}

function fileOf(item: unknown, name: string): ListedFile {
  const attributes = fields(at(item, 'attributes'));
  const hashes = at(attributes, 'extra', 'hashes');
  const url = addressOf(at(item, 'links', 'download'));
  return {
    name,
    bytes: bytesOf(attributes.size),
    checksum: checksumOf('sha256', at(hashes, 'sha256')) ?? checksumOf('md5', at(hashes, 'md5')),
    urls: url === undefined ? [] : [url],
    mediaType: null,
    ...(url === undefined && { refusal: 'without an address' }),
  };
}
