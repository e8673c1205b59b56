import { type CitedWork, dateText } from '../citations/citedWork.ts';
import { LICENSES_CITED } from '../citations/datacite.ts';
import { element, type Xml } from './xml.ts';

const OAI_DC = 'http://www.openarchives.org/OAI/2.0/oai_dc/';

/** Returns a work in the fifteen elements of unqualified Dublin Core, which every harvester reads. */
export function dublinCore(work: CitedWork): Xml {
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
    ['identifier', [work.url, work.digest ? `urn:sha256:${work.digest}` : undefined]],
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
