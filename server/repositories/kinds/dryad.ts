import {
  addressOf,
  at,
  bytesOf,
  checksumOf,
  doiIn,
  fields,
  list,
  orcidIn,
  plainText,
  textOf,
} from '../fields.ts';
import type { Answers, ListedFile, ReadRepository } from '../repository.ts';

/** A dataset's page, or its entry in the interface; the DOI is encoded in either or not. */
const DATASET = /^(.*?)\/(?:stash\/dataset|dataset|api\/v2\/datasets)\/(doi:10\.[^/]+\/[^/]+)\/?$/i;
const MAX_PAGES = 1_000;

/**
 * Reads a dataset of Dryad.
 *
 * Source: https://datadryad.org/api/v2/docs/
 */
export const readDryad: ReadRepository = (landing, answers) => {
  const url = new URL(landing.finalUrl);
  const [, base = '', id] = DATASET.exec(decoded(url.pathname)) ?? [];
  if (id === undefined) return undefined;
  const entry = `${url.origin}${base}/api/v2/datasets/${encodeURIComponent(id)}`;
  const isEntry = url.pathname.includes('/api/v2/');
  const dataset = fields(answers.json(isEntry ? landing.url : entry));
  const title = textOf(dataset.title);
  if (title === '') return undefined;
  const version = addressOf(at(dataset, '_links', 'stash:version', 'href'), entry);
  return {
    repository: 'Dryad',
    title: plainText(title),
    doi: doiIn(dataset.identifier) ?? doiIn(id),
    conceptDoi: null,
    url: addressOf(dataset.sharingLink) ?? `${url.origin}${base}/dataset/${id}`,
    summary: plainText(dataset.abstract),
    authors: list(dataset.authors).map((author) => ({
      name: [at(author, 'firstName'), at(author, 'lastName')].map(textOf).filter(Boolean).join(' '),
      orcid: orcidIn(at(author, 'orcid')),
      affiliation: textOf(at(author, 'affiliation')),
    })),
    license: textOf(dataset.license) || null,
    keywords: list(dataset.keywords).map(textOf),
    files: version === undefined ? [] : filesOf(answers, listingOf(version), url.origin + base),
    warnings: accessOf(dataset),
  };
};

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function accessOf({ visibility, curationStatus }: Record<string, unknown>): string[] {
  if (/embargo/i.test(textOf(curationStatus))) return ['The files are under embargo.'];
  return textOf(visibility) === 'restricted'
    ? ['The files are restricted: the repository does not give them to the public.']
    : [];
}

/** The interface gives twenty files a page unless more are asked for, and takes few requests a minute. */
function listingOf(version: string): string {
  return `${version}/files?per_page=100`;
}

/** The first page says how many there are; the others are asked together. */
function filesOf(answers: Answers, listing: string, root: string): ListedFile[] {
  const first = answers.needed(listing);
  const urls = [listing];
  if (at(first, '_links', 'next', 'href') !== undefined) {
    const count = Math.ceil(Number(at(first, 'total')) / Number(at(first, 'count')));
    const pages = Number.isSafeInteger(count) ? Math.min(count, MAX_PAGES) : 2;
    for (let page = 2; page <= pages; page += 1) {
      const url = new URL(listing);
      url.searchParams.set('page', String(page));
      urls.push(url.href);
    }
  }
  answers.all(urls);
  return urls.flatMap((url) => filesIn(answers.needed(url), root));
}

function filesIn(page: unknown, root: string): ListedFile[] {
  return list(at(page, '_embedded', 'stash:files'))
    .map(fields)
    .filter(({ status }) => textOf(status) !== 'deleted')
    .map((file): ListedFile => {
      const download = addressOf(
        at(file, '_links', 'stash:download', 'href') ?? at(file, '_links', 'stash:file-download', 'href'),
        root,
      );
      const number = /\/files\/(\d+)(?:\/|$)/.exec(
        download ?? textOf(at(file, '_links', 'self', 'href')),
      )?.[1];
      // The interface may ask for an account where the page of the dataset does not.
      const open = number === undefined ? [] : [`${root}/downloads/file_stream/${number}`];
      const urls = [...(download === undefined ? [] : [download]), ...open];
      return {
        name: textOf(file.path),
        bytes: bytesOf(file.size),
        checksum: checksumOf(file.digestType, file.digest),
        urls,
        mediaType: textOf(file.mimeType) || null,
        ...(urls.length === 0 && { refusal: 'without an address' }),
      };
    });
}
