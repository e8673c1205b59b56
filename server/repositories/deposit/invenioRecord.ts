import type { DataciteCreator } from '../../citations/jsonFormats.ts';
import type { CitedDeposit } from './citedDeposit.ts';

/** DataCite's types of related identifiers, as InvenioRDM names their schemes. */
const SCHEMES = { DOI: 'doi', URL: 'url', URN: 'urn' } as const;

/**
 * Returns a pack as a draft of InvenioRDM (https://inveniordm.docs.cern.ch/reference/metadata/): public, with its
 * fingerprint and its address among the alternate identifiers.
 */
export function invenioRecord(
  { work, datacite, urn, description }: CitedDeposit,
  repository: string,
): object {
  const own = [
    { identifier: urn, scheme: 'urn' },
    ...(work.url === undefined ? [] : [{ identifier: work.url, scheme: 'url' }]),
  ];
  return {
    access: { record: 'public', files: 'public' },
    files: { enabled: true },
    metadata: {
      resource_type: { id: 'dataset' },
      title: work.title,
      creators: datacite.creators.map(creatorOf),
      publication_date: datacite.dates[0]?.date,
      publisher: publisherOf(repository),
      description,
      rights: work.license === null ? [] : [{ id: work.license.toLowerCase() }],
      subjects: datacite.subjects,
      ...(datacite.version === undefined ? {} : { version: datacite.version }),
      identifiers: own,
      related_identifiers: datacite.relatedIdentifiers.map(
        ({ relatedIdentifier, relatedIdentifierType, relationType }) => ({
          identifier: relatedIdentifier,
          scheme: SCHEMES[relatedIdentifierType],
          relation_type: { id: relationType.toLowerCase() },
        }),
      ),
    },
  };
}

/** Who publishes the deposit: the repository. */
function publisherOf(repository: string): string {
  const { hostname } = new URL(repository);
  return /(^|\.)zenodo\.org$/.test(hostname) ? 'Zenodo' : hostname;
}

function creatorOf(creator: DataciteCreator): object {
  const { name, nameType, givenName, familyName, nameIdentifiers = [], affiliation = [] } = creator;
  const identifiers = nameIdentifiers.map(({ nameIdentifier }) => ({
    scheme: 'orcid',
    identifier: nameIdentifier.replace('https://orcid.org/', ''),
  }));
  return {
    person_or_org:
      nameType === 'Personal'
        ? { type: 'personal', family_name: familyName ?? name, given_name: givenName ?? '', identifiers }
        : { type: 'organizational', name, identifiers },
    ...(affiliation.length > 0 && { affiliations: affiliation }),
  };
}
