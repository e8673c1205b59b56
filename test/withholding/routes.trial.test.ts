import { afterEach, expect, test } from 'vitest';
import { CITATION_FORMATS, DESCRIPTOR_FORMATS, WEB_FORMATS } from '../../shared/archive/citation.ts';
import { pathOf, type RouteSpec } from '../../shared/routes/route.ts';
import { ROUTE_SPECS, type RouteName } from '../../shared/routes.ts';
import { everythingIn } from '../simulate/everythingIn.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';
import {
  archiveWithSecrets,
  type Names,
  SECRETS,
  type SecretArchive,
  showAll,
  withholdAll,
} from './support.ts';

/*
 * Every route that visitors may use is asked with everything that names the withheld bytes. A new route is asked, too: if
 * it has a parameter that is not filled in here, the test fails.
 */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** The queries that say of what a route tells. */
const QUERIES: Partial<Record<RouteName, (archive: SecretArchive) => string[]>> = {
  searchTexts: () => SECRETS.map((word) => `q=${word}`),
  listEvents: () => ['summaries=true', 'format=csv'],
  listFindings: () => ['', 'format=csv', 'format=jsonld'],
  readCitation: () => ['', ...CITATIONS.map((format) => `format=${format}`)],
  readStudyTable: () => ['', 'format=csv'],
  comparePacks: ({ packs }) => [`with=${packs[1]}`],
  comparePackFiles: ({ packs }) => [`with=${packs[1]}&path=data.csv`],
  harvest: () => ['verb=ListRecords&metadataPrefix=oai_dc', 'verb=ListRecords&metadataPrefix=oai_datacite'],
};
const CITATIONS = Object.keys({ ...CITATION_FORMATS, ...WEB_FORMATS, ...DESCRIPTOR_FORMATS });

/** Routes that return the bytes or something made from them. The test must reach each of them. */
const TELLING: readonly RouteName[] = [
  'readPackFile',
  'comparePackFiles',
  'readCitation',
  'readBlob',
  'readEventEvidence',
  'readPackEvidence',
  'readFindingEvidence',
  'readPagePart',
  'comparePages',
  'listEvents',
  'readEventFeed',
  'readObject',
  'searchTexts',
  'readObjectText',
  'readDiff',
  'readMemento',
  'readArchivedPage',
  'exportWarc',
  'exportWacz',
  'listFindings',
  'readFinding',
  'readCaseBag',
];

/** The dump is made of records, whose digests the ledger covers. A finding that quotes withheld bytes is one. */
const RECORDS: ReadonlySet<RouteName> = new Set<RouteName>(['readDump']);

test('no route that visitors may use gives out what is withheld, or what was made of it, until it is shown again', async () => {
  const archive = await archiveWithSecrets();
  const before = await secretsIn(archive);
  expect([...before.keys()]).toEqual(expect.arrayContaining([...TELLING]));
  expect(await streamed(archive)).not.toMatch(secret);
  await withholdAll(archive);
  // What told nothing while all was shown has nothing to hide.
  expect(Object.fromEntries(await secretsIn(archive, before))).toEqual({});
  const dump = await (await archive.node.node.fetch('/api/dump.jsonl')).text();
  const telling = dump.split('\n').filter((line) => secret.test(line));
  expect(telling.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(['finding']);
  expect(await streamed(archive)).not.toMatch(secret);
  await showAll(archive);
  expect(await secretsIn(archive, before)).toEqual(before);
});

const secret = new RegExp(SECRETS.join('|'));

/** Returns the addresses that give out any of the secret words to a visitor, by route: of all, or of these. */
async function secretsIn(
  archive: SecretArchive,
  addresses = allAddresses(archive),
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const [name, asked] of addresses) {
    for (const address of asked) {
      const response = await archive.node.node.fetch(address);
      const text = everythingIn(Buffer.from(await response.arrayBuffer()));
      if (secret.test(text)) found.set(name, [...(found.get(name) ?? []), address]);
    }
  }
  return found;
}

function allAddresses(archive: SecretArchive): Map<string, string[]> {
  const routes = (Object.entries(ROUTE_SPECS) as [RouteName, RouteSpec][]).filter(
    ([name, { method, access }]) =>
      method === 'GET' &&
      access !== 'owner' &&
      access !== 'paired' &&
      !STREAMS.has(name) &&
      !RECORDS.has(name),
  );
  return new Map(routes.map(([name, spec]) => [name, addressesOf(name, spec, archive)]));
}

/** Routes whose answers do not end. */
const STREAMS: ReadonlySet<RouteName> = new Set<RouteName>(['streamEvents']);

/** Returns what the stream says of all events. */
async function streamed({ node }: SecretArchive): Promise<string> {
  const last = (await node.events())[0]?.id;
  const response = await node.node.fetch('/api/events/stream', { headers: { 'Last-Event-ID': '0' } });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes(`id: ${last}\n`) && text.endsWith('\n\n')) return text;
  }
  throw new Error('The stream ended.');
}

function addressesOf(name: RouteName, { path }: RouteSpec, archive: SecretArchive): string[] {
  const { names }: { names: Names } = archive;
  const parameters = [...path.matchAll(/\{\+?(\w+)\}/g)].map(([, parameter]) => parameter ?? '');
  let filled: Record<string, string>[] = [{}];
  for (const parameter of parameters) {
    const values = names[parameter];
    if (!values) throw new Error(`Say in this test what {${parameter}} of ${path} is.`);
    filled = filled.flatMap((others) => values.map((value) => ({ ...others, [parameter]: value })));
  }
  const queries = QUERIES[name]?.(archive) ?? [''];
  return filled.flatMap((params) => {
    const url = params['url'];
    const address =
      url === undefined ? pathOf(path, params) : pathOf(path.replace('{+url}', ''), params) + url;
    return queries.map((query) => (query ? `${address}?${query}` : address));
  });
}
