import { type PackFile, parseRelatedIdentifier, uriOfIdentifier } from '../../shared/archive/pack.ts';
import type { License } from '../../shared/archive/vocabulary.ts';
import {
  type CitableWork,
  type CitedAuthor,
  type CitedRelation,
  type CitedWork,
  dateText,
  doiUrlOf,
  KINDS,
  nameParts,
  urnOf,
} from './citedWork.ts';
import { pwidOf } from './textFormats.ts';

/** The name and the address of each licence, as catalogues know them. */
export const LICENSES_CITED: Record<License, { rights: string; rightsUri: string }> = {
  'CC-BY-4.0': {
    rights: 'Creative Commons Attribution 4.0 International',
    rightsUri: 'https://creativecommons.org/licenses/by/4.0/legalcode',
  },
  'CC0-1.0': {
    rights: 'Creative Commons Zero v1.0 Universal',
    rightsUri: 'https://creativecommons.org/publicdomain/zero/1.0/legalcode',
  },
};

export interface DataciteCreator {
  name: string;
  nameType?: 'Personal';
  givenName?: string;
  familyName?: string;
  nameIdentifiers?: { nameIdentifier: string; nameIdentifierScheme: string; schemeUri: string }[];
  affiliation?: { name: string }[];
}

/** A work in DataCite's schema. Lists may be empty. */
interface DataciteRecord {
  schemaVersion: string;
  /** Of a published deposit. */
  doi?: string;
  types: { resourceTypeGeneral: string; resourceType: string };
  /** A URN if the node has no address that others can open. The schema of 4.5 requires it. */
  url: string;
  alternateIdentifiers: { alternateIdentifier: string; alternateIdentifierType: string }[];
  creators: DataciteCreator[];
  titles: { title: string }[];
  publisher: { name: string };
  publicationYear: string;
  dates: { date: string; dateType: string }[];
  subjects: { subject: string }[];
  descriptions: { description: string; descriptionType: string }[];
  rightsList: {
    rights: string;
    rightsUri: string;
    rightsIdentifier: string;
    rightsIdentifierScheme: string;
    schemeUri: string;
  }[];
  sizes: string[];
  formats: string[];
  version?: string;
  relatedIdentifiers: {
    relatedIdentifier: string;
    relatedIdentifierType: 'DOI' | 'URL' | 'URN';
    relationType: string;
  }[];
}

/** DataCite's standard value for unknown information (Metadata Schema 4.6, appendix 3). */
const UNAVAILABLE = ':unav';

/**
 * The work by the DataCite Metadata Schema 4.6, in DataCite's JSON as versions 4.5 and later have it: no `identifiers`,
 * lists without repetition. A work without a DOI is identified by its address.
 */
export function dataciteRecord(work: CitableWork): DataciteRecord {
  const { datacite, genre, dated } = KINDS[work.kind];
  const pwid = pwidOf(work);
  return {
    schemaVersion: 'http://datacite.org/schema/kernel-4',
    ...(work.doi === undefined ? {} : { doi: work.doi }),
    types: { resourceTypeGeneral: datacite, resourceType: genre },
    url: work.url ?? urnOf(work) ?? `urn:strongroom:${work.kind}:${work.id}`,
    alternateIdentifiers: [
      ...(work.url === undefined ? [] : [{ alternateIdentifier: work.url, alternateIdentifierType: 'URL' }]),
      { alternateIdentifier: work.id, alternateIdentifierType: 'Strongroom id' },
      ...(work.digest
        ? [{ alternateIdentifier: work.digest, alternateIdentifierType: 'SHA-256 fingerprint' }]
        : []),
      ...(pwid === undefined ? [] : [{ alternateIdentifier: pwid, alternateIdentifierType: 'PWID' }]),
    ],
    creators: work.authors.length > 0 ? work.authors.map(creatorOf) : [{ name: UNAVAILABLE }],
    titles: [{ title: work.title }],
    publisher: { name: work.publisher },
    publicationYear: String(work.date.year),
    dates: [{ date: dateText(work), dateType: dated }],
    subjects: [...new Set(work.keywords)].map((subject) => ({ subject })),
    descriptions: work.abstract ? [{ description: work.abstract, descriptionType: 'Abstract' }] : [],
    rightsList: work.license
      ? [
          {
            ...LICENSES_CITED[work.license],
            rightsIdentifier: work.license,
            rightsIdentifierScheme: 'SPDX',
            schemeUri: 'https://spdx.org/licenses/',
          },
        ]
      : [],
    sizes: [`${work.bytes} bytes`, `${work.files} files`],
    formats: work.mediaTypes,
    ...(work.version === undefined ? {} : { version: String(work.version) }),
    relatedIdentifiers: work.relations.map(relatedIdentifier),
  };
}

function creatorOf(author: CitedAuthor): DataciteCreator {
  const { name, orcid, affiliation } = author;
  const parts = nameParts(author);
  const isSplit = 'family' in parts;
  return {
    name,
    // An ORCID iD belongs to a person. Other names may be those of organizations.
    ...(isSplit || orcid ? { nameType: 'Personal' } : {}),
    ...(isSplit ? { givenName: parts.given, familyName: parts.family } : {}),
    ...(orcid
      ? {
          nameIdentifiers: [
            {
              nameIdentifier: `https://orcid.org/${orcid}`,
              nameIdentifierScheme: 'ORCID',
              schemeUri: 'https://orcid.org',
            },
          ],
        }
      : {}),
    ...(affiliation ? { affiliation: [{ name: affiliation }] } : {}),
  };
}

function relatedIdentifier({
  relation,
  identifier,
}: CitedRelation): DataciteRecord['relatedIdentifiers'][number] {
  const parsed = parseRelatedIdentifier(identifier);
  switch (parsed.kind) {
    case 'doi':
      return { relatedIdentifier: parsed.doi, relatedIdentifierType: 'DOI', relationType: relation };
    case 'digest':
      return {
        relatedIdentifier: `urn:sha256:${parsed.digest}`,
        relatedIdentifierType: 'URN',
        relationType: relation,
      };
    case 'other':
      return { relatedIdentifier: identifier, relatedIdentifierType: 'URL', relationType: relation };
  }
}

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
    identifier: identifiersOf(work),
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
      ? {
          distribution: [
            ...(work.isSet ? [downloadOfSet(work, origin)] : []),
            ...files.slice(0, MAX_PARTS).map((file) => downloadOf(file, origin)),
          ],
        }
      : {}),
  };
}

/** Search engines for data sets take a DOI as its URL. */
function identifiersOf(work: CitedWork): string | string[] {
  const own = urnOf(work) ?? work.id;
  const doi = doiUrlOf(work);
  return doi === undefined ? own : [doi, own];
}

function personOf(author: CitedAuthor): object {
  const { name, orcid, affiliation } = author;
  const parts = nameParts(author);
  return {
    '@type': 'Person',
    ...(orcid ? { '@id': `https://orcid.org/${orcid}` } : {}),
    name,
    ...('family' in parts ? { givenName: parts.given, familyName: parts.family } : {}),
    ...(affiliation ? { affiliation: { '@type': 'Organization', name: affiliation } } : {}),
  };
}

/** All files of a set, in one ZIP. */
function downloadOfSet({ id, bytes }: CitedWork, origin: string): object {
  return {
    '@type': 'DataDownload',
    name: `${id}.zip`,
    contentUrl: `${origin}/api/packs/${id}/set/download`,
    encodingFormat: 'application/zip',
    contentSize: `${bytes} B`,
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
