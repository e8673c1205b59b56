import type { CitedWork } from '../citations/citedWork.ts';
import { dataciteEnvelope } from './dataciteXml.ts';
import { dublinCore } from './dublinCore.ts';
import type { Xml } from './xml.ts';

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
