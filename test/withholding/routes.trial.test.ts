import { afterEach, expect, test } from 'vitest';
import type { RouteName } from '../../shared/routes.ts';
import { markersShownTo, type Sighting, streamedTo } from '../simulate/visitor.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';
import { archiveWithSecrets, SECRETS, type SecretArchive, showAll, withholdAll } from './support.ts';

/* Every route that visitors may use is asked with everything that names the withheld bytes. A new route is asked, too. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

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
  expect(before.map(({ route }) => route)).toEqual(expect.arrayContaining([...TELLING]));
  expect(await streamed(archive)).not.toMatch(secret);
  await withholdAll(archive);
  expect(await secretsIn(archive)).toEqual([]);
  const dump = await (await archive.node.node.fetch('/api/dump.jsonl')).text();
  const telling = dump.split('\n').filter((line) => secret.test(line));
  expect(telling.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(['finding']);
  expect(await streamed(archive)).not.toMatch(secret);
  await showAll(archive);
  expect(await secretsIn(archive)).toEqual(before);
});

const secret = new RegExp(SECRETS.join('|'));

/** Returns the addresses that give out any of the secret words to a visitor. */
async function secretsIn({ node }: SecretArchive): Promise<Sighting[]> {
  const seen = await markersShownTo((address) => node.node.fetch(address), SECRETS);
  const keyOf = ({ at, marker }: Sighting) => `${at} ${marker}`;
  return seen
    .filter(({ route }) => !RECORDS.has(route))
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

/** Returns what the stream says of all events. */
const streamed = ({ node }: SecretArchive) => streamedTo((address, init) => node.node.fetch(address, init));
