import { CITATION_FORMATS, DESCRIPTOR_FORMATS, WEB_FORMATS } from '../../shared/archive/citation.ts';
import { SET_FILE } from '../../shared/archive/setManifest.ts';
import { mementoTimestamp } from '../../shared/collection/captures.ts';
import { pathOf, type RouteSpec } from '../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName } from '../../shared/routes.ts';
import { type Answer, type Client, textOf, Violation } from './client.ts';
import type { Dice } from './dice.ts';
import { everythingIn, finderOf } from './markers.ts';
import type { Model } from './model.ts';

/*
 * A visitor asks every route that he may use, with everything that names something in an archive. Nothing that is hidden
 * may be in an answer.
 */

/** Where a marker was found. */
export interface Sighting {
  marker: string;
  route: RouteName;
  at: string;
}

/** Gets an address of a node as a visitor, without any credentials. */
export type Get = (address: string) => Promise<Response>;

/** What names things in an archive. */
export interface Names {
  /** The ids by their prefix, such as `pk`. */
  ids: Readonly<Record<string, readonly string[]>>;
  sets: readonly string[];
  events: readonly string[];
  retrievals: readonly string[];
  digests: readonly string[];
  /** Of files, and of subjects. */
  paths: readonly string[];
  /** The moments at which an address was observed. */
  mementos: readonly (readonly [time: string, url: string])[];
}

/** Reads what there is in an archive from its public dump. */
export async function namesIn(get: Get): Promise<Names> {
  const dump = await (await get('/api/dump.jsonl')).text();
  const ids: Record<string, string[]> = {};
  for (const id of new Set(dump.match(/\b[a-z]{2}_[0-9a-f]{20}\b/g))) (ids[id.slice(0, 2)] ??= []).push(id);
  const lines = dump
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as DumpedLine);
  const kind = (name: string) => lines.filter((line) => line.kind === name);
  const [retrievals, packs] = [kind('retrieval'), kind('pack')];
  const bytes = ['pack', 'retrieval', 'page_capture', 'hand_in'].flatMap(kind);
  const filesOf = ({ record }: DumpedLine) => (record?.files ?? []).map(({ path }) => path);
  const mementos = retrievals.flatMap(({ url, observed_at, original_observed_at }) =>
    url && observed_at ? [[mementoTimestamp(original_observed_at ?? observed_at), url] as const] : [],
  );
  return {
    ids,
    sets: packs.filter((pack) => filesOf(pack)[0] === SET_FILE).map(({ id }) => String(id)),
    events: kind('event').map(({ id }) => String(id)),
    retrievals: retrievals.map(({ id }) => String(id)),
    digests: [...new Set(bytes.flatMap((line) => JSON.stringify(line).match(/\b[0-9a-f]{64}\b/g) ?? []))],
    paths: [...new Set([...packs.flatMap(filesOf), ...kind('node').flatMap(({ path }) => path ?? [])])],
    mementos: [...new Map(mementos.map((each) => [each.join(' '), each])).values()],
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

/** Some of what names things in a simulated archive. */
function someNames(model: Model, dice: Dice, count: number): Names {
  const some = <Item>(items: readonly Item[]) => dice.some(items, count);
  const idsOf = (items: readonly { id: string }[]) => some(items.map(({ id }) => id));
  const events = some(model.events);
  const files = [...model.packs, ...model.sets].flatMap(({ files: held }) =>
    held instanceof Map ? [...held.keys()] : held.map(({ path }) => path),
  );
  const urlOf = new Map(model.sources.map(({ id, url }) => [id, url]));
  return {
    ids: {
      pk: idsOf([...model.packs, ...model.sets]),
      st: idsOf(model.studies),
      so: idsOf(model.sources),
      pg: idsOf(model.pages),
      fi: idsOf([...model.findings, ...model.sealed]),
      ca: idsOf(model.cases),
      ts: some(model.timestamps),
    },
    sets: idsOf(model.sets),
    events: events.map(({ id }) => String(id)),
    retrievals: some(model.retrievals).map(String),
    digests: some([...model.bytes.keys()]),
    paths: [...some(files), ...some(model.nodes)],
    mementos: events.flatMap(({ at, source }) => {
      const urls = [urlOf.get(source) ?? [], dice.pick(model.captured) ?? []].flat();
      return urls.map((url) => [mementoTimestamp(at), url] as const);
    }),
  };
}

/** What is in the place of `{id}`, by the beginning of the path. */
const IDS_AT: readonly (readonly [start: string, names: (names: Names) => readonly string[]])[] = [
  ['/api/packs/{id}/set', ({ sets }) => sets],
  ['/api/packs/', ({ ids }) => ids.pk ?? []],
  ['/api/studies/', ({ ids }) => ids.st ?? []],
  ['/api/sources/', ({ ids }) => ids.so ?? []],
  ['/archive/pages/', ({ ids }) => ids.pg ?? []],
  ['/api/findings/', ({ ids }) => ids.fi ?? []],
  ['/api/cases/', ({ ids }) => ids.ca ?? []],
  ['/api/ledger/timestamps/', ({ ids }) => ids.ts ?? []],
  ['/api/events/', ({ events }) => events],
  ['/api/retrievals/', ({ retrievals }) => retrievals],
  [
    '/api/items/',
    ({ ids, events, digests }) => [
      ...['pk', 'st', 'fi', 'ca', 'so', 'pg'].flatMap((prefix) => ids[prefix] ?? []),
      ...events,
      ...digests,
    ],
  ],
  ['/pair/', () => []],
];

/** What fills the other parameters of an address. */
const PARAMETERS: Readonly<Record<string, (names: Names) => readonly string[]>> = {
  sha256: ({ digests }) => digests,
  part: () => ['picture', 'text', 'document', 'thumbnail'],
  path: ({ paths }) => paths,
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
};

/** Routes whose addresses name several things at once. Two of a kind are compared with the next one only. */
const ADDRESSES: Partial<Record<RouteName, (names: Names, markers: readonly string[]) => string[]>> = {
  searchTexts: (_names, markers) =>
    markers.flatMap((marker) => [`/api/search?q=${marker}`, `/api/search?q=${marker.slice(0, 8)}*`]),
  listFindings: (_names, markers) => [
    ...(QUERIES.listFindings ?? []).map((query) => `/api/findings?${query}`),
    ...markers.map((marker) => `/api/findings?q=${marker}`),
  ],
  lookUpDigests: ({ digests }) => digests.map((sha256) => `/api/lookup?sha256=${sha256}`),
  comparePacks: ({ ids }) => pairs(ids.pk).map(([one, other]) => `/api/packs/${one}/compare?with=${other}`),
  comparePackFiles: ({ ids, paths }) =>
    pairs(ids.pk).flatMap(([one, other]) =>
      paths.map((path) => `/api/packs/${one}/compare/file?with=${other}&path=${encodeURIComponent(path)}`),
    ),
  comparePages: ({ ids }) => pairs(ids.pg).map(([one, other]) => `/archive/pages/${one}/compare/${other}`),
  readMemento: ({ mementos }) => mementos.map(([time, url]) => `/memento/${time}/${url}`),
  readTimeGate: ({ mementos }) => mementos.map(([, url]) => `/timegate/${url}`),
  exportWarc: ({ ids }) => ['', '?gzip=true', ...bySource(ids)].map((query) => `/api/warc${query}`),
  exportWacz: ({ ids }) => ['', ...bySource(ids)].map((query) => `/api/wacz${query}`),
};

const bySource = (ids: Names['ids']) => (ids.so ?? []).map((id) => `?source=${id}`);

function pairs(ids: readonly string[] = []): [one: string, other: string][] {
  return ids.slice(1).map((id, index) => [id, ids[index] ?? '']);
}

/** Routes whose answers do not end. `streamedTo` reads them. */
const STREAMS: ReadonlySet<RouteName> = new Set<RouteName>(['streamEvents']);

/** Every route that visitors may read. */
export const VISITED: readonly RouteName[] = (Object.entries(ROUTE_SPECS) as [RouteName, RouteSpec][])
  .filter(
    ([name, { method, access }]) =>
      method === 'GET' && (access === 'read' || access === 'open') && !STREAMS.has(name),
  )
  .map(([name]) => name);

/**
 * Returns every address of a route that a visitor may get. If a new route has a parameter that is not filled in here, this
 * throws.
 *
 * @param markers what is searched for
 */
function addressesOf(route: RouteName, names: Names, markers: readonly string[]): string[] {
  const given = ADDRESSES[route]?.(names, markers);
  if (given) return given;
  const { path } = ROUTE_SPECS[route];
  let filled: Record<string, string>[] = [{}];
  for (const [, parameter = ''] of path.matchAll(/\{\+?(\w+)\}/g)) {
    const values =
      parameter === 'id' ? IDS_AT.find(([start]) => path.startsWith(start))?.[1] : PARAMETERS[parameter];
    if (!values) throw new Error(`Say in test/simulate/visitor.ts what {${parameter}} of ${path} is.`);
    filled = filled.flatMap((others) => values(names).map((value) => ({ ...others, [parameter]: value })));
  }
  return filled.flatMap((params) => {
    const { url } = params;
    const address =
      url === undefined ? pathOf(path, params) : pathOf(path.replace('{+url}', ''), params) + url;
    return (QUERIES[route] ?? ['']).map((query) => (query ? `${address}?${query}` : address));
  });
}

/** Requests that are sent at once. */
const AT_ONCE = 8;

/**
 * Asks every address as a visitor and returns where the markers are. Nothing of what is withheld or was released may be
 * found. Headers and the body count, and what is compressed or encoded in the body.
 */
export async function markersShownTo(get: Get, markers: readonly string[]): Promise<Sighting[]> {
  if (markers.length === 0) return [];
  const names = await namesIn(get);
  const addresses = VISITED.flatMap((route) =>
    addressesOf(route, names, markers).map((at) => ({ route, at })),
  );
  const find = finderOf(markers);
  const found: Sighting[] = [];
  const refused: typeof addresses = [];
  const ask = async (asked: Iterable<{ route: RouteName; at: string }>, whenBusy: typeof addresses) => {
    for (const { route, at } of asked) {
      const answer = await answerOf(await get(at));
      if (answer.status === 503) whenBusy.push({ route, at });
      for (const marker of find(sayings(answer))) found.push({ marker, route, at });
    }
  };
  const next = addresses[Symbol.iterator]();
  await Promise.all(Array.from({ length: AT_ONCE }, () => ask(next, refused)));
  // A node makes few exports at once, so the others are asked for again, one by one.
  await ask(refused, []);
  return found;
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  return { status, headers, body: Buffer.from(await response.arrayBuffer()) };
}

function sayings({ headers, body }: Answer): string {
  return `${JSON.stringify([...headers])}\n${everythingIn(body)}`;
}

const STREAM_MS = 30_000;

/** Returns what the stream of events says of everything up to the newest event. */
export async function streamedTo(get: (address: string, init?: RequestInit) => Promise<Response>) {
  const newest = (await (await get('/api/events?limit=1')).json()) as { items: { id: number }[] };
  const last = newest.items[0]?.id;
  if (last === undefined) return '';
  const response = await get('/api/events/stream', {
    headers: { 'Last-Event-ID': '0' },
    signal: AbortSignal.timeout(STREAM_MS),
  });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes(`id: ${last}\n`) && text.endsWith('\n\n')) return text;
  }
  throw new Error('The stream ended.');
}

/** Statuses of a failure that may be: an object that is damaged, or in a copy that is away, and a busy node. */
const MAY_FAIL = [500, 503];
const EXPECTED_FAILURES = [
  'blob_damaged',
  'copy_unreachable',
  'busy',
  'derivation_busy',
  'interface_missing',
];
/** These answers do not change with what an archive holds. */
const CONSTANT: ReadonlySet<RouteName> = new Set<RouteName>([
  'readOpenapi',
  'readDocs',
  'readHealth',
  'readSession',
  'readExtension',
]);
/** These answers have the records of findings as the ledger covers them. */
const HAS_RECORDS: ReadonlySet<RouteName> = new Set<RouteName>(['readDump']);
/** Hidden markers that are searched for by name, and addresses of a route that are asked for each name of a kind. */
const SEARCHED = 12;
const ASKED = 6;

/**
 * Asks as a visitor of a simulated archive, and requires that no answer has a hidden marker.
 * @param breadth how many names of a kind are asked for
 */
export async function visit(node: Client, model: Model, dice: Dice, breadth: number): Promise<number> {
  const [find, findQuotation] = [finderOf(model.hidden()), finderOf(model.hiddenQuotations())];
  // A file that is made of several objects ends at one that is damaged.
  const mayEndEarly = [...model.bytes.values()].some(({ state }) => state === 'gone');
  let asked = 0;
  for (const route of VISITED) {
    if (CONSTANT.has(route)) continue;
    const markers = dice.some([...model.hidden(), ...model.hiddenQuotations()], SEARCHED);
    const names = someNames(model, dice, breadth);
    // An answer may repeat the name that was asked for, so no hidden name is asked for.
    const paths = names.paths.filter((path) => find(path).length === 0);
    const addresses = addressesOf(route, { ...names, paths }, markers);
    for (const address of dice.some(addresses, ASKED * breadth)) {
      const answer = await node.asVisitor(address, { mayFail: MAY_FAIL, mayEndEarly });
      requireExpected(route, address, answer);
      const said = sayings(answer);
      for (const marker of [...find(said), ...(HAS_RECORDS.has(route) ? [] : findQuotation(said))])
        throw new Violation(`A visitor sees ${marker} (${why(model, marker)}) at ${address} (${route}).`);
      asked += 1;
    }
  }
  return asked;
}

function requireExpected(name: RouteName, address: string, answer: Answer): void {
  // Before the first round the archive says that nothing was collected yet.
  if (answer.status < 500 || name === 'readStatus') return;
  const text = textOf(answer);
  if (!EXPECTED_FAILURES.some((code) => text.includes(`"${code}"`)))
    throw new Violation(`GET ${address} (${name}) was answered with ${answer.status}: ${text}`);
}

function why(model: Model, marker: string): string {
  const secret = model.secrets.get(marker);
  if (secret) return secret.why;
  if (model.hiddenQuotations().has(marker)) return 'what a finding quotes';
  const held = [...model.bytes.values()].find(({ markers }) => markers.includes(marker));
  return held ? `${held.kind} ${held.sha256}, ${held.state === 'held' ? 'withheld' : held.state}` : 'unknown';
}
