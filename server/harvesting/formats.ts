import { type CitedWork, dateText, doiUrlOf, urnOf } from '../citations/citedWork.ts';
import { type DataciteCreator, dataciteRecord, LICENSES_CITED } from '../citations/jsonFormats.ts';

const ENVELOPE = 'http://schema.datacite.org/oai/oai-1.1/';
const KERNEL = 'http://datacite.org/schema/kernel-4';
const VERSION = '4.6';

/** Returns a work as XML of the DataCite Metadata Schema 4.6, in the envelope that DataCite's provider uses. */
function dataciteEnvelope(work: CitedWork): Xml {
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
    ({ alternateIdentifier }) => record.doi !== undefined || alternateIdentifier !== record.url,
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
      element('identifier', { identifierType: record.doi === undefined ? 'URL' : 'DOI' }, [
        record.doi ?? record.url,
      ]),
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

const OAI_DC = 'http://www.openarchives.org/OAI/2.0/oai_dc/';

/** Returns a work in the fifteen elements of unqualified Dublin Core, which every harvester reads. */
function dublinCore(work: CitedWork): Xml {
  const license = work.license ? LICENSES_CITED[work.license] : undefined;
  const fields: [name: string, values: (string | undefined)[]][] = [
    ['title', [work.title]],
    ['creator', work.authors.map(({ name }) => name)],
    ['subject', work.keywords],
    ['description', [work.abstract || undefined]],
    ['publisher', [work.publisher]],
    ['date', [dateText(work)]],
    ['type', ['Dataset']],
    ['format', work.mediaTypes],
    ['identifier', [doiUrlOf(work), work.url, urnOf(work)]],
    ['relation', work.relations.map(({ identifier }) => identifier)],
    ['rights', [license?.rights, license?.rightsUri]],
  ];
  return element(
    'oai_dc:dc',
    {
      'xmlns:oai_dc': OAI_DC,
      'xmlns:dc': 'http://purl.org/dc/elements/1.1/',
      'xsi:schemaLocation': `${OAI_DC} http://www.openarchives.org/OAI/2.0/oai_dc.xsd`,
    },
    fields.flatMap(([name, values]) =>
      values.filter((value) => value !== undefined).map((value) => element(`dc:${name}`, {}, [value])),
    ),
  );
}

interface Format {
  prefix: 'oai_dc' | 'oai_datacite';
  schema: string;
  namespace: string;
  write: (work: CitedWork) => Xml;
}
export type MetadataPrefix = Format['prefix'];

/** The metadata formats of every pack. */
export const FORMATS: readonly [Format, Format] = [
  {
    prefix: 'oai_dc',
    schema: 'http://www.openarchives.org/OAI/2.0/oai_dc.xsd',
    namespace: 'http://www.openarchives.org/OAI/2.0/oai_dc/',
    write: dublinCore,
  },
  {
    prefix: 'oai_datacite',
    schema: 'http://schema.datacite.org/oai/oai-1.1/oai.xsd',
    namespace: 'http://schema.datacite.org/oai/oai-1.1/',
    write: dataciteEnvelope,
  },
];

/** Serialized XML. A plain string is text and is escaped. */
export class Xml {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type XmlContent = Xml | string | undefined;

/** Returns an element. Undefined children and attributes are omitted. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | undefined>> = {},
  content: readonly XmlContent[] = [],
): Xml {
  const opening = Object.entries(attributes)
    .filter((attribute): attribute is [string, string] => attribute[1] !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join('');
  const inner = content
    .filter((each) => each !== undefined)
    .map((each) => (typeof each === 'string' ? escapeXml(each) : each.text))
    .join('');
  return new Xml(inner === '' ? `<${name}${opening}/>` : `<${name}${opening}>${inner}</${name}>`);
}

/** Returns an element around a list of elements, or nothing if the list is empty. */
function listElement(name: string, elements: readonly Xml[]): Xml | undefined {
  return elements.length === 0 ? undefined : element(name, {}, elements);
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/** Escapes the text of an element or an attribute. Characters that XML 1.0 forbids become U+FFFD. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"\t\n\r]/g, (character) => ESCAPED[character] ?? character);
}
