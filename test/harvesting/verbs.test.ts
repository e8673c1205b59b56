import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { harvest, identifierOf, packId, readXml } from './harvester.ts';

const SHARED = { mode: 'read', require_invitation: false };
let clock: ManualClock;
let node: TestNode;
beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.000Z');
  node = await openTestNode({ clock });
  expect((await node.sendJson('PUT', '/manage/sharing', SHARED)).status).toBe(200);
});
afterEach(closeTestNodes);

test('until the node is shared there is nothing at /oai, for the owner neither', async () => {
  expect((await node.sendJson('PUT', '/manage/sharing', { ...SHARED, mode: 'off' })).status).toBe(200);
  for (const answer of [
    node.fetch('/oai?verb=Identify'),
    node.fetchAsOwner('/oai?verb=Identify'),
    node.fetch('/oai', { method: 'POST', body: new URLSearchParams('verb=Identify') }),
  ]) {
    expect(await problemOf(answer)).toMatchObject({ status: 404, code: 'not_found' });
  }
});

describe('the six verbs of OAI-PMH 2.0', () => {
  test('Identify says who answers, since when and how; the e-mail address is the owner’s', async () => {
    await clock.jump(5_000);
    await uploadNewPack(node);
    const { Identify, request, responseDate } = await harvest(node, 'verb=Identify');
    expect(Identify).toMatchObject({
      baseURL: `${node.url}/oai`,
      protocolVersion: '2.0',
      adminEmail: expect.stringMatching(/^\S+@(?:\S+\.)+\S+$/),
      deletedRecord: 'persistent',
      granularity: 'YYYY-MM-DDThh:mm:ssZ',
    });
    expect(Identify?.earliestDatestamp?.localeCompare(responseDate)).not.toBe(1);
    expect(request).toEqual({ '#text': `${node.url}/oai`, '@verb': 'Identify' });
    await node.sendJson('PATCH', '/manage/settings', { contact_email: 'archive@example.org' });
    expect((await harvest(node, 'verb=Identify')).Identify?.adminEmail).toBe('archive@example.org');
    const refused = node.sendJson('PATCH', '/manage/settings', { contact_email: 'nobody' });
    expect(await problemOf(refused)).toMatchObject({ status: 422, code: 'invalid_field' });
  });

  test('ListMetadataFormats names both formats, of all packs and of one', async () => {
    const pack = await uploadNewPack(node);
    const all = await harvest(node, 'verb=ListMetadataFormats');
    const ofOne = await harvest(node, {
      verb: 'ListMetadataFormats',
      identifier: await identifierOf(node, pack),
    });
    for (const { ListMetadataFormats } of [all, ofOne]) {
      expect(ListMetadataFormats?.metadataFormat.map(({ metadataPrefix }) => metadataPrefix)).toEqual([
        'oai_dc',
        'oai_datacite',
      ]);
    }
  });

  test('ListSets has the licences and the tree of subjects, in parts where there are many', async () => {
    const paths = ['sea', ...Array.from({ length: 60 }, (_, index) => `sea/s${index}`)];
    for (const path of paths) {
      expect((await node.sendJson('POST', '/api/nodes', { path, title: `<${path}>` })).status).toBe(201);
    }
    const first = (await harvest(node, 'verb=ListSets')).ListSets;
    const resumptionToken = first?.resumptionToken?.['#text'] ?? '';
    const second = (await harvest(node, { verb: 'ListSets', resumptionToken })).ListSets;
    const sets = [...(first?.set ?? []), ...(second?.set ?? [])];
    expect(sets).toHaveLength(4 + paths.length);
    expect(new Set(sets.flatMap(({ setSpec }) => setSpec))).toEqual(
      new Set([
        'license',
        'license:CC-BY-4.0',
        'license:CC0-1.0',
        'subject',
        ...paths.map((path) => `subject:${path.replace('/', ':')}`),
      ]),
    );
    expect(sets.map(({ setName }) => setName)).toContain('<sea/s0>');
    expect([first?.resumptionToken?.['@cursor'], second?.resumptionToken]).toEqual([
      '0',
      { '@cursor': '50' },
    ]);
  });

  test('GetRecord and ListRecords give what a pack says in Dublin Core', async () => {
    const first = await uploadNewPack(node);
    const pack = await uploadNewPack(
      node,
      {
        title: 'Sea & shore <1>',
        summary: 'Two "stations".',
        keywords: ['tide', 'sea'],
        supersedes: first.id,
        authors: [{ name: 'Ada Lovelace' }, { name: 'Curie, Marie' }],
      },
      { 'a.txt': 'four' },
    );
    const identifier = await identifierOf(node, pack);
    const { GetRecord } = await harvest(node, { verb: 'GetRecord', metadataPrefix: 'oai_dc', identifier });
    const [record] = GetRecord?.record ?? [];
    expect(record?.header).toMatchObject({ identifier, setSpec: ['license:CC0-1.0'] });
    expect(record?.metadata['oai_dc:dc']).toMatchObject({
      'dc:title': 'Sea & shore <1>',
      'dc:creator': ['Ada Lovelace', 'Curie, Marie'],
      'dc:subject': ['tide', 'sea'],
      'dc:description': 'Two "stations".',
      'dc:date': '2026-11-20',
      'dc:type': 'Dataset',
      'dc:identifier': [`${node.url}/packs/${pack.id}`, `urn:sha256:${pack.digest}`],
      'dc:relation': [`${node.url}/packs/${first.id}`],
      'dc:rights': ['Creative Commons Zero v1.0 Universal', expect.stringContaining('https://')],
    });
    const { ListRecords } = await harvest(node, { verb: 'ListRecords', metadataPrefix: 'oai_dc' });
    expect(ListRecords?.record.at(-1)).toEqual(record);
  });

  test('oai_datacite is the DataCite record that the citation gives, as XML', async () => {
    const pack = await uploadNewPack(node, {
      authors: [{ name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown & Co' }],
      related: [{ relation: 'IsSupplementTo', identifier: 'https://doi.org/10.5555/12345678' }],
      license: 'CC-BY-4.0',
    });
    const { ListRecords } = await harvest(node, { verb: 'ListRecords', metadataPrefix: 'oai_datacite' });
    const envelope = ListRecords?.record[0]?.metadata.oai_datacite;
    expect(envelope).toMatchObject({
      '@xmlns': 'http://schema.datacite.org/oai/oai-1.1/',
      schemaVersion: '4.6',
    });
    expect(envelope?.payload.resource).toMatchObject({
      '@xmlns': 'http://datacite.org/schema/kernel-4',
      identifier: { '#text': `${node.url}/packs/${pack.id}`, '@identifierType': 'URL' },
      creators: {
        creator: [
          {
            creatorName: { '#text': 'Carberry, Josiah', '@nameType': 'Personal' },
            givenName: 'Josiah',
            familyName: 'Carberry',
            nameIdentifier: {
              '#text': 'https://orcid.org/0000-0002-1825-0097',
              '@nameIdentifierScheme': 'ORCID',
              '@schemeURI': 'https://orcid.org',
            },
            affiliation: 'Brown & Co',
          },
        ],
      },
      titles: { title: pack.title },
      publicationYear: '2026',
      resourceType: { '@resourceTypeGeneral': 'Dataset' },
      relatedIdentifiers: {
        relatedIdentifier: [
          {
            '#text': '10.5555/12345678',
            '@relatedIdentifierType': 'DOI',
            '@relationType': 'IsSupplementTo',
          },
        ],
      },
      rightsList: { rights: [{ '@rightsIdentifier': 'CC-BY-4.0', '@rightsIdentifierScheme': 'SPDX' }] },
    });
  });

  test('arguments may be sent as a form', async () => {
    const { id } = await uploadNewPack(node);
    const body = new URLSearchParams({ verb: 'ListIdentifiers', metadataPrefix: 'oai_dc' });
    const answer = await readXml(await node.fetch('/oai', { method: 'POST', body }));
    expect(answer.ListIdentifiers?.header.map(packId)).toEqual([id]);
    const json = node.fetch('/oai', {
      method: 'POST',
      body: '{}',
      headers: { 'Content-Type': 'application/json' },
    });
    expect(await problemOf(json)).toMatchObject({ status: 415 });
  });

  test.for([
    'a ]]> b <!-- c --> <?d?> &amp; &#0; "e" \'f\'',
    'not \uFFFE and \uFFFF in XML, \u0000 \u0008 \u001F neither',
    '電子メール — Ελλάδα, العربية, 𝔘𝔫𝔦, 👩‍🔬',
  ])('whatever a pack is called, the XML holds it: %j', async (title) => {
    await uploadNewPack(node, { title, summary: title, keywords: [title], authors: [{ name: title }] });
    const { ListRecords } = await harvest(node, { verb: 'ListRecords', metadataPrefix: 'oai_dc' });
    const expected = title
      .replace(/[\uFFFE\uFFFF]/g, '\uFFFD')
      .replace(/[\0\b\u001F]/g, ' ')
      .replace(/\s+/g, ' ');
    expect(ListRecords?.record[0]?.metadata['oai_dc:dc']).toMatchObject({
      'dc:title': expected,
      'dc:creator': [expected],
    });
    await harvest(node, { verb: 'ListRecords', metadataPrefix: 'oai_datacite' });
  });
});
