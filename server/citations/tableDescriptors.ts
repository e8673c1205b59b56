import { type CitedAuthor, type CitedWork, dateText, doiUrlOf, nameParts } from './citedWork.ts';
import { LICENSES_CITED } from './jsonFormats.ts';
import {
  type Column,
  type ColumnType,
  type DescribedFile,
  type TableDescription,
  uniqueSlugs,
} from './tables.ts';
import { bibtexEntry } from './textFormats.ts';

const CROISSANT_VERSION = 'http://mlcommons.org/croissant/1.0';

/** The context of the terms used here (Croissant 1.0, appendix 1), without a default language. */
const CONTEXT = {
  '@vocab': 'https://schema.org/',
  sc: 'https://schema.org/',
  cr: 'http://mlcommons.org/croissant/',
  dct: 'http://purl.org/dc/terms/',
  citeAs: 'cr:citeAs',
  column: 'cr:column',
  conformsTo: 'dct:conformsTo',
  dataType: { '@id': 'cr:dataType', '@type': '@vocab' },
  extract: 'cr:extract',
  field: 'cr:field',
  fileObject: 'cr:fileObject',
  recordSet: 'cr:recordSet',
  source: 'cr:source',
};

const DATA_TYPES: Record<ColumnType, string> = {
  integer: 'sc:Integer',
  number: 'sc:Float',
  boolean: 'sc:Boolean',
  date: 'sc:Date',
  // Croissant 1.0 has one type for both.
  datetime: 'sc:Date',
  string: 'sc:Text',
};

/** Readers of Croissant choose the delimiter by the media type alone. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ',': 'text/csv',
  '\t': 'text/tab-separated-values',
};

/**
 * Returns a pack as a Croissant 1.0 dataset (https://docs.mlcommons.org/croissant/docs/croissant-spec.html) in JSON-LD:
 * every file with its address and digest, and a record set for each table that Croissant can read.
 */
export function croissantDescriptor(
  work: CitedWork,
  files: readonly DescribedFile[],
  blobAt: (sha256: string) => string,
): object {
  return {
    '@context': CONTEXT,
    '@type': 'sc:Dataset',
    name: work.title,
    description: work.abstract || work.title,
    conformsTo: CROISSANT_VERSION,
    url: work.url,
    ...(work.license ? { license: LICENSES_CITED[work.license].rightsUri } : {}),
    creator: work.authors.map(creatorOf),
    publisher: { '@type': 'sc:Organization', name: work.publisher },
    datePublished: dateText(work),
    version: `${work.version ?? 1}.0.0`,
    ...(work.keywords.length > 0 ? { keywords: [...new Set(work.keywords)] } : {}),
    citeAs: bibtexEntry(work),
    ...(work.digest ? { identifier: `urn:sha256:${work.digest}` } : {}),
    ...(work.doi === undefined ? {} : { sameAs: doiUrlOf(work) }),
    distribution: files.map(({ file, slug, table }) => ({
      '@type': 'cr:FileObject',
      '@id': slug,
      name: file.path,
      contentUrl: blobAt(file.sha256),
      contentSize: `${file.bytes} B`,
      encodingFormat: (table && MEDIA_TYPES[table.delimiter]) ?? file.media_type,
      sha256: file.sha256,
    })),
    recordSet: files.flatMap(recordSetOf),
  };
}

function recordSetOf({ file, slug, table }: DescribedFile): object[] {
  if (!table || MEDIA_TYPES[table.delimiter] === undefined) return [];
  const id = `${slug}/records`;
  const slugs = uniqueSlugs(
    table.columns.map(({ name }) => name),
    'column',
  );
  const field = table.columns.map(({ name, type }, index) => ({
    '@type': 'cr:Field',
    '@id': `${id}/${slugs[index]}`,
    name,
    dataType: DATA_TYPES[type],
    source: { fileObject: { '@id': slug }, extract: { column: name } },
  }));
  return [{ '@type': 'cr:RecordSet', '@id': id, name: file.path, field }];
}

function creatorOf(author: CitedAuthor): object {
  const { name, orcid, affiliation } = author;
  const parts = nameParts(author);
  return {
    '@type': 'sc:Person',
    ...(orcid ? { '@id': `https://orcid.org/${orcid}` } : {}),
    name,
    ...('family' in parts ? { givenName: parts.given, familyName: parts.family } : {}),
    ...(affiliation ? { affiliation: { '@type': 'sc:Organization', name: affiliation } } : {}),
  };
}

const PROFILES = 'https://datapackage.org/profiles/2.0';

/**
 * Returns `datapackage.json` of a pack: a Data Package 2.0 (https://datapackage.org) that readers of version 1 also
 * accept. Every file is a resource, addressed by its digest; tables have a schema.
 */
export function frictionlessDescriptor(
  work: CitedWork,
  files: readonly DescribedFile[],
  blobAt: (sha256: string) => string,
): object {
  const isTabular = files.every(({ table }) => table !== undefined);
  return {
    $schema: `${PROFILES}/datapackage.json`,
    profile: isTabular ? 'tabular-data-package' : 'data-package',
    name: work.id,
    id: work.digest,
    ...(work.doi === undefined ? {} : { doi: work.doi }),
    title: work.title,
    ...(work.abstract ? { description: work.abstract } : {}),
    homepage: work.url,
    version: String(work.version ?? 1),
    created: `${dateText(work)}T00:00:00Z`,
    ...(work.keywords.length > 0 ? { keywords: [...new Set(work.keywords)] } : {}),
    ...(work.license ? { licenses: [licenseOf(work.license)] } : {}),
    contributors: work.authors.map(contributorOf),
    resources: files.map((each) => resourceOf(each, blobAt)),
  };
}

function licenseOf(license: NonNullable<CitedWork['license']>): object {
  const { rights, rightsUri } = LICENSES_CITED[license];
  return { name: license, path: rightsUri, title: rights };
}

function contributorOf(author: CitedAuthor): object {
  const { name, orcid, affiliation } = author;
  const parts = nameParts(author);
  return {
    title: name,
    ...('family' in parts ? { givenName: parts.given, familyName: parts.family } : {}),
    ...(orcid ? { path: `https://orcid.org/${orcid}` } : {}),
    ...(affiliation ? { organization: affiliation } : {}),
    role: 'author',
    roles: ['author'],
  };
}

function resourceOf({ file, slug, table }: DescribedFile, blobAt: (sha256: string) => string): object {
  const { path, sha256, bytes, media_type } = file;
  return {
    profile: table ? 'tabular-data-resource' : 'data-resource',
    name: slug,
    ...(table ? { type: 'table' } : {}),
    title: path,
    path: blobAt(sha256),
    bytes,
    hash: `sha256:${sha256}`,
    mediatype: media_type,
    ...(table ? tableMembers(table) : {}),
  };
}

function tableMembers({ delimiter, columns, missing }: TableDescription): object {
  return {
    // Also for tabs: not every reader knows `tsv`, and all of them split cells by the dialect.
    format: 'csv',
    encoding: 'utf-8',
    ...(delimiter === ',' ? {} : { dialect: { delimiter, doubleQuote: true } }),
    schema: {
      $schema: `${PROFILES}/tableschema.json`,
      fields: columns.map(fieldOf),
      missingValues: missing,
    },
  };
}

/** Only `any` makes every reader accept every form of ISO 8601. */
function fieldOf({ name, type }: Column): object {
  return { name, type, ...(type === 'datetime' ? { format: 'any' } : {}) };
}
