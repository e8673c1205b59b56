import { expect, test } from 'vitest';
import { bagOf } from '../../../server/archive/packs/bag/bag.ts';
import { FULL_RECORD } from '../../support/packFiles.ts';
import { sha256Of } from '../../support/packs.ts';

test('the crate is valid RO-Crate 1.2: required properties exist, references resolve, and every file is described', () => {
  const { tagFiles, id } = bagOf(FULL_RECORD);
  const json = tagFiles.find(({ name }) => name === 'ro-crate-metadata.json')?.bytes.toString() ?? '';
  const crate = JSON.parse(json) as { '@context': string; '@graph': Record<string, unknown>[] };
  const byId = new Map(crate['@graph'].map((entity) => [entity['@id'], entity]));
  expect(byId.size).toBe(crate['@graph'].length);
  expect(crate['@context']).toBe('https://w3id.org/ro/crate/1.2/context');
  expect(byId.get('ro-crate-metadata.json')).toMatchObject({
    '@type': 'CreativeWork',
    about: { '@id': './' },
    conformsTo: { '@id': 'https://w3id.org/ro/crate/1.2' },
  });
  const root = byId.get('./');
  expect(root).toMatchObject({
    '@type': 'Dataset',
    name: FULL_RECORD.title,
    description: 'Two stations.',
    datePublished: '2026-10-01',
    identifier: id,
    license: { '@id': 'https://creativecommons.org/publicdomain/zero/1.0/' },
  });
  for (const [, reference] of json.matchAll(/\{\s*"@id": ("[^"]*")\s*\}/g)) {
    const target = JSON.parse(reference ?? '') as string;
    expect(byId.has(target) || target === 'https://w3id.org/ro/crate/1.2', target).toBe(true);
  }
  expect(byId.get('data/readings/süd.csv')).toMatchObject({
    '@type': 'File',
    contentSize: '18',
    encodingFormat: 'text/plain',
    sha256: sha256Of('time,level\n1,2.75\n'),
  });
});
