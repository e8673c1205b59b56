import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { uploadNewPack } from '../../support/archive/packs.ts';
import { closeTestNodes } from '../../support/node.ts';
import { DataverseServer } from './dataverseServer.ts';
import { closeRepositories, type Fault } from './repositoryServer.ts';
import { addRepository, deposit, openDepositingNode } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeRepositories();
});

async function open(community?: string) {
  const server = await new DataverseServer().listen();
  server.collection = community ?? ':root';
  const { node } = await openDepositingNode();
  const added = { kind: 'dataverse' as const, ...(community && { community }) };
  return { server, node, repository: await addRepository(node, added, server) };
}

function only(server: DataverseServer) {
  expect([...server.datasets.keys()]).toHaveLength(1);
  const [dataset] = server.datasets.values();
  if (!dataset) throw new TypeError();
  return dataset;
}

/** The files by their folder and name there, in the order in which they are listed. */
function filesOf(server: DataverseServer) {
  return only(server).files.map(({ label, directoryLabel, description, bytes }) => ({
    name: [directoryLabel, label].filter(Boolean).join('/'),
    description,
    bytes: bytes.toString(),
  }));
}

test('a deposit in Dataverse has the files as they are, the record and the metadata of the pack', async () => {
  const { server, node, repository } = await open('sea');
  server.publishingReads = 2;
  const pack = await uploadNewPack(
    node,
    {
      summary: 'One & two.',
      authors: [{ name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' }],
      license: 'CC-BY-4.0',
      keywords: ['sea'],
      related: [
        { relation: 'IsSupplementTo', identifier: 'https://doi.org/10.5555/12345678' },
        { relation: 'IsDerivedFrom', identifier: 'https://example.org/a' },
      ],
    },
    {
      'data/levels.csv': 'year,level\n',
      'größe/Ψ.txt': 'ä',
      'größe/Ω.txt': 'ö',
      'in.zip': 'PK\u0003\u0004 not really',
    },
  );
  const made = await deposit(node, pack.id, repository.id, true);
  const dataset = only(server);
  expect(made).toMatchObject({
    state: 'published',
    doi: dataset.persistentId.slice(4),
    url: `${server.url}/dataset.xhtml?persistentId=${encodeURIComponent(dataset.persistentId)}`,
    files: 5,
    compared: 5,
  });
  const [record, ...files] = filesOf(server);
  expect(
    createHash('sha256')
      .update(record?.bytes ?? '')
      .digest('hex'),
  ).toBe(pack.digest);
  expect(files).toEqual([
    { name: 'data/levels.csv', description: '', bytes: 'year,level\n' },
    {
      name: expect.stringMatching(/^gr__e\/_-[0-9a-f]{8}\.txt$/),
      description: 'In the pack: größe/Ψ.txt',
      bytes: 'ä',
    },
    {
      name: expect.stringMatching(/^gr__e\/_-[0-9a-f]{8}\.txt$/),
      description: 'In the pack: größe/Ω.txt',
      bytes: 'ö',
    },
    { name: 'in.zip', description: '', bytes: 'PK\u0003\u0004 not really' },
  ]);
  expect(new Set(files.map(({ name }) => name)).size).toBe(4);
  expect(dataset.license).toEqual({ name: 'CC BY 4.0', uri: 'http://creativecommons.org/licenses/by/4.0' });
  const fields = Object.fromEntries(dataset.fields.map(({ typeName, value }) => [typeName, plain(value)]));
  expect(fields).toEqual({
    title: pack.title,
    author: [
      {
        authorName: 'Carberry, Josiah',
        authorAffiliation: 'Brown University',
        authorIdentifierScheme: 'ORCID',
        authorIdentifier: '0000-0002-1825-0097',
      },
    ],
    datasetContact: [{ datasetContactEmail: 'ada@example.org' }],
    dsDescription: [{ dsDescriptionValue: expect.stringMatching(/^<p>One &#38; two\.<\/p>/) as string }],
    subject: ['Other'],
    keyword: [{ keywordValue: 'sea' }],
    otherId: [{ otherIdAgency: 'SHA-256', otherIdValue: `urn:sha256:${pack.digest}` }],
    alternativeURL: `https://archive.example/packs/${pack.id}`,
    distributionDate: pack.evidence.received_at.slice(0, 10),
    publication: [
      {
        publicationCitation: 'IsSupplementTo: https://doi.org/10.5555/12345678',
        publicationIDType: 'doi',
        publicationIDNumber: '10.5555/12345678',
        publicationURL: 'https://doi.org/10.5555/12345678',
      },
    ],
    relatedMaterial: ['IsDerivedFrom: https://example.org/a'],
  });
});

/** Returns a field's value without types. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Record<string, { value: unknown }>).map(([name, field]) => [name, field.value]),
  );
}

test('an answer that is lost leads to one dataset, published once, though the search never finds it', async () => {
  const losses: [name: string, fault: Fault][] = [
    ['create', 'unanswered'],
    ['create', 'unprocessed'],
    ['add', 'unanswered'],
    ['add', { status: 502 }],
    ['publish', 'unanswered'],
    ['publish', 'unprocessed'],
  ];
  const { server, node, repository } = await open();
  for (const [index, [name, fault]] of losses.entries()) {
    const when = `${name}: ${JSON.stringify(fault)}`;
    let faults = 0;
    server.fault = (each) => (each === name && faults++ === 0 ? fault : undefined);
    const pack = await uploadNewPack(node, { title: when }, { 'a.txt': 'a', 'b/a.txt': 'b' });
    const published = await deposit(node, pack.id, repository.id, true);
    expect(published, when).toMatchObject({ state: 'published', compared: 3 });
    expect(faults, when).toBeGreaterThan(0);
    expect(server.datasets.size, when).toBe(index + 1);
    expect(server.datasets.get(`doi:${published.doi}`)?.files, when).toHaveLength(3);
    expect(server.publications, when).toHaveLength(index + 1);
  }
});

test('a collection with more datasets than can be listed takes a deposit', async () => {
  const { server, node, repository } = await open();
  const json = { status: 'OK', data: [{ type: 'dataset', identifier: 'x'.repeat(9_000_000) }] };
  server.fault = (name) => (name === 'contents' ? { status: 200, json } : undefined);
  const pack = await uploadNewPack(node);
  expect(await deposit(node, pack.id, repository.id)).toMatchObject({ state: 'draft', compared: 1 });
});

test('a collection that does not exist, and a missing right, are said', async () => {
  const { server, node } = await open('sea');
  const repository = await addRepository(node, { kind: 'dataverse', community: 'land' }, server);
  const pack = await uploadNewPack(node);
  expect(await deposit(node, pack.id, repository.id)).toMatchObject({
    state: 'failed',
    error: `There is no collection land at ${server.url}.`,
  });
  server.collection = 'land';
  server.fault = (name) =>
    name === 'publish' ? { status: 403, json: { message: 'User is not permitted.' } } : undefined;
  const forbidden = await deposit(node, pack.id, repository.id, true);
  expect(forbidden).toMatchObject({ state: 'failed', compared: 1 });
  expect(forbidden.error).toMatch(/^The token does not give the right .* It says: User is not permitted\.$/);
  expect(server.datasets.size).toBe(1);
});
