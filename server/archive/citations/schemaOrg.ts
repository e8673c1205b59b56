import type { PackFile } from '../../../shared/archive/pack.ts';
import { uriOfIdentifier } from '../../../shared/archive/relatedIdentifier.ts';
import { type CitedAuthor, type CitedWork, dateText } from './citedWork.ts';
import { LICENSES_CITED } from './datacite.ts';
import { nameParts } from './names.ts';

/** The maximum number of files, packs or authors that are listed. The linkset lists all files. */
export const MAX_PARTS = 100;
/** Google Dataset Search reads descriptions of up to 5,000 characters. */
const MAX_DESCRIPTION = 5_000;

/**
 * Returns a pack or a study as schema.org JSON-LD (https://schema.org/Dataset): a pack is a `Dataset` with its files, a
 * study is a `Collection` of packs.
 *
 * @param files the files of a pack; empty for a study.
 */
export function schemaOrgDocument(work: CitedWork, files: readonly PackFile[], origin: string): object {
  const isPack = work.kind === 'pack';
  const partOf = work.relations.filter(({ relation }) => relation === 'IsPartOf');
  const parts = work.relations.filter(({ relation }) => relation === 'HasPart').slice(0, MAX_PARTS);
  return {
    '@context': 'https://schema.org',
    '@type': isPack ? 'Dataset' : 'Collection',
    '@id': work.url,
    url: work.url,
    name: work.title,
    ...(work.abstract ? { description: work.abstract.slice(0, MAX_DESCRIPTION).toWellFormed() } : {}),
    identifier: work.digest ? `urn:sha256:${work.digest}` : work.id,
    ...(work.authors.length > 0 ? { creator: work.authors.slice(0, MAX_PARTS).map(personOf) } : {}),
    publisher: { '@type': 'Organization', name: work.publisher },
    datePublished: dateText(work),
    ...(work.version === undefined ? {} : { version: String(work.version) }),
    ...(work.license ? { license: LICENSES_CITED[work.license].rightsUri } : {}),
    ...(work.keywords.length > 0 ? { keywords: [...new Set(work.keywords)] } : {}),
    isAccessibleForFree: true,
    ...(isPack
      ? { includedInDataCatalog: { '@type': 'DataCatalog', name: work.publisher, url: `${origin}/` } }
      : {}),
    ...(partOf.length > 0
      ? {
          isPartOf: partOf.map(({ identifier }) => ({
            '@type': 'Collection',
            '@id': uriOfIdentifier(identifier),
          })),
        }
      : {}),
    ...(parts.length > 0
      ? {
          hasPart: parts.map(({ identifier }) => ({
            '@type': 'Dataset',
            '@id': uriOfIdentifier(identifier),
          })),
        }
      : {}),
    ...(files.length > 0
      ? { distribution: files.slice(0, MAX_PARTS).map((file) => downloadOf(file, origin)) }
      : {}),
  };
}

function personOf({ name, orcid, affiliation }: CitedAuthor): object {
  const parts = nameParts(name);
  return {
    '@type': 'Person',
    ...(orcid ? { '@id': `https://orcid.org/${orcid}` } : {}),
    name,
    ...('family' in parts ? { givenName: parts.given, familyName: parts.family } : {}),
    ...(affiliation ? { affiliation: { '@type': 'Organization', name: affiliation } } : {}),
  };
}

function downloadOf({ path, sha256, bytes, media_type }: PackFile, origin: string): object {
  return {
    '@type': 'DataDownload',
    name: path,
    contentUrl: `${origin}/api/blobs/${sha256}`,
    encodingFormat: media_type,
    contentSize: `${bytes} B`,
    sha256,
  };
}
