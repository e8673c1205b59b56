import { CITATION_FORMATS, DESCRIPTOR_FORMATS, WEB_FORMATS } from '../../shared/archive/citation.ts';
import { mementoTimestamp } from '../../shared/collection/captures.ts';
import { pathOf, type RouteSpec } from '../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName } from '../../shared/routes.ts';
import { type Answer, type Client, textOf, Violation } from './client.ts';
import type { Dice } from './dice.ts';
import type { Model } from './model.ts';
import { markersIn } from './traces.ts';

/*
 * A visitor asks every route that he may use, with ids that the archive has. Nothing that is hidden may be in an answer.
 */

/** What is in the place of `{id}`, by the beginning of the path. */
const IDS: readonly [prefix: string, ids: (model: Model) => readonly (string | number)[]][] = [
  ['/api/packs/{id}/set', ({ sets }) => sets.map(({ id }) => id)],
  ['/api/packs/', ({ packs }) => packs.map(({ id }) => id)],
  ['/api/studies/', ({ studies }) => studies.map(({ id }) => id)],
  ['/api/items/', ({ packs, studies }) => [...packs, ...studies].map(({ id }) => id)],
  ['/api/events/', ({ events }) => events.map(({ id }) => id)],
  ['/api/findings/', ({ findings }) => findings.map(({ id }) => id)],
  ['/api/cases/', ({ cases }) => cases.map(({ id }) => id)],
  ['/api/sources/', ({ sources }) => sources.map(({ id }) => id)],
  ['/api/retrievals/', ({ retrievals }) => retrievals],
  ['/api/ledger/timestamps/', ({ timestamps }) => timestamps],
  ['/archive/pages/', ({ pages }) => pages.map(({ id }) => id)],
];

const OTHERS: Readonly<Record<string, (model: Model) => readonly string[]>> = {
  other: ({ pages }) => pages.map(({ id }) => id),
  part: () => ['picture', 'text', 'document', 'thumbnail'],
  sha256: ({ bytes }) => [...bytes.keys()],
  url: ({ sources, captured }) => [...sources.map(({ url }) => url), ...captured],
  time: ({ events }) => [...new Set(events.map(({ at }) => mementoTimestamp(at)))],
  path: ({ nodes, sets }) => [...nodes, ...sets.flatMap(({ files }) => [...files.keys()])],
  tile: () => ['0/000', 'entries/000'],
  name: () => ['1.xml'],
};

const CITATIONS = Object.keys({ ...CITATION_FORMATS, ...WEB_FORMATS, ...DESCRIPTOR_FORMATS });

/** The queries with which a route is asked. */
const QUERIES: Partial<Record<RouteName, (model: Model, dice: Dice) => string[]>> = {
  searchTexts: (model, dice) => dice.some([...model.hidden()], 12).map((marker) => `q=${marker}`),
  listEvents: () => ['summaries=true&limit=500', 'format=csv'],
  listFindings: () => ['', 'format=csv', 'format=jsonld'],
  readCitation: (_, dice) => ['', ...dice.some(CITATIONS, 2).map((format) => `format=${format}`)],
  readStudyTable: () => ['', 'format=csv'],
  comparePacks: ({ packs }, dice) => dice.some(packs, 1).map(({ id }) => `with=${id}`),
  comparePackFiles: ({ packs }, dice) => dice.some(packs, 1).map(({ id }) => `with=${id}&path=0.txt`),
  harvest: () => ['verb=ListRecords&metadataPrefix=oai_dc', 'verb=ListRecords&metadataPrefix=oai_datacite'],
  exportWarc: ({ sources }, dice) => dice.some(sources, 2).map(({ id }) => `source=${id}`),
  exportWacz: ({ sources }, dice) => dice.some(sources, 1).map(({ id }) => `source=${id}`),
  lookUpDigests: ({ bytes }, dice) => dice.some([...bytes.keys()], 2).map((sha256) => `sha256=${sha256}`),
};

/** Streams have no end, and a proof of pairing belongs to an extension. */
const NOT_ASKED: ReadonlySet<RouteName> = new Set<RouteName>([
  'streamEvents',
  'provePairing',
  'readExtension',
]);
/** These answers do not change with what an archive holds. */
const CONSTANT: ReadonlySet<RouteName> = new Set<RouteName>([
  'readOpenapi',
  'readDocs',
  'readHealth',
  'readSession',
]);

export const VISITED: readonly RouteName[] = (Object.entries(ROUTE_SPECS) as [RouteName, RouteSpec][])
  .filter(
    ([name, { method, access }]) =>
      method === 'GET' &&
      access !== 'owner' &&
      access !== 'paired' &&
      !NOT_ASKED.has(name) &&
      !CONSTANT.has(name),
  )
  .map(([name]) => name);

/** Statuses of a failure that may be: an object that is damaged, or in a copy that is away, and a busy node. */
const MAY_FAIL = [500, 503];
const EXPECTED_FAILURES = [
  'blob_damaged',
  'copy_unreachable',
  'busy',
  'derivation_busy',
  'interface_missing',
];

/**
 * Asks as a visitor, and requires that no answer has a hidden marker.
 * @param breadth how many ids of a kind are asked for
 */
export async function visit(node: Client, model: Model, dice: Dice, breadth: number): Promise<number> {
  const hidden = model.hidden();
  let asked = 0;
  for (const name of VISITED)
    for (const address of addressesOf(name, model, dice, breadth)) {
      const answer = await node.asVisitor(address, { mayFail: MAY_FAIL });
      requireExpected(name, address, answer);
      for (const marker of markersIn(answer.body))
        if (hidden.has(marker))
          throw new Violation(`A visitor sees ${marker} (${why(model, marker)}) at ${address} (${name}).`);
      asked += 1;
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
  const held = [...model.bytes.values()].find(({ markers }) => markers.includes(marker));
  return held ? `${held.kind} ${held.sha256}, ${held.state === 'held' ? 'withheld' : held.state}` : 'unknown';
}

function addressesOf(name: RouteName, model: Model, dice: Dice, breadth: number): string[] {
  const { path } = ROUTE_SPECS[name];
  const parameters = [...path.matchAll(/\{\+?(\w+)\}/g)].map(([, parameter]) => parameter ?? '');
  let filled: Record<string, string>[] = [{}];
  for (const parameter of parameters) {
    const values = dice.some(valuesOf(path, parameter, model), breadth);
    filled = filled.flatMap((others) => values.map((value) => ({ ...others, [parameter]: String(value) })));
  }
  const queries = QUERIES[name]?.(model, dice) ?? [''];
  return dice.some(filled, 2 * breadth).flatMap((params) => {
    const { url } = params;
    const address =
      url === undefined ? pathOf(path, params) : pathOf(path.replace('{+url}', ''), params) + url;
    return queries.map((query) => (query ? `${address}?${query}` : address));
  });
}

function valuesOf(path: string, parameter: string, model: Model): readonly (string | number)[] {
  const values =
    parameter === 'id' ? IDS.find(([prefix]) => path.startsWith(prefix))?.[1] : OTHERS[parameter];
  if (!values) throw new Error(`Say in test/simulate/visitor.ts what {${parameter}} of ${path} is.`);
  return values(model);
}
