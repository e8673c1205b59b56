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
import type { Answers, ListedFile, ReadRepository, RepositoryRecord } from '../repository.ts';

/** A record's page or entry: `/records/<id>`, `/record/<id>` of older ones, `/api/records/<id>`. */
const RECORD = /^(.*?)\/(?:api\/)?records?\/([\w-]{1,100})(?:\/|$)/;

/**
 * Reads a record of InvenioRDM, or of Zenodo, whose answers have the members of its earlier program as well.
 *
 * Sources: https://inveniordm.docs.cern.ch/reference/rest_api_drafts_records/, https://developers.zenodo.org/#records
 */
export const readInvenio: ReadRepository = (landing, answers) => {
  const page = new URL(landing.finalUrl);
  const [, prefix = '', id = ''] = RECORD.exec(page.pathname) ?? [];
  if (id === '') return undefined;
  const api = `${page.origin}${prefix}/api/records/${id}`;
  const record = fields(answers.json(landing.finalUrl === api ? landing.url : api));
  const metadata = fields(record.metadata);
  const title = textOf(metadata.title);
  if (title === '') return undefined;
  const self = addressOf(at(record, 'links', 'self'), api) ?? api;
  const access = accessOf(record);
  const doi = doiIn(firstText(at(record, 'pids', 'doi', 'identifier'), record.doi, metadata.doi));
  return {
    repository: 'InvenioRDM',
    title,
    doi,
    conceptDoi: doiIn(firstText(at(record, 'parent', 'pids', 'doi', 'identifier'), record.conceptdoi)),
    url: addressOf(at(record, 'links', 'self_html'), api) ?? `${page.origin}${prefix}/records/${id}`,
    summary: plainText(metadata.description),
    authors: list(metadata.creators).map(authorOf),
    license: licenseIn(metadata),
    keywords: [...list(metadata.keywords), ...list(metadata.subjects).map(subjectOf)].map(textOf),
    files: filesOf(record, self, answers),
    warnings: [...access, ...newerVersion(record)],
  };
};

function authorOf(creator: unknown): RepositoryRecord['authors'][number] {
  const person = fields(at(creator, 'person_or_org'));
  const identifiers = list(person.identifiers).map(fields);
  const orcid = identifiers.find(({ scheme }) => textOf(scheme).toLowerCase() === 'orcid')?.identifier;
  const affiliations = list(at(creator, 'affiliations')).map((one) => textOf(at(one, 'name')));
  return {
    name: firstText(person.name, at(creator, 'name')),
    orcid: orcidIn(firstText(orcid, at(creator, 'orcid'))),
    affiliation: firstText(affiliations.filter(Boolean).join('; '), at(creator, 'affiliation')),
  };
}

function subjectOf(subject: unknown): unknown {
  return at(subject, 'subject') ?? at(subject, 'term') ?? '';
}

function licenseIn(metadata: Fields): string | null {
  const stated = list(metadata.rights).map((right) =>
    firstText(at(right, 'id'), at(right, 'props', 'url'), at(right, 'link'), at(right, 'title', 'en')),
  );
  return firstText(stated.join(', '), at(metadata, 'license', 'id'), metadata.license) || null;
}

function accessOf(record: Fields): string[] {
  const files = firstText(at(record, 'access', 'files'), at(record, 'metadata', 'access_right'));
  const until = firstText(at(record, 'access', 'embargo', 'until'), at(record, 'metadata', 'embargo_date'));
  if (at(record, 'access', 'embargo', 'active') === true || files === 'embargoed')
    return [`The files are under embargo${until ? ` until ${until.slice(0, 40)}` : ''}.`];
  if (files === 'restricted' || files === 'closed')
    return ['The files are restricted: the repository does not give them to the public.'];
  return [];
}

function newerVersion(record: Fields): string[] {
  return at(record, 'versions', 'is_latest') === false ? ['The repository has a newer version.'] : [];
}

function filesOf(record: Fields, self: string, answers: Answers): ListedFile[] {
  // Zenodo lists them in the record itself.
  if (Array.isArray(record.files)) return record.files.map((file) => fileOf(file, self, true));
  const isEnabled = at(record, 'files', 'enabled') !== false;
  if (!isEnabled || !record.files) return [];
  const files: ListedFile[] = [];
  let next: string | undefined = addressOf(at(record, 'links', 'files'), self) ?? `${self}/files`;
  const seen = new Set<string>();
  while (next !== undefined && !seen.has(next)) {
    seen.add(next);
    const listing = answers.needed(next);
    const entries = at(listing, 'entries') ?? at(record, 'files', 'entries');
    const found = Array.isArray(entries) ? entries : Object.values(fields(entries));
    for (const file of found) files.push(fileOf(file, self, false));
    next = addressOf(at(listing, 'links', 'next'), next);
  }
  return files;
}

function fileOf(file: unknown, self: string, isZenodo: boolean): ListedFile {
  const { key, filename, size, filesize, checksum, mimetype, links } = fields(file);
  const name = firstText(key, filename);
  const [algorithm = '', hex] = textOf(checksum).includes(':')
    ? textOf(checksum).split(':', 2)
    : ['md5', textOf(checksum)];
  const own = addressOf(at(links, 'self'), self) ?? `${self}/files/${encodeURIComponent(name)}`;
  const content = isZenodo || lastSegment(own) === 'content' ? own : `${own}/content`;
  const url = addressOf(at(links, 'content') ?? at(links, 'download'), self) ?? content;
  return {
    name,
    bytes: bytesOf(size ?? filesize),
    checksum: checksumOf(algorithm, hex),
    urls: [url],
    mediaType: textOf(mimetype) || null,
  };
}
