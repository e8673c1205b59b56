import { uriOfIdentifier } from '../../../shared/archive/pack.ts';
import type { License } from '../../../shared/archive/vocabulary.ts';
import { nameParts } from '../../citations/citedWork.ts';
import type { CitedDeposit } from './citedDeposit.ts';

/** The licences by the names and addresses under which installations of Dataverse have them. */
const LICENSES: Record<License, { name: string; uri: string }> = {
  'CC0-1.0': { name: 'CC0 1.0', uri: 'http://creativecommons.org/publicdomain/zero/1.0' },
  'CC-BY-4.0': { name: 'CC BY 4.0', uri: 'http://creativecommons.org/licenses/by/4.0' },
};

/** The relations that make a work a "related publication" in Dataverse. Others are "related material". */
const PUBLICATION_RELATIONS: ReadonlySet<string> = new Set([
  'IsSupplementTo',
  'IsCitedBy',
  'IsReferencedBy',
  'IsDescribedBy',
  'IsDocumentedBy',
  'IsPublishedIn',
]);

interface Field {
  typeName: string;
  typeClass: 'primitive' | 'compound' | 'controlledVocabulary';
  multiple: boolean;
  value: unknown;
}

/**
 * Returns a pack as a dataset of Dataverse: the citation block of its native API
 * (https://guides.dataverse.org/en/latest/api/native-api.html), with the fingerprint as "other identifier".
 *
 * @param contact the e-mail address of the contact, which Dataverse requires; undefined if none is known
 */
export function dataverseDataset(cited: CitedDeposit, contact: string | undefined): object {
  const { work } = cited;
  const fields: Field[] = [
    text('title', work.title),
    compounds('author', work.authors.map(authorOf)),
    compounds('datasetContact', contact === undefined ? [] : [{ datasetContactEmail: contact }]),
    compounds('dsDescription', [{ dsDescriptionValue: cited.description }]),
    // Required. A pack says nothing that would choose another one.
    { typeName: 'subject', typeClass: 'controlledVocabulary', multiple: true, value: ['Other'] },
    compounds(
      'keyword',
      cited.datacite.subjects.map(({ subject }) => ({ keywordValue: subject })),
    ),
    compounds('otherId', [{ otherIdAgency: 'SHA-256', otherIdValue: cited.urn }]),
    ...(work.url === undefined ? [] : [text('alternativeURL', work.url)]),
    text('distributionDate', cited.datacite.dates[0]?.date ?? ''),
    ...relatedFields(cited),
  ];
  return {
    datasetVersion: {
      ...(work.license === null ? {} : { license: LICENSES[work.license] }),
      metadataBlocks: {
        citation: {
          displayName: 'Citation Metadata',
          fields: fields.filter(({ value }) => !Array.isArray(value) || value.length > 0),
        },
      },
    },
  };
}

function authorOf(author: CitedDeposit['work']['authors'][number]): Record<string, string> {
  const parts = nameParts(author);
  return {
    authorName: 'family' in parts ? `${parts.family}, ${parts.given}` : parts.literal,
    ...(author.affiliation ? { authorAffiliation: author.affiliation } : {}),
    ...(author.orcid === null ? {} : { authorIdentifierScheme: 'ORCID', authorIdentifier: author.orcid }),
  };
}

function relatedFields({ work, datacite }: CitedDeposit): Field[] {
  const related = datacite.relatedIdentifiers.map((each, index) => ({
    ...each,
    uri: uriOfIdentifier(work.relations[index]?.identifier ?? each.relatedIdentifier),
  }));
  const publications = related.filter(({ relationType }) => PUBLICATION_RELATIONS.has(relationType));
  const others = related.filter(({ relationType }) => !PUBLICATION_RELATIONS.has(relationType));
  return [
    compounds(
      'publication',
      publications.map(({ relationType, relatedIdentifier, relatedIdentifierType, uri }) => ({
        publicationCitation: `${relationType}: ${uri}`,
        publicationIDType: relatedIdentifierType.toLowerCase(),
        publicationIDNumber: relatedIdentifier,
        ...(uri.startsWith('http') ? { publicationURL: uri } : {}),
      })),
    ),
    {
      typeName: 'relatedMaterial',
      typeClass: 'primitive',
      multiple: true,
      value: others.map(({ relationType, uri }) => `${relationType}: ${uri}`),
    },
  ];
}

const VOCABULARIES: ReadonlySet<string> = new Set(['authorIdentifierScheme', 'publicationIDType']);

function text(typeName: string, value: string): Field {
  return { typeName, typeClass: 'primitive', multiple: false, value };
}

function compounds(typeName: string, values: readonly Record<string, string>[]): Field {
  const value = values.map((each) =>
    Object.fromEntries(
      Object.entries(each).map(([name, content]): [string, Field] => [
        name,
        VOCABULARIES.has(name)
          ? { typeName: name, typeClass: 'controlledVocabulary', multiple: false, value: content }
          : text(name, content),
      ]),
    ),
  );
  return { typeName, typeClass: 'compound', multiple: true, value };
}
