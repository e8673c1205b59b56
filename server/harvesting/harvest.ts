import { MEBIBYTE } from '../../shared/limits.ts';
import { type CitationContext, readCitedPack } from '../citations/citedWork.ts';
import {
  type AddedPack,
  firstEntryFrom,
  lastChangeOf,
  packsAddedFrom,
  setFieldsOf,
} from '../store/sqlite/archive/harvest.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { entryAt, lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { element, FORMATS, type MetadataPrefix, type Xml } from './formats.ts';
import {
  allSets,
  HarvestError,
  type HarvestRequest,
  indexedPacks,
  type ListSelection,
  listTokenOf,
  packSets,
  parseRequest,
  parseSelection,
  readSetsToken,
  requirePrefix,
  setsTokenOf,
} from './request.ts';

/** The provider that answers a harvester. */
interface Provider extends CitationContext {
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

/** A pack in a list of OAI-PMH. */
interface HarvestedPack {
  id: string;
  /** The second of the ledger entry that last changed the pack's metadata. */
  datestamp: string;
  sets: string[];
  /** The size of its record in bytes. */
  bytes: number;
  /** Its position in the order of changes. */
  entry: number;
  place: number;
}

/** The number of packs read at once. */
const BATCH = 200;

/**
 * Returns the packs of a selection in the order of their last changes. Each pack is listed only at its last change, so
 * one that changes during a harvest moves to a later page and is not missed.
 */
function* changedPacks(database: ReadDatabase, selection: ListSelection): Generator<HarvestedPack> {
  const { from, until, set, position } = selection;
  const indexed = set === undefined ? undefined : indexedPacks(database, set);
  if (indexed?.packs === 0) return;
  const first = position?.entry ?? (from === undefined ? 1 : firstEntryFrom(database, startOf(from)));
  const end = until === undefined ? Number.POSITIVE_INFINITY : firstEntryFrom(database, endOf(until));
  for (let next = first; ; ) {
    const added = packsAddedFrom(database, next, BATCH, indexed);
    for (const pack of added) {
      if (pack.ledger_entry >= end) return;
      const start = pack.ledger_entry === position?.entry ? position.place : 0;
      for (const [place, id] of changedBy(pack).entries()) {
        if (place < start || lastChangeOf(database, id) !== pack.ledger_entry) continue;
        const { sets, bytes, isPart } = setsOf(database, id);
        if (isPart || !isIn(sets, set)) continue;
        yield {
          id,
          sets,
          bytes,
          datestamp: datestampAt(database, pack.ledger_entry),
          entry: pack.ledger_entry,
          place,
        };
      }
    }
    const last = added.at(-1);
    if (last === undefined || added.length < BATCH) return;
    next = last.ledger_entry + 1;
  }
}

/** Whether a pack with these sets is in a set or in one below it; without a set, every pack is. */
function isIn(sets: readonly string[], set: string | undefined): boolean {
  return set === undefined || sets.some((each) => each === set || each.startsWith(`${set}:`));
}

/** Returns the header of one pack. */
function harvestedPack(database: ReadDatabase, id: string): HarvestedPack | undefined {
  const entry = lastChangeOf(database, id);
  if (entry === undefined) return undefined;
  return { id, ...setsOf(database, id), datestamp: datestampAt(database, entry), entry, place: 0 };
}

/** Returns the earliest datestamp, now and in future; undefined if nothing is recorded. */
function firstDatestamp(database: ReadDatabase): string | undefined {
  const first = entryAt(database, 1);
  return first && secondOf(first.at);
}

/** Returns the packs whose metadata changes when this pack is added, without duplicates. */
function changedBy({ id, supersedes, replicates }: AddedPack): string[] {
  return [...new Set([supersedes, replicates, id].filter((each) => each !== null))];
}

function setsOf(
  database: ReadDatabase,
  id: string,
): Pick<HarvestedPack, 'sets' | 'bytes'> & { isPart: boolean } {
  const fields = setFieldsOf(database, id);
  const isPart = fields !== undefined && fields.part_of !== null;
  return { sets: fields ? packSets(fields) : [], bytes: fields?.bytes ?? 0, isPart };
}

function datestampAt(database: ReadDatabase, entry: number): string {
  return secondOf(entryAt(database, entry)?.at ?? '');
}

/** Returns the second of an instant. */
export function secondOf(instant: string): string {
  return `${instant.slice(0, 19)}Z`;
}

function startOf(second: string): string {
  return second.replace('Z', '.000Z');
}

/** Returns what comes after all instants of a second, and before all later ones: of a year 10000 the text would come first. */
function endOf(second: string): string {
  return second.replace('Z', ':');
}
