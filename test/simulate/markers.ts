import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import Database from 'better-sqlite3';
import { CITATION_FORMATS, DESCRIPTOR_FORMATS, WEB_FORMATS } from '../../shared/archive/citation.ts';
import { mementoTimestamp } from '../../shared/collection/captures.ts';
import { pathOf, type RouteSpec } from '../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName } from '../../shared/routes.ts';
import { everythingIn } from './everythingIn.ts';

/*
 * Every byte string that a test puts into an archive carries a marker: a word of its own. Afterwards everything that a
 * visitor can get, and every file, is searched for the markers of what is withheld or was released.
 */

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const LENGTH = 24;
/** The index of texts stores only the end of a word whose beginning is that of the word before it. */
const TRACE = 14;

/** Makes markers: words of letters that are one word for the index of texts, and occur nowhere else. */
export class MarkerMint {
  readonly #random: () => number;

  /** @param random returns numbers from 0 to below 1, such as `seededRandom` */
  constructor(random: () => number) {
    this.#random = random;
  }

  next(): string {
    return Array.from({ length: LENGTH }, () => LETTERS[Math.floor(this.#random() * LETTERS.length)]).join(
      '',
    );
  }
}

/** What of a marker must not be in a file either: enough of it to be found where SQLite shortens words. */
export function traceOf(marker: string): string {
  return marker.slice(-TRACE);
}

/** Where a marker was found: the address or the path, with the route if it is an address. */
export interface Sighting {
  marker: string;
  route: RouteName | 'file';
  at: string;
}

/** Gets an address of a node as a visitor, without any credentials. */
export type Get = (address: string) => Promise<Response>;

/** What names things in an archive, as its dump says. */
export interface Names {
  /** The ids by their prefix, such as `pk`. */
  ids: ReadonlyMap<string, readonly string[]>;
  events: readonly string[];
  retrievals: readonly string[];
  digests: readonly string[];
  paths: readonly string[];
  nodes: readonly string[];
  /** The moments at which an address was observed. */
  mementos: readonly (readonly [time: string, url: string])[];
}

/** Reads what there is in an archive from its public dump. */
export async function namesIn(get: Get): Promise<Names> {
  const dump = await (await get('/api/dump.jsonl')).text();
  const ids = new Map<string, Set<string>>();
  for (const [id, prefix = ''] of dump.matchAll(/\b([a-z]{2})_[0-9a-f]{20}\b/g))
    ids.set(prefix, (ids.get(prefix) ?? new Set()).add(id));
  const lines = dump
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as DumpedLine);
  const kind = (name: string) => lines.filter((line) => line.kind === name);
  const retrievals = kind('retrieval');
  const bytes = ['pack', 'retrieval', 'page_capture', 'hand_in'].flatMap(kind);
  const urls = retrievals.flatMap(({ url, observed_at, original_observed_at }) =>
    url && observed_at ? [[mementoTimestamp(original_observed_at ?? observed_at), url] as const] : [],
  );
  return {
    ids: new Map([...ids].map(([prefix, each]) => [prefix, [...each]])),
    events: kind('event').map(({ id }) => String(id)),
    retrievals: retrievals.map(({ id }) => String(id)),
    digests: [...new Set(bytes.flatMap((line) => JSON.stringify(line).match(/\b[0-9a-f]{64}\b/g) ?? []))],
    paths: [...new Set(kind('pack').flatMap(({ record }) => (record?.files ?? []).map(({ path }) => path)))],
    nodes: kind('node').flatMap(({ path }) => path ?? []),
    mementos: [...new Map(urls.map((each) => [each.join(' '), each])).values()],
  };
}

interface DumpedLine {
  kind: string;
  id?: string | number;
  path?: string;
  url?: string;
  observed_at?: string;
  original_observed_at?: string | null;
  record?: { files?: { path: string }[] };
}

/** What names the things of each part of the interface, by the beginning of its addresses. */
const IDS_AT: readonly (readonly [start: string, names: (names: Names) => readonly string[]])[] = [
  ['/api/packs/', (names) => names.ids.get('pk') ?? []],
  ['/api/studies/', (names) => names.ids.get('st') ?? []],
  ['/api/sources/', (names) => names.ids.get('so') ?? []],
  ['/archive/pages/', (names) => names.ids.get('pg') ?? []],
  ['/api/findings/', (names) => names.ids.get('fi') ?? []],
  ['/api/cases/', (names) => names.ids.get('ca') ?? []],
  ['/api/ledger/timestamps/', (names) => names.ids.get('ts') ?? []],
  ['/api/events/', (names) => names.events],
  ['/api/retrievals/', (names) => names.retrievals],
  [
    '/api/items/',
    ({ ids, events, digests }) => [
      ...['pk', 'st', 'fi', 'ca', 'so', 'pg'].flatMap((prefix) => ids.get(prefix) ?? []),
      ...events,
      ...digests,
    ],
  ],
  ['/pair/', () => []],
];

function idsOf(path: string, names: Names): readonly string[] {
  const found = IDS_AT.find(([start]) => path.startsWith(start));
  if (!found) throw new Error(`Say in test/simulate/markers.ts what {id} of ${path} is.`);
  return found[1](names);
}

/** What fills the other parameters of an address. */
const PARAMETERS: Readonly<Record<string, (names: Names) => readonly string[]>> = {
  sha256: ({ digests }) => digests,
  part: () => ['picture', 'text', 'document', 'thumbnail'],
  path: ({ paths, nodes }) => [...paths, ...nodes],
  url: ({ mementos }) => [...new Set(mementos.map(([, url]) => url))],
  tile: () => ['0/000', 'entries/000'],
  name: () => ['1.xml'],
};

const CITATIONS = Object.keys({ ...CITATION_FORMATS, ...WEB_FORMATS, ...DESCRIPTOR_FORMATS });

/** The queries with which a route tells most. */
const QUERIES: Partial<Record<RouteName, readonly string[]>> = {
  listPacks: ['parts=true&limit=500'],
  listEvents: ['summaries=true&limit=500', 'format=csv'],
  listFindings: ['limit=500', 'format=csv', 'format=jsonld'],
  readCitation: ['', ...CITATIONS.map((format) => `format=${format}`)],
  readLinkset: ['format=json', 'format=text'],
  readStudyTable: ['', 'format=csv'],
  harvest: ['verb=ListRecords&metadataPrefix=oai_dc', 'verb=ListRecords&metadataPrefix=oai_datacite'],
  exportWarc: ['', 'gzip=true'],
};

/** Routes whose addresses name several things at once. Two of a kind are compared with the next one only. */
const ADDRESSES: Partial<Record<RouteName, (names: Names, markers: readonly string[]) => string[]>> = {
  searchTexts: (_names, markers) =>
    markers.flatMap((marker) => [`/api/search?q=${marker}`, `/api/search?q=${marker.slice(0, 12)}*`]),
  lookUpDigests: ({ digests }) => digests.map((sha256) => `/api/lookup?sha256=${sha256}`),
  comparePacks: ({ ids }) =>
    pairs(ids.get('pk') ?? []).map(([one, other]) => `/api/packs/${one}/compare?with=${other}`),
  comparePackFiles: ({ ids, paths }) =>
    pairs(ids.get('pk') ?? []).flatMap(([one, other]) =>
      paths.map((path) => `/api/packs/${one}/compare/file?with=${other}&path=${encodeURIComponent(path)}`),
    ),
  comparePages: ({ ids }) =>
    pairs(ids.get('pg') ?? []).map(([one, other]) => `/archive/pages/${one}/compare/${other}`),
  readMemento: ({ mementos }) => mementos.map(([time, url]) => `/memento/${time}/${url}`),
  readTimeGate: ({ mementos }) => mementos.map(([, url]) => `/timegate/${url}`),
};

function pairs(ids: readonly string[]): [one: string, other: string][] {
  return ids.slice(1).map((id, index) => [id, ids[index] ?? '']);
}

/** Routes whose answers do not end. `streamedTo` reads them. */
const STREAMS: ReadonlySet<RouteName> = new Set<RouteName>(['streamEvents']);

/**
 * Returns every address that a visitor may get, by route. A new route is in it, too: if it has a parameter that is not
 * filled in here, this throws.
 *
 * @param markers what is searched for
 */
export function visitorAddresses(names: Names, markers: readonly string[]): Map<RouteName, string[]> {
  const routes = (Object.entries(ROUTE_SPECS) as [RouteName, RouteSpec][]).filter(
    ([name, { method, access }]) =>
      method === 'GET' && (access === 'read' || access === 'open') && !STREAMS.has(name),
  );
  return new Map(
    routes.map(([name, spec]) => [
      name,
      ADDRESSES[name]?.(names, markers) ?? filledIn(spec.path, names, QUERIES[name] ?? ['']),
    ]),
  );
}

function filledIn(path: string, names: Names, queries: readonly string[]): string[] {
  let filled: Record<string, string>[] = [{}];
  for (const [, parameter = ''] of path.matchAll(/\{\+?(\w+)\}/g)) {
    const values = parameter === 'id' ? idsOf(path, names) : PARAMETERS[parameter]?.(names);
    if (!values) throw new Error(`Say in test/simulate/markers.ts what {${parameter}} of ${path} is.`);
    filled = filled.flatMap((others) => values.map((value) => ({ ...others, [parameter]: value })));
  }
  return filled.flatMap((params) => {
    const { url } = params;
    const address =
      url === undefined ? pathOf(path, params) : pathOf(path.replace('{+url}', ''), params) + url;
    return queries.map((query) => (query ? `${address}?${query}` : address));
  });
}

/** Requests that are sent at once. */
const AT_ONCE = 8;

/**
 * Asks every address as a visitor and returns where the markers are. Nothing of what is withheld or was released may be
 * found. The status line, headers and the body count, and what is compressed or encoded in the body.
 *
 * @param isAllowed what may tell a marker all the same: the records, if a test puts markers into them
 */
export async function markersShownTo(
  get: Get,
  markers: readonly string[],
  { isAllowed = () => false }: { isAllowed?: (sighting: Sighting) => boolean } = {},
): Promise<Sighting[]> {
  if (markers.length === 0) return [];
  const addresses = [...visitorAddresses(await namesIn(get), markers)].flatMap(([route, all]) =>
    all.map((at) => ({ route, at })),
  );
  const search = new RegExp(markers.join('|'), 'g');
  const found: Sighting[] = [];
  const next = addresses[Symbol.iterator]();
  const ask = async () => {
    for (const { route, at } of next) {
      const response = await get(at);
      const head = JSON.stringify([...response.headers]);
      const text = everythingIn(Buffer.from(await response.arrayBuffer()));
      const shown = new Set(`${head}\n${text}`.match(search));
      for (const marker of shown) found.push({ marker, route, at });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return found.filter((sighting) => !isAllowed(sighting));
}

/** Returns what the stream of events says of everything up to the newest event. */
export async function streamedTo(get: (address: string, init: RequestInit) => Promise<Response>) {
  const newest = (await (await get('/api/events?limit=1', {})).json()) as { items: { id: number }[] };
  const last = newest.items[0]?.id;
  if (last === undefined) return '';
  const response = await get('/api/events/stream', { headers: { 'Last-Event-ID': '0' } });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes(`id: ${last}\n`) && text.endsWith('\n\n')) return text;
  }
  throw new Error('The stream ended.');
}

/**
 * Returns the files of a folder that hold a trace of the markers: a data folder for what was released, a copy with pages
 * or a log for what is withheld, too. What is compressed or encoded in a file is searched as well, and so is what is
 * compressed in the values of a database.
 *
 * @param isSearched which files are searched, by their path within the folder; all of them by default
 */
export async function markersInFolder(
  folder: string,
  markers: readonly string[],
  { isSearched = () => true }: { isSearched?: (path: string) => boolean } = {},
): Promise<Sighting[]> {
  const traces = new Map(markers.map((marker) => [traceOf(marker), marker]));
  if (traces.size === 0) return [];
  const search = new RegExp([...traces.keys()].join('|'), 'g');
  const found: Sighting[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const at = relative(folder, file);
    if (!entry.isFile() || !isSearched(at)) continue;
    const bytes = await readIfThere(file);
    const texts = [[at, at.includes('.db') ? bytes.toString('latin1') : everythingIn(bytes)]];
    if (entry.name === 'strongroom.db')
      texts.push(...valuesIn(file).map(([name, text]) => [`${at}: ${name}`, text]));
    for (const [place = at, text = ''] of texts)
      for (const trace of new Set(text.match(search)))
        found.push({ marker: traces.get(trace) ?? trace, route: 'file', at: place });
  }
  return found;
}

/** Returns what is in the values of a database that are bytes, by their columns. */
function valuesIn(file: string): [column: string, text: string][] {
  const database = new Database(file, { readonly: true });
  try {
    const sql = `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
      WHERE t.type = 'table' AND c.type = 'BLOB' AND t.sql NOT LIKE 'CREATE VIRTUAL%'`;
    const columns = database.prepare(sql).all() as { table: string; column: string }[];
    return columns.map(({ table, column }) => {
      const values = database.prepare(`SELECT "${column}" FROM "${table}"`).pluck().all();
      return [
        `${table}.${column}`,
        values.map((value) => (Buffer.isBuffer(value) ? everythingIn(value) : '')).join('\n'),
      ];
    });
  } finally {
    database.close();
  }
}

/** A node that runs may remove a file meanwhile. */
async function readIfThere(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
