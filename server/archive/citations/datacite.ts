import { isDigest } from '../../../shared/digest.ts';
import type { License } from '../../../shared/vocabulary.ts';
import type { CitedAuthor, CitedRelation, CitedWork } from './citedWork.ts';
import { genreOf } from './csl.ts';
import { nameParts } from './names.ts';

const RIGHTS: Record<License, { rights: string; rightsUri: string }> = {
  'CC-BY-4.0': {
    rights: 'Creative Commons Attribution 4.0 International',
    rightsUri: 'https://creativecommons.org/licenses/by/4.0/legalcode',
  },
  'CC0-1.0': {
    rights: 'Creative Commons Zero v1.0 Universal',
    rightsUri: 'https://creativecommons.org/publicdomain/zero/1.0/legalcode',
  },
};

/** DataCite's standard value for unknown information (Metadata Schema 4.6, appendix 3). */
const UNAVAILABLE = ':unav';

/** Returns the work in DataCite JSON (Metadata Schema 4.6). It has no DOI, so its URL is the identifier. */
export function dataciteRecord(work: CitedWork): object {
  const { year, month, day } = work.date;
  const date = [year, month, day].map((part) => String(part).padStart(2, '0')).join('-');
  return {
    schemaVersion: 'http://datacite.org/schema/kernel-4',
    types: {
      resourceTypeGeneral: work.kind === 'pack' ? 'Dataset' : 'Collection',
      resourceType: genreOf(work),
    },
    url: work.url,
    identifiers: [{ identifier: work.url, identifierType: 'URL' }],
    alternateIdentifiers: [
      { alternateIdentifier: work.id, alternateIdentifierType: 'Strongroom id' },
      ...(work.digest
        ? [{ alternateIdentifier: work.digest, alternateIdentifierType: 'SHA-256 fingerprint' }]
        : []),
    ],
    creators: work.authors.length > 0 ? work.authors.map(creatorOf) : [{ name: UNAVAILABLE }],
    titles: [{ title: work.title }],
    publisher: { name: work.publisher },
    publicationYear: String(year),
    dates: [{ date, dateType: work.kind === 'pack' ? 'Issued' : 'Created' }],
    subjects: work.keywords.map((subject) => ({ subject })),
    descriptions: work.abstract ? [{ description: work.abstract, descriptionType: 'Abstract' }] : [],
    rightsList: work.license
      ? [
          {
            ...RIGHTS[work.license],
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

function creatorOf({ name, orcid, affiliation }: CitedAuthor): object {
  const parts = nameParts(name);
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

function relatedIdentifier({ relation, identifier }: CitedRelation): object {
  const doi = /^(?:doi:|https?:\/\/(?:dx\.)?doi\.org\/)?(10\.\d{4,9}\/\S+)$/i.exec(identifier)?.[1];
  if (doi !== undefined) {
    return { relatedIdentifier: doi, relatedIdentifierType: 'DOI', relationType: relation };
  }
  const digest = identifier.replace(/^sha256:/, '');
  return isDigest(digest)
    ? { relatedIdentifier: `urn:sha256:${digest}`, relatedIdentifierType: 'URN', relationType: relation }
    : { relatedIdentifier: identifier, relatedIdentifierType: 'URL', relationType: relation };
}
