import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { expect } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { sampleRecord } from '../support/archive/packs.ts';
import type { ManualClock } from '../support/manualClock.ts';
import type { TestNode } from '../support/node.ts';

/** XML as objects. The names of attributes begin with `@`. Repeatable elements are lists. */
export type Parsed = Record<string, unknown>;

export interface Answer {
  responseDate: string;
  request: { '#text': string } & Record<string, string>;
  error?: { '@code': string; '#text': string };
  Identify?: Record<string, string>;
  ListMetadataFormats?: { metadataFormat: { metadataPrefix: string }[] };
  ListSets?: { set: { setSpec: string[]; setName: string }[]; resumptionToken?: Token };
  ListIdentifiers?: { header: Header[]; resumptionToken?: Token };
  ListRecords?: { record: HarvestedRecord[]; resumptionToken?: Token };
  GetRecord?: { record: HarvestedRecord[] };
}
export interface Token {
  '#text'?: string;
  '@cursor': string;
}
export interface Header {
  identifier: string;
  datestamp: string;
  setSpec: string[];
}
export interface HarvestedRecord {
  header: Header;
  metadata: { 'oai_dc:dc'?: Parsed; oai_datacite?: { schemaVersion: string; payload: { resource: Parsed } } };
}

const LISTS = [
  'record',
  'set',
  'setSpec',
  'metadataFormat',
  'creator',
  'relatedIdentifier',
  'subject',
  'rights',
  'dc:creator',
  'dc:subject',
  'dc:identifier',
  'dc:relation',
  'dc:rights',
];
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  trimValues: false,
  htmlEntities: true,
  isArray: (name, path) => LISTS.includes(name) || String(path).endsWith('ListIdentifiers.header'),
});

export async function readXml(response: Response): Promise<Answer> {
  expect(response.status).toBe(200);
  expect(response.headers.get('Content-Type')).toBe('text/xml; charset=utf-8');
  const text = await response.text();
  expect(XMLValidator.validate(text)).toBe(true);
  expect(text).not.toMatch(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u);
  const parsed = parser.parse(text) as { 'OAI-PMH': Answer };
  return parsed['OAI-PMH'];
}

/** Requests `/oai` with a query. */
export async function harvest(node: TestNode, query: Record<string, string> | string): Promise<Answer> {
  return readXml(await node.fetch(`/oai?${new URLSearchParams(query)}`));
}

/** Returns the OAI identifier of a pack. */
export const identifierOf = async (node: TestNode, { id }: Pick<Pack, 'id'>) =>
  `oai:${encodeURIComponent((await harvest(node, 'verb=Identify')).Identify?.repositoryName ?? '')}:${id}`;

/** Returns every header of a list, read page by page, and the date of the first response. */
export async function harvestAll(
  node: TestNode,
  query: Record<string, string> = {},
  betweenPages?: () => Promise<unknown>,
) {
  let answer = await harvest(node, { verb: 'ListIdentifiers', metadataPrefix: 'oai_dc', ...query });
  const { responseDate } = answer;
  const headers: Header[] = [];
  let pages = 0;
  for (;;) {
    headers.push(...(answer.ListIdentifiers?.header ?? []));
    pages += 1;
    const token = answer.ListIdentifiers?.resumptionToken?.['#text'];
    if (!token) return { headers, responseDate, pages, ids: headers.map(packId) };
    await betweenPages?.();
    answer = await harvest(node, { verb: 'ListIdentifiers', resumptionToken: token });
  }
}

export function packId({ identifier }: Header): string {
  return identifier.split(':').at(-1) ?? '';
}

/** Uploads packs, 0.1 s apart. */
export async function uploadMany(
  node: TestNode,
  clock: ManualClock,
  count: number,
  changes: object = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    await clock.jump(100);
    const record = sampleRecord({ title: `Pack ${index}`, ...changes });
    const answer = await node.sendJson('POST', '/api/packs', record);
    expect(answer.status).toBe(201);
    ids.push(((await answer.json()) as Pack).id);
  }
  return ids;
}
