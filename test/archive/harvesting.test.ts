import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/packs.ts';

/** XML as objects: attributes begin with `@`, and what may come more than once is a list. */
type Parsed = Record<string, unknown>;

interface Answer {
  responseDate: string;
  request: { '#text': string } & Record<string, string>;
  error?: { '@code': string; '#text': string };
  Identify?: Record<string, string>;
  ListMetadataFormats?: { metadataFormat: { metadataPrefix: string }[] };
  ListSets?: { set: { setSpec: string[]; setName: string }[]; resumptionToken?: Token };
  ListIdentifiers?: { header: Header[]; resumptionToken?: Token };
  ListRecords?: { record: HarvestedRecord[]; resumptionToken?: Token };
  GetRecord?: { record: HarvestedRecord[] };
}
interface Token {
  '#text'?: string;
  '@cursor': string;
}
interface Header {
  identifier: string;
  datestamp: string;
  setSpec: string[];
}
interface HarvestedRecord {
  header: Header;
  metadata: { 'oai_dc:dc'?: Parsed; oai_datacite?: { schemaVersion: string; payload: { resource: Parsed } } };
}

const LISTS = [
  'record',
  'set',
  'setSpec',
  'metadataFormat',
  'creator',
  'relatedIdentifier',
  'subject',
  'rights',
  'dc:creator',
  'dc:subject',
  'dc:identifier',
  'dc:relation',
  'dc:rights',
];
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  trimValues: false,
  htmlEntities: true,
  isArray: (name, path) => LISTS.includes(name) || String(path).endsWith('ListIdentifiers.header'),
});

const SHARED = { mode: 'read', require_invitation: false };
let clock: ManualClock;
let node: TestNode;
beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.000Z');
  node = await openTestNode({ clock });
  expect((await node.sendJson('PUT', '/manage/sharing', SHARED)).status).toBe(200);
});
afterEach(closeTestNodes);

async function read(response: Response): Promise<Answer> {
  expect(response.status).toBe(200);
  expect(response.headers.get('Content-Type')).toBe('text/xml; charset=utf-8');
  const text = await response.text();
  expect(XMLValidator.validate(text)).toBe(true);
  expect(text).not.toMatch(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u);
  const parsed = parser.parse(text) as { 'OAI-PMH': Answer };
  return parsed['OAI-PMH'];
}

async function ask(query: Record<string, string> | string): Promise<Answer> {
  return read(await node.fetch(`/oai?${new URLSearchParams(query)}`));
}

const identifierOf = async ({ id }: Pick<Pack, 'id'>) =>
  `oai:${encodeURIComponent((await ask('verb=Identify')).Identify?.repositoryName ?? '')}:${id}`;

/** Every header of a list, page by page, and the date of the first answer. */
async function harvestAll(query: Record<string, string> = {}, betweenPages?: () => Promise<unknown>) {
  let answer = await ask({ verb: 'ListIdentifiers', metadataPrefix: 'oai_dc', ...query });
  const { responseDate } = answer;
  const headers: Header[] = [];
  let pages = 0;
  for (;;) {
    headers.push(...(answer.ListIdentifiers?.header ?? []));
    pages += 1;
    const token = answer.ListIdentifiers?.resumptionToken?.['#text'];
    if (!token) return { headers, responseDate, pages, ids: headers.map(packId) };
    await betweenPages?.();
    answer = await ask({ verb: 'ListIdentifiers', resumptionToken: token });
  }
}

function packId({ identifier }: Header): string {
  return identifier.split(':').at(-1) ?? '';
}

async function uploadMany(count: number, changes: object = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    await clock.jump(100);
    const record = sampleRecord({ title: `Pack ${index}`, ...changes });
    const answer = await node.sendJson('POST', '/api/packs', record);
    expect(answer.status).toBe(201);
    ids.push(((await answer.json()) as Pack).id);
  }
  return ids;
}

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
    const { Identify, request, responseDate } = await ask('verb=Identify');
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
    expect((await ask('verb=Identify')).Identify?.adminEmail).toBe('archive@example.org');
    const refused = node.sendJson('PATCH', '/manage/settings', { contact_email: 'nobody' });
    expect(await problemOf(refused)).toMatchObject({ status: 422, code: 'invalid_field' });
  });

  test('ListMetadataFormats names both formats, of all packs and of one', async () => {
    const pack = await uploadNewPack(node);
    const all = await ask('verb=ListMetadataFormats');
    const ofOne = await ask({ verb: 'ListMetadataFormats', identifier: await identifierOf(pack) });
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
    const first = (await ask('verb=ListSets')).ListSets;
    const resumptionToken = first?.resumptionToken?.['#text'] ?? '';
    const second = (await ask({ verb: 'ListSets', resumptionToken })).ListSets;
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
    const identifier = await identifierOf(pack);
    const { GetRecord } = await ask({ verb: 'GetRecord', metadataPrefix: 'oai_dc', identifier });
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
    const { ListRecords } = await ask({ verb: 'ListRecords', metadataPrefix: 'oai_dc' });
    expect(ListRecords?.record.at(-1)).toEqual(record);
  });

  test('oai_datacite is the DataCite record that the citation gives, as XML', async () => {
    const pack = await uploadNewPack(node, {
      authors: [{ name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown & Co' }],
      related: [{ relation: 'IsSupplementTo', identifier: 'https://doi.org/10.5555/12345678' }],
      license: 'CC-BY-4.0',
    });
    const { ListRecords } = await ask({ verb: 'ListRecords', metadataPrefix: 'oai_datacite' });
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
    const answer = await read(await node.fetch('/oai', { method: 'POST', body }));
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
    const { ListRecords } = await ask({ verb: 'ListRecords', metadataPrefix: 'oai_dc' });
    const expected = title
      .replace(/[\uFFFE\uFFFF]/g, '\uFFFD')
      .replace(/[\0\b\u001F]/g, ' ')
      .replace(/\s+/g, ' ');
    expect(ListRecords?.record[0]?.metadata['oai_dc:dc']).toMatchObject({
      'dc:title': expected,
      'dc:creator': [expected],
    });
    await ask({ verb: 'ListRecords', metadataPrefix: 'oai_datacite' });
  });
});

describe('lists', () => {
  test('come in parts that hold every pack once, in the order of its last change', async () => {
    const ids = await uploadMany(120);
    const { ids: harvested, pages, headers } = await harvestAll();
    expect(harvested).toEqual(ids);
    expect(pages).toBe(3);
    expect(headers.map(({ datestamp }) => datestamp)).toEqual(
      headers.map(({ datestamp }) => datestamp).toSorted(),
    );
  });

  test('miss no pack that changes, and none that comes, between two parts', async () => {
    const ids = await uploadMany(110);
    let replications = 0;
    const { ids: harvested } = await harvestAll({}, async () => {
      await clock.jump(1_000);
      const replicates = { pack: ids[replications], verdict: 'reproduced' };
      const changed = await uploadMany(1, { title: `Again ${replications}`, replicates });
      ids.push(...changed);
      replications += 1;
    });
    expect(new Set(harvested)).toEqual(new Set(ids));
    // Those that were replicated come once more, behind the rest.
    expect(harvested.slice(-4)).toEqual([ids[0], ids[110], ids[1], ids[111]]);
  });

  test('from the date of the last answer on they hold what is new and what was changed by it', async () => {
    const [original] = await uploadMany(3);
    const first = await harvestAll();
    await clock.jump(60_000);
    const second = await harvestAll({ from: first.responseDate });
    expect(second.ids).toHaveLength(3);
    const [replication] = await uploadMany(1, {
      title: 'Once more',
      replicates: { pack: original, verdict: 'failed' },
    });
    const { ids, headers } = await harvestAll({ from: '2026-11-20T10:01:00Z' });
    expect(ids).toEqual([original, replication]);
    expect(new Set(headers.map(({ datestamp }) => datestamp))).toEqual(new Set(['2026-11-20T10:01:00Z']));
    const identifier = headers[0]?.identifier ?? '';
    const { GetRecord } = await ask({ verb: 'GetRecord', metadataPrefix: 'oai_dc', identifier });
    expect(GetRecord?.record[0]?.header.datestamp).toBe('2026-11-20T10:01:00Z');
    expect(GetRecord?.record[0]?.metadata['oai_dc:dc']?.['dc:relation']).toEqual([
      `${node.url}/packs/${replication}`,
    ]);
  });

  test('the date of an answer is no later than what it could see: a pack under way is not passed over', async () => {
    await clock.jump(500);
    await uploadMany(1);
    const { datestamp } = (await harvestAll()).headers[0] ?? { datestamp: '' };
    await clock.jump(86_400_000);
    expect((await ask('verb=Identify')).responseDate).toBe(datestamp);
  });

  test('from and until bound them, both included, by seconds and by days', async () => {
    const [first] = await uploadMany(1);
    await clock.jump(10_000);
    const [second] = await uploadMany(1, { title: 'Second' });
    await clock.jump(86_400_000);
    const [third] = await uploadMany(1, { title: 'Third' });
    const within = async (query: Record<string, string>) => (await harvestAll(query)).ids;
    expect(await within({ until: '2026-11-20T10:00:09Z' })).toEqual([first]);
    expect(await within({ from: '2026-11-20T10:00:01Z', until: '2026-11-20T10:00:10Z' })).toEqual([second]);
    expect(await within({ from: '2026-11-20T10:00:10Z' })).toEqual([second, third]);
    expect(await within({ from: '2026-11-20', until: '2026-11-20' })).toEqual([first, second]);
    expect(await within({ from: '2026-11-21' })).toEqual([third]);
    expect(await within({ until: '2026-11-19' })).toEqual([]);
  });

  test('hold the packs of a set, and those of the sets below it', async () => {
    for (const path of ['sea', 'sea/tides', 'seaside']) {
      await node.sendJson('POST', '/api/nodes', { path, title: path });
    }
    const [tides] = await uploadMany(1, { node: 'sea/tides' });
    const [sea] = await uploadMany(1, { node: 'sea', license: 'CC-BY-4.0' });
    const [seaside] = await uploadMany(1, { node: 'seaside' });
    const [nowhere] = await uploadMany(1, { title: 'Nowhere' });
    const inSet = async (set: string) => (await harvestAll({ set })).ids;
    expect(await inSet('subject')).toEqual([tides, sea, seaside]);
    expect(await inSet('subject:sea')).toEqual([tides, sea]);
    expect(await inSet('subject:sea:tides')).toEqual([tides]);
    expect(await inSet('license:CC-BY-4.0')).toEqual([sea]);
    expect(await inSet('license')).toEqual([tides, sea, seaside, nowhere]);
    expect(await inSet('subject:land')).toEqual([]);
    const { headers } = await harvestAll({ set: 'subject:sea:tides' });
    expect(headers[0]?.setSpec).toEqual(['license:CC0-1.0', 'subject:sea:tides']);
  });
});

describe('errors', () => {
  const list = 'verb=ListRecords&metadataPrefix=oai_dc';
  const token = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString('base64url');
  test.for([
    ['', 'badVerb'],
    ['verb=Nope', 'badVerb'],
    ['verb=Identify&verb=Identify', 'badVerb'],
    ['verb=__proto__', 'badVerb'],
    ['verb=Identify&set=a', 'badArgument'],
    ['verb=Identify&nope=a', 'badArgument'],
    ['verb=ListRecords', 'badArgument'],
    ['verb=GetRecord&metadataPrefix=oai_dc', 'badArgument'],
    [`${list}&metadataPrefix=oai_dc`, 'badArgument'],
    [`${list}&resumptionToken=x`, 'badArgument'],
    [`${list}&from=2026-02-30`, 'badArgument'],
    [`${list}&from=2026-11-20T10:00Z`, 'badArgument'],
    [`${list}&from=junk`, 'badArgument'],
    [`${list}&from=2026-11-20&until=2026-11-20T10:00:00Z`, 'badArgument'],
    [`${list}&from=2026-11-21&until=2026-11-20`, 'badArgument'],
    [`${list}&set=a%20b`, 'badArgument'],
    ['verb=ListRecords&metadataPrefix=marc', 'cannotDisseminateFormat'],
    ['verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:x:y', 'idDoesNotExist'],
    ['verb=GetRecord&metadataPrefix=oai_dc&identifier=%00%3C', 'idDoesNotExist'],
    ['verb=ListMetadataFormats&identifier=nope', 'idDoesNotExist'],
    [`${list}&from=2100-01-01`, 'noRecordsMatch'],
    [`${list}&set=nope`, 'noRecordsMatch'],
    ['verb=ListRecords&resumptionToken=', 'badResumptionToken'],
    ['verb=ListRecords&resumptionToken=junk', 'badResumptionToken'],
    [`verb=ListRecords&resumptionToken=${token(['ListRecords'])}`, 'badResumptionToken'],
    [
      `verb=ListRecords&resumptionToken=${token(['ListIdentifiers', 'oai_dc', null, null, 1, 0, 50])}`,
      'badResumptionToken',
    ],
    [`verb=ListSets&resumptionToken=${token(['ListSets', 5_000])}`, 'badResumptionToken'],
    [`verb=ListSets&resumptionToken=${token(['ListSets', -1])}`, 'badResumptionToken'],
  ])('%s is %s', async ([query = '', code = '']) => {
    await uploadNewPack(node);
    const { error, request } = await ask(query);
    expect(error).toMatchObject({ '@code': code, '#text': expect.stringMatching(/\w.*\.$/) });
    // What is not of the protocol is not repeated.
    const repeats = code !== 'badVerb' && code !== 'badArgument';
    expect(Object.keys(typeof request === 'string' ? {} : request).includes('@verb')).toBe(repeats);
  });
});
