import { describe, expect, test } from 'vitest';
import { bagOf } from '../../../server/archive/packs/bag/bag.ts';
import type { PackRecord } from '../../../shared/archive/pack.ts';
import { FULL_RECORD, recordFor } from '../../support/archive/packFiles.ts';
import { sha256Of } from '../../support/archive/packs.ts';

type Entity = Record<string, unknown> & { '@id': string; '@type': string };

function crateOf(record: PackRecord) {
  const { tagFiles, id } = bagOf(record);
  const tagFile = (name: string) => tagFiles.find((file) => file.name === name)?.bytes ?? Buffer.of();
  const json = tagFile('ro-crate-metadata.json').toString();
  const crate = JSON.parse(json) as { '@context': string; '@graph': Entity[] };
  const byId = new Map(crate['@graph'].map((entity) => [entity['@id'], entity]));
  return { id, json, context: crate['@context'], graph: crate['@graph'], byId, tagFile };
}

/** The ids that a property of an entity leads to. */
function targets(value: unknown): string[] {
  return [value].flat().flatMap((each) => {
    const id = typeof each === 'object' && each !== null ? (each as Partial<Entity>)['@id'] : undefined;
    return id === undefined ? [] : [id];
  });
}

/** The ids that are reached from one entity by these properties, or by any. */
function reachedFrom(byId: Map<string, Entity>, start: string, property?: string): Set<string> {
  const reached = new Set([start]);
  for (const id of reached) {
    const entity = byId.get(id) ?? {};
    const values = property === undefined ? Object.values(entity) : [entity[property as keyof typeof entity]];
    for (const target of values.flatMap(targets)) reached.add(target);
  }
  return reached;
}

const EARLIER = `pk_${'34'.repeat(10)}`;
const RECORDS: [what: string, record: PackRecord][] = [
  ['with something in every field', FULL_RECORD],
  ['with as little as can be', recordFor({})],
  [
    'that replicates and supersedes others',
    { ...FULL_RECORD, replicates: { pack: EARLIER, verdict: 'partial', note: '' } },
  ],
  [
    'that replicates and supersedes one pack',
    { ...FULL_RECORD, supersedes: EARLIER, replicates: { pack: EARLIER, verdict: 'failed', note: '' } },
  ],
];

describe.for(RECORDS)('the crate of a record %s', ([, record]) => {
  const { id, json, context, graph, byId, tagFile } = crateOf(record);

  test('says what RO-Crate 1.2 insists on of the descriptor and the root', () => {
    expect(byId.size).toBe(graph.length);
    expect(context).toBe('https://w3id.org/ro/crate/1.2/context');
    expect(byId.get('ro-crate-metadata.json')).toMatchObject({
      '@type': 'CreativeWork',
      about: { '@id': './' },
      conformsTo: { '@id': 'https://w3id.org/ro/crate/1.2' },
    });
    expect(byId.get('./')).toMatchObject({
      '@type': 'Dataset',
      name: record.title,
      description: record.summary || record.title,
      datePublished: '2026-10-01',
      identifier: id,
      license: { '@id': 'https://creativecommons.org/publicdomain/zero/1.0/' },
    });
  });

  test('refers to nothing that it does not describe, and describes nothing that the root does not lead to', () => {
    for (const [, reference] of json.matchAll(/\{\s*"@id": ("[^"]*")\s*\}/g)) {
      const target = JSON.parse(reference ?? '') as string;
      expect(byId.has(target) || target === 'https://w3id.org/ro/crate/1.2', target).toBe(true);
    }
    const reached = reachedFrom(byId, './');
    expect([...byId.keys()].filter((each) => !reached.has(each))).toEqual(['ro-crate-metadata.json']);
  });

  test('has no data entity that hasPart does not reach', () => {
    const parts = reachedFrom(byId, './', 'hasPart');
    const dataEntities = graph.filter((entity) => ['Dataset', 'File'].includes(entity['@type']));
    expect(dataEntities.map((entity) => entity['@id']).filter((each) => !parts.has(each))).toEqual([]);
    expect(dataEntities).toHaveLength(2 + record.files.length);
  });

  test('gives every entity a name, and every file a size, a media type and an id that is a URI reference', () => {
    for (const entity of graph) {
      if (entity['@id'] !== 'ro-crate-metadata.json') expect(entity.name, entity['@id']).toMatch(/\S/);
      expect(entity['@id']).not.toMatch(/[\s\\]/);
      if (entity['@type'] !== 'File') continue;
      expect(entity).toMatchObject({
        contentSize: expect.stringMatching(/^\d+$/),
        encodingFormat: expect.stringContaining('/'),
      });
    }
    expect(byId.get('pack.json')?.contentSize).toBe(String(tagFile('pack.json').length));
  });
});

test('earlier packs are works that this one is based on, each once', () => {
  const earlierOf = (record: PackRecord) => {
    const { byId } = crateOf(record);
    return targets(byId.get('./')?.isBasedOn).map((each) => byId.get(each));
  };
  const asEntity = (pack: string | null) => ({
    '@id': `urn:strongroom:pack:${pack}`,
    '@type': 'CreativeWork',
    name: pack,
  });
  const [, , [, both], [, one]] = RECORDS as [unknown, unknown, [string, PackRecord], [string, PackRecord]];
  expect(earlierOf(both)).toEqual([asEntity(EARLIER), asEntity(both.supersedes)]);
  expect(earlierOf(one)).toEqual([asEntity(EARLIER)]);
});

test('a file is described with its digest, its path as it stands', () => {
  expect(crateOf(FULL_RECORD).byId.get('data/readings/süd.csv')).toMatchObject({
    '@type': 'File',
    contentSize: '18',
    encodingFormat: 'text/plain',
    sha256: sha256Of('time,level\n1,2.75\n'),
  });
});
