import { MEBIBYTE } from '../../shared/limits.ts';
import { type CitationContext, readCitedPack } from '../citations/citedWork.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { changedPacks, firstDatestamp, type HarvestedPack, harvestedPack, secondOf } from './changes.ts';
import { element, FORMATS, type MetadataPrefix, type Xml } from './formats.ts';
import {
  allSets,
  HarvestError,
  type HarvestRequest,
  listTokenOf,
  parseRequest,
  parseSelection,
  readSetsToken,
  requirePrefix,
  setsTokenOf,
} from './request.ts';

/** The provider that answers a harvester. */
export interface Provider extends CitationContext {
  /** The e-mail address for harvesters. */
  email: string;
}

/** The number of records, headers or sets in one response. */
const PAGE = 50;
/**
 * After this many bytes of records read and XML written, a list continues in the next response. Every response has at
 * least one record.
 */
const MAX_BYTES = 2 * MEBIBYTE;

const OAI_PMH = 'http://www.openarchives.org/OAI/2.0/';

/**
 * Returns the XML that answers an OAI-PMH 2.0 request (https://www.openarchives.org/OAI/openarchivesprotocol.html), from
 * one snapshot. Errors are part of it, with the codes of the protocol.
 *
 * The response date is the second of the newest visible ledger entry. A harvest that continues from that date misses
 * nothing: later entries have no earlier time, even if their commit was in progress.
 */
export function harvest(
  { read, instant }: Pick<Store, 'read' | 'instant'>,
  search: URLSearchParams,
  provider: Provider,
): string {
  const answer = read.transaction(() => {
    const asOf = secondOf(lastEntry(read)?.at ?? instant());
    const [request, content] = answerOrError(read, search, provider, asOf);
    return element(
      'OAI-PMH',
      {
        xmlns: OAI_PMH,
        'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
        'xsi:schemaLocation': `${OAI_PMH} ${OAI_PMH}OAI-PMH.xsd`,
      },
      [element('responseDate', {}, [asOf]), request, content],
    );
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${answer.deferred().text}\n`;
}

/** Returns the element that repeats the request, without invalid arguments, and the answer. */
function answerOrError(
  database: ReadDatabase,
  search: URLSearchParams,
  provider: Provider,
  asOf: string,
): [request: Xml, content: Xml] {
  const baseUrl = baseUrlOf(provider);
  let repeated: Record<string, string | undefined> = {};
  try {
    const request = parseRequest(search);
    repeated = { verb: request.verb, ...request.arguments };
    const content = ANSWERS[request.verb]({ database, request, provider, asOf });
    return [element('request', repeated, [baseUrl]), element(request.verb, {}, content)];
  } catch (error) {
    if (!(error instanceof HarvestError)) throw error;
    const { code, message } = error;
    if (code === 'badArgument') repeated = {};
    return [element('request', repeated, [baseUrl]), element('error', { code }, [message])];
  }
}

interface Asked {
  database: ReadDatabase;
  request: HarvestRequest;
  provider: Provider;
  asOf: string;
}

const ANSWERS: Record<HarvestRequest['verb'], (asked: Asked) => Xml[]> = {
  Identify: identify,
  ListMetadataFormats: listFormats,
  ListSets: listSets,
  ListIdentifiers: (asked) => listPacks(asked, (pack) => headerXml(pack, asked.provider)),
  ListRecords: (asked) =>
    listPacks(asked, (pack, prefix) => recordXml(asked.database, pack, prefix, asked.provider)),
  GetRecord: getRecord,
};

function baseUrlOf({ origin }: Provider): string {
  return `${origin}/oai`;
}

function identify({ database, provider, asOf }: Asked): Xml[] {
  const facts: [name: string, value: string][] = [
    ['repositoryName', provider.publisher],
    ['baseURL', baseUrlOf(provider)],
    ['protocolVersion', '2.0'],
    ['adminEmail', provider.email],
    ['earliestDatestamp', firstDatestamp(database) ?? asOf],
    // Nothing is ever deleted; a deletion would be listed permanently.
    ['deletedRecord', 'persistent'],
    ['granularity', 'YYYY-MM-DDThh:mm:ssZ'],
  ];
  return facts.map(([name, value]) => element(name, {}, [value]));
}

function listFormats({ database, request, provider }: Asked): Xml[] {
  const { identifier } = request.arguments;
  if (identifier !== undefined) requirePack(database, identifier, provider);
  return FORMATS.map(({ prefix, schema, namespace }) =>
    element('metadataFormat', {}, [
      element('metadataPrefix', {}, [prefix]),
      element('schema', {}, [schema]),
      element('metadataNamespace', {}, [namespace]),
    ]),
  );
}

function listSets({ database, request }: Asked): Xml[] {
  const { resumptionToken } = request.arguments;
  const cursor = resumptionToken === undefined ? 0 : readSetsToken(resumptionToken);
  const sets = allSets(database);
  if (cursor >= sets.length) {
    throw new HarvestError('badResumptionToken', 'There are no more sets after this resumptionToken.');
  }
  const next = cursor + PAGE;
  return [
    ...sets
      .slice(cursor, next)
      .map(({ spec, name }) =>
        element('set', {}, [element('setSpec', {}, [spec]), element('setName', {}, [name])]),
      ),
    ...tokenXml(cursor, next < sets.length ? setsTokenOf(next) : undefined),
  ];
}

function listPacks(
  { database, request }: Asked,
  write: (pack: HarvestedPack, prefix: MetadataPrefix) => Xml,
): Xml[] {
  const selection = parseSelection(request);
  const cursor = selection.position?.cursor ?? 0;
  const written: Xml[] = [];
  let bytes = 0;
  let token: string | undefined;
  for (const pack of changedPacks(database, selection)) {
    if (written.length === PAGE || bytes >= MAX_BYTES) {
      token = listTokenOf(request.verb, selection, { ...pack, cursor: cursor + written.length });
      break;
    }
    const xml = write(pack, selection.prefix);
    bytes += pack.bytes + Buffer.byteLength(xml.text);
    written.push(xml);
  }
  if (written.length === 0) throw new HarvestError('noRecordsMatch', 'No pack matches this selection.');
  return [...written, ...tokenXml(cursor, token)];
}

/** A list in parts ends with an empty token. A complete list has none. */
function tokenXml(cursor: number, token: string | undefined): Xml[] {
  if (cursor === 0 && token === undefined) return [];
  return [element('resumptionToken', { cursor: String(cursor) }, [token])];
}

function getRecord({ database, request, provider }: Asked): Xml[] {
  const prefix = requirePrefix(request.arguments.metadataPrefix ?? '');
  const pack = requirePack(database, request.arguments.identifier ?? '', provider);
  return [recordXml(database, pack, prefix, provider)];
}

/** @throws HarvestError `idDoesNotExist` */
function requirePack(database: ReadDatabase, identifier: string, provider: Provider): HarvestedPack {
  const id = identifier.slice(identifier.lastIndexOf(':') + 1);
  const pack = identifierOf(id, provider) === identifier ? harvestedPack(database, id) : undefined;
  if (pack) return pack;
  throw new HarvestError('idDoesNotExist', 'This archive has no pack with this identifier.');
}

/** The same pack in another archive is another record, because its datestamps and relations differ. */
function identifierOf(id: string, { publisher }: Provider): string {
  return `oai:${encodeURIComponent(publisher)}:${id}`;
}

function headerXml({ id, datestamp, sets }: HarvestedPack, provider: Provider): Xml {
  return element('header', {}, [
    element('identifier', {}, [identifierOf(id, provider)]),
    element('datestamp', {}, [datestamp]),
    ...sets.map((set) => element('setSpec', {}, [set])),
  ]);
}

function recordXml(
  database: ReadDatabase,
  pack: HarvestedPack,
  prefix: MetadataPrefix,
  provider: Provider,
): Xml {
  const { work } = readCitedPack(database, pack.id, provider);
  const metadata = FORMATS.find((format) => format.prefix === prefix)?.write(work);
  return element('record', {}, [headerXml(pack, provider), element('metadata', {}, [metadata])]);
}
