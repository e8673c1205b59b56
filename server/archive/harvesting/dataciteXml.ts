import type { CitedWork } from '../citations/citedWork.ts';
import { type DataciteCreator, dataciteRecord } from '../citations/datacite.ts';
import { element, listElement, type Xml } from './xml.ts';

const ENVELOPE = 'http://schema.datacite.org/oai/oai-1.1/';
const KERNEL = 'http://datacite.org/schema/kernel-4';
const VERSION = '4.6';

/** Returns a work as XML of the DataCite Metadata Schema 4.6, in the envelope that DataCite's provider uses. */
export function dataciteEnvelope(work: CitedWork): Xml {
  return element(
    'oai_datacite',
    { xmlns: ENVELOPE, 'xsi:schemaLocation': `${ENVELOPE} ${ENVELOPE}oai.xsd` },
    [
      element('schemaVersion', {}, [VERSION]),
      element('datacentreSymbol', {}, [work.publisher]),
      element('payload', {}, [dataciteXml(work)]),
    ],
  );
}

function dataciteXml(work: CitedWork): Xml {
  const record = dataciteRecord(work);
  const others = record.alternateIdentifiers.filter(
    ({ alternateIdentifier }) => alternateIdentifier !== record.url,
  );
  const titles = record.titles.map(({ title }) => title);
  const subjects = record.subjects.map(({ subject }) => subject);
  return element(
    'resource',
    {
      xmlns: KERNEL,
      'xsi:schemaLocation': `${KERNEL} http://schema.datacite.org/meta/kernel-${VERSION}/metadata.xsd`,
    },
    [
      element('identifier', { identifierType: 'URL' }, [record.url]),
      listElement('creators', record.creators.map(creatorXml)),
      textList('titles', 'title', titles),
      element('publisher', {}, [record.publisher.name]),
      element('publicationYear', {}, [record.publicationYear]),
      element('resourceType', { resourceTypeGeneral: record.types.resourceTypeGeneral }, [
        record.types.resourceType,
      ]),
      textList('subjects', 'subject', subjects),
      listElement(
        'dates',
        record.dates.map(({ date, dateType }) => element('date', { dateType }, [date])),
      ),
      listElement(
        'alternateIdentifiers',
        others.map(({ alternateIdentifier, alternateIdentifierType }) =>
          element('alternateIdentifier', { alternateIdentifierType }, [alternateIdentifier]),
        ),
      ),
      listElement(
        'relatedIdentifiers',
        record.relatedIdentifiers.map(({ relatedIdentifier, relatedIdentifierType, relationType }) =>
          element('relatedIdentifier', { relatedIdentifierType, relationType }, [relatedIdentifier]),
        ),
      ),
      textList('sizes', 'size', record.sizes),
      textList('formats', 'format', record.formats),
      record.version === undefined ? undefined : element('version', {}, [record.version]),
      listElement(
        'rightsList',
        record.rightsList.map(({ rights, rightsUri, schemeUri, ...identified }) =>
          element('rights', { rightsURI: rightsUri, schemeURI: schemeUri, ...identified }, [rights]),
        ),
      ),
      listElement(
        'descriptions',
        record.descriptions.map(({ description, descriptionType }) =>
          element('description', { descriptionType }, [description]),
        ),
      ),
    ],
  );
}

/** Returns a list whose elements contain only text. */
function textList(name: string, itemName: string, texts: readonly string[]): Xml | undefined {
  return listElement(
    name,
    texts.map((text) => element(itemName, {}, [text])),
  );
}

function creatorXml({ name, nameType, givenName, familyName, ...more }: DataciteCreator): Xml {
  return element('creator', {}, [
    element('creatorName', { nameType }, [name]),
    givenName === undefined ? undefined : element('givenName', {}, [givenName]),
    familyName === undefined ? undefined : element('familyName', {}, [familyName]),
    ...(more.nameIdentifiers ?? []).map(({ nameIdentifier, nameIdentifierScheme, schemeUri }) =>
      element('nameIdentifier', { nameIdentifierScheme, schemeURI: schemeUri }, [nameIdentifier]),
    ),
    ...(more.affiliation ?? []).map((each) => element('affiliation', {}, [each.name])),
  ]);
}
