import { type CitedAuthor, type CitedWork, dateText } from '../citedWork.ts';
import { LICENSES_CITED } from '../datacite.ts';
import { nameParts } from '../names.ts';
import type { Column } from './columns.ts';
import type { TableDescription } from './parseHead.ts';
import type { DescribedFile } from './readTables.ts';

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

function contributorOf({ name, orcid, affiliation }: CitedAuthor): object {
  const parts = nameParts(name);
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
