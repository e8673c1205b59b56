import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CITATION_FORMATS, type Citation } from '../../shared/archive/citation.ts';
import type { Study } from '../../shared/archive/study.ts';
import { RELATION_TYPES } from '../../shared/archive/vocabulary.ts';
import { type CitationReaders, loadCitationReaders } from '../support/citationReaders.ts';
import { DATACITE_SCHEMA } from '../support/dataciteSchema.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { uploadNewPack } from '../support/packs.ts';
import { rawRequest } from '../support/rawRequest.ts';

afterEach(closeTestNodes);

let others: CitationReaders;
beforeAll(() => {
  others = loadCitationReaders();
});

async function citationOf(node: TestNode, id: string): Promise<Citation> {
  const response = await node.fetch(`/api/items/${id}/cite`);
  expect(response.status).toBe(200);
  return (await response.json()) as Citation;
}

async function citedAs(node: TestNode, id: string, format: string): Promise<string> {
  const response = await node.fetch(`/api/items/${id}/cite?format=${format}`);
  expect(response.status).toBe(200);
  return response.text();
}

const HOSTILE_TITLES = [
  'An }unbalanced{ brace, and {one} more \\{',
  'C:\\new\\title ends in a backslash \\',
  '100 % of $5 & #1_a ~ b^2 "quoted" \'single\' @misc{x, y = {z}}',
  'Line one\r\nTY  - BOOK\nER  - \n\u2028TI  - other\u0000 \u0007end',
  '<i>x</i> <script>alert(1)</script> </b> &amp;',
  'and others and and, Jr. = # % ,',
  '電子メールの件名 — Über Größe, Ελλάδα, العربية, 𝔘𝔫𝔦',
];

describe('GET /api/items/<id>/cite (contract, section 2)', () => {
  test('a pack is cited with its fingerprint, all formats, and a URL with the host of the request', async () => {
    const node = await openTestNode({ clock: new ManualClock('2026-11-20T23:30:00.000Z') });
    const pack = await uploadNewPack(node, { title: 'Sea level', keywords: ['tide', 'sea'] });
    const citation = await citationOf(node, pack.id);
    const url = `${node.url}/packs/${pack.id}`;
    expect(Object.keys(citation)).toEqual(['id', 'url', 'digest', 'csl', 'apa', 'bibtex', 'ris']);
    expect(citation).toMatchObject({ id: pack.id, url, digest: pack.digest });
    expect(citation.csl).toMatchObject({
      id: pack.id,
      type: 'dataset',
      title: 'Sea level',
      author: [{ literal: 'Ada Lovelace' }],
      issued: { 'date-parts': [[2026, 11, 20]] },
      URL: url,
      keyword: 'tide, sea',
    });
    expect(citation.apa).toBe(
      `Ada Lovelace. (2026). Sea level [Data set]. ${citation.csl.publisher}. ${url}`,
    );
    const { port } = new URL(node.url);
    const answer = await rawRequest(`${node.url}/api/items/${pack.id}/cite`, {
      headers: { Host: `localhost:${port}` },
    });
    expect(JSON.parse(answer.body).url).toBe(`http://localhost:${port}/packs/${pack.id}`);
  });

  test('each format can be requested by format and by Accept, and has its own media type', async () => {
    const node = await openTestNode();
    const pack = await uploadNewPack(node);
    const citation = await citationOf(node, pack.id);
    for (const [format, mediaType] of Object.entries(CITATION_FORMATS)) {
      const byFormat = await node.fetch(`/api/items/${pack.id}/cite?format=${format}`);
      const byAccept = await node.fetch(`/api/items/${pack.id}/cite`, { headers: { Accept: mediaType } });
      for (const response of [byFormat, byAccept]) {
        expect(response.headers.get('Content-Type')?.split(';')[0], format).toBe(mediaType);
        expect(response.headers.get('Vary')).toContain('Accept');
      }
      expect(await byAccept.text()).toBe(await byFormat.text());
    }
    expect(await citedAs(node, pack.id, 'bibtex')).toBe(citation.bibtex);
    expect(await citedAs(node, pack.id, 'ris')).toBe(citation.ris);
    expect((await citedAs(node, pack.id, 'apa')).trim()).toBe(citation.apa);
    expect(JSON.parse(await citedAs(node, pack.id, 'csl-json'))).toEqual(citation.csl);
  });

  test('respects q-values in Accept, prefers format to Accept, and returns 406 if no format matches', async () => {
    const node = await openTestNode();
    const { id } = await uploadNewPack(node);
    const typeFor = async (accept: string, query = '') => {
      const response = await node.fetch(`/api/items/${id}/cite${query}`, { headers: { Accept: accept } });
      return response.ok ? response.headers.get('Content-Type')?.split(';')[0] : response.status;
    };
    expect(await typeFor('*/*')).toBe('application/json');
    expect(await typeFor('application/x-bibtex;q=0.4, application/x-research-info-systems;q=0.5')).toBe(
      CITATION_FORMATS.ris,
    );
    expect(await typeFor('text/html, application/x-bibtex;q=0.1')).toBe(CITATION_FORMATS.bibtex);
    expect(await typeFor('application/json;q=0, application/x-bibtex;q=0, */*;q=0.1')).toBe(
      CITATION_FORMATS.ris,
    );
    expect(await typeFor('text/x-bibliography; style=apa; locale=en-US')).toBe(CITATION_FORMATS.apa);
    expect(await typeFor('text/html', '?format=ris')).toBe(CITATION_FORMATS.ris);
    expect(await typeFor('text/html')).toBe(406);
    expect(await typeFor('text/x-bibliography; style=nature')).toBe(406);
  });

  test('an unknown format is 400 invalid_format, an unknown item 404 not_found', async () => {
    const node = await openTestNode();
    const { id } = await uploadNewPack(node);
    const other = await node.fetch(`/api/items/${id}/cite?format=endnote`);
    expect([other.status, await other.json()]).toMatchObject([400, { code: 'invalid_format' }]);
    const unknown = await node.fetch(`/api/items/pk_${'0'.repeat(20)}/cite?format=bibtex`);
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: 'not_found' }]);
  });

  test('no title breaks BibTeX or RIS: a third-party parser reads the same title and authors, and nothing else', async () => {
    const node = await openTestNode();
    for (const title of HOSTILE_TITLES) {
      const name = title.slice(0, 100);
      const pack = await uploadNewPack(node, { title, authors: [{ name }, { name: 'Ada and Bob' }] });
      const { csl, bibtex, ris } = await citationOf(node, pack.id);
      expect(csl.title).not.toMatch(/[\p{Cc}\u2028]/u);
      for (const line of ris.split('\r\n').slice(0, -1))
        expect(line).toMatch(/^[A-Z][A-Z0-9] {2}- [^\r\n]*$/);
      expect(ris.match(/^TY {2}-/gm)).toHaveLength(1);
      const [fromRis, ...moreRis] = others.read('ris', ris);
      expect([fromRis?.title, moreRis]).toEqual([csl.title, []]);
      expect(depthOf(bibtex)).toBe(0);
      const [fromBibtex, ...moreBibtex] = others.read('bibtex', bibtex);
      expect([plain(fromBibtex?.title), moreBibtex], bibtex).toEqual([csl.title, []]);
      expect(fromBibtex?.author).toHaveLength(2);
      expect(plain(fromBibtex?.author?.[1]?.literal ?? fromBibtex?.author?.[1]?.family)).toBe('Ada and Bob');
      expect(fromBibtex?.URL).toBe(csl.URL);
    }
  });

  test('splits a name only if it is written as "Family, Given"', async () => {
    const node = await openTestNode();
    const names = {
      'Curie, Marie Salomea': { family: 'Curie', given: 'Marie Salomea' },
      'María de la Cruz': { literal: 'María de la Cruz' },
      'Martin Luther King, Jr.': { literal: 'Martin Luther King, Jr.' },
      'Acme Research, Inc.': { literal: 'Acme Research, Inc.' },
      'Smith, Jones, and Sons': { literal: 'Smith, Jones, and Sons' },
      'Nguyễn Văn An': { literal: 'Nguyễn Văn An' },
      山田太郎: { literal: '山田太郎' },
      '山田, 太郎': { family: '山田', given: '太郎' },
    };
    const pack = await uploadNewPack(node, { authors: Object.keys(names).map((name) => ({ name })) });
    expect((await citationOf(node, pack.id)).csl.author).toEqual(Object.values(names));
  });

  test.for<[string, string[]]>([
    ['one author', ['Ada Lovelace']],
    ['two unsplit names', ['Ada Lovelace', 'Grace Hopper']],
    ['two split names', ['Lovelace, Ada', 'Sartre, Jean-Paul']],
    ['initials of many kinds', ['Lovelace, Ada King', 'van der Berg, J.M.', 'Иванов, Иван Петрович']],
    ['a script without capitals', ['山田, 太郎', 'Institute of Tides']],
    ['20 authors', Array.from({ length: 20 }, (_, index) => `Family${index}, Given`)],
    ['21 authors', Array.from({ length: 21 }, (_, index) => `Family${index}, Given`)],
    ['100 authors', Array.from({ length: 100 }, (_, index) => `Author number ${index}`)],
  ])('the APA reference of %s is the same as that of the CSL engine', async ([, names]) => {
    const node = await openTestNode();
    const first = await uploadNewPack(node, { authors: names.map((name) => ({ name })) });
    const second = await uploadNewPack(node, {
      authors: first.authors,
      supersedes: first.id,
      title: 'What is it?',
    });
    for (const id of [first.id, second.id]) {
      const { csl, apa } = await citationOf(node, id);
      expect(csl.author).toHaveLength(names.length);
      expect(apa).toBe(others.apa(csl));
    }
  });

  test('DataCite contains rights, sizes, versions and every related work with its type', async () => {
    const node = await openTestNode();
    const first = await uploadNewPack(node);
    const digest = 'a'.repeat(64);
    const pack = await uploadNewPack(
      node,
      {
        supersedes: first.id,
        replicates: { pack: first.id, verdict: 'partial' },
        authors: [
          { name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
        ],
        license: 'CC-BY-4.0',
        keywords: ['sea'],
        related: [
          { relation: 'IsSupplementTo', identifier: 'https://doi.org/10.5555/12345678' },
          { relation: 'Cites', identifier: 'https://example.org/a' },
          { relation: 'IsDerivedFrom', identifier: `sha256:${digest}` },
        ],
      },
      { 'a.txt': 'four' },
    );
    const record = JSON.parse(await citedAs(node, pack.id, 'datacite'));
    const packAt = (id: string) => `${node.url}/packs/${id}`;
    expect(record).toMatchObject({
      schemaVersion: 'http://datacite.org/schema/kernel-4',
      types: { resourceTypeGeneral: 'Dataset' },
      url: packAt(pack.id),
      alternateIdentifiers: [
        { alternateIdentifier: packAt(pack.id), alternateIdentifierType: 'URL' },
        { alternateIdentifier: pack.id },
        { alternateIdentifier: pack.digest },
      ],
      titles: [{ title: pack.title }],
      publicationYear: pack.evidence.received_at.slice(0, 4),
      sizes: ['4 bytes', '1 files'],
      formats: [pack.files[0]?.media_type],
      version: '2',
      subjects: [{ subject: 'sea' }],
      rightsList: [{ rightsIdentifier: 'CC-BY-4.0', rightsIdentifierScheme: 'SPDX' }],
      creators: [
        {
          name: 'Carberry, Josiah',
          nameType: 'Personal',
          familyName: 'Carberry',
          givenName: 'Josiah',
          nameIdentifiers: [{ nameIdentifier: 'https://orcid.org/0000-0002-1825-0097' }],
          affiliation: [{ name: 'Brown University' }],
        },
      ],
    });
    const related = record.relatedIdentifiers as Record<string, string>[];
    expect(
      related.map((each) => [each.relationType, each.relatedIdentifierType, each.relatedIdentifier]),
    ).toEqual([
      ['IsSupplementTo', 'DOI', '10.5555/12345678'],
      ['Cites', 'URL', 'https://example.org/a'],
      ['IsDerivedFrom', 'URN', `urn:sha256:${digest}`],
      ['IsNewVersionOf', 'URL', packAt(first.id)],
      ['References', 'URL', packAt(first.id)],
    ]);
    const ofFirst = JSON.parse(await citedAs(node, first.id, 'datacite'));
    expect(ofFirst.version).toBe('1');
    expect(ofFirst.relatedIdentifiers).toContainEqual({
      relationType: 'IsPreviousVersionOf',
      relatedIdentifierType: 'URL',
      relatedIdentifier: packAt(pack.id),
    });
  });

  test('DataCite JSON keeps the rules of schema 4.5 and later, whatever a record or a study holds', async () => {
    const node = await openTestNode();
    const ajv = new Ajv2020({ allErrors: true });
    formats.default(ajv, ['date', 'uri']);
    const validate = ajv.compile(DATACITE_SCHEMA);
    const requireValid = async (id: string) => {
      const record: unknown = JSON.parse(await citedAs(node, id, 'datacite'));
      expect(validate(record) || validate.errors).toBe(true);
    };
    const study = (await (await node.sendJson('POST', '/api/studies', { title: 'Tides' })).json()) as Study;
    await requireValid(study.id);
    for (const title of HOSTILE_TITLES) {
      const keywords = [title.slice(0, 100), 'tide', 'tide', ' tide\n', '\u0007'];
      const { id } = await uploadNewPack(node, { title, summary: title, keywords, study: study.id });
      await requireValid(id);
    }
    const first = await uploadNewPack(node, { title: 'First' });
    const everything = await uploadNewPack(
      node,
      {
        title: 'Everything',
        supersedes: first.id,
        replicates: { pack: first.id, verdict: 'failed' },
        license: 'CC-BY-4.0',
        study: study.id,
        authors: [
          { name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
          { name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' },
        ],
        related: [
          ...RELATION_TYPES.map((relation) => ({ relation, identifier: 'doi:10.5555/12345678' })),
          { relation: 'Cites', identifier: 'https://example.org/a b?c=d#e' },
          { relation: 'Cites', identifier: 'a'.repeat(64) },
        ],
      },
      { 'a.txt': 'four', 'b.txt': 'five' },
    );
    for (const id of [first.id, everything.id, study.id]) await requireValid(id);
  });

  test('a comma in a keyword does not part it in BibTeX', async () => {
    const node = await openTestNode();
    const keywords = ['tide, high', 'Cuxhaven,Germany', ',', 'a {b, c} d', '1,000', 'plain'];
    const pack = await uploadNewPack(node, { keywords });
    const { bibtex, ris } = await citationOf(node, pack.id);
    // Of its two readers of BibTeX this is the one that knows keywords.
    const [item] = others.read('biblatex', bibtex);
    expect(item?.keyword?.split(',').map((keyword) => keyword.trim())).toEqual([
      'tide high',
      'Cuxhaven Germany',
      'a {b c} d',
      '1 000',
      'plain',
    ]);
    for (const keyword of keywords) expect(ris).toContain(`KW  - ${keyword}\r\n`);
  });

  test('a study is cited with the authors of its packs, each once, in order; it has no digest', async () => {
    const node = await openTestNode();
    const response = await node.sendJson('POST', '/api/studies', { title: 'Does the sea rise?' });
    const study = (await response.json()) as Study;
    const empty = await citationOf(node, study.id);
    expect(empty).toMatchObject({ digest: null, csl: { author: [] } });
    expect(empty.apa).toMatch(/^Does the sea rise\? \[Study\]\. \(\d{4}\)\. /);
    const orcid = '0000-0002-1825-0097';
    await uploadNewPack(node, {
      study: study.id,
      authors: [{ name: 'B. First', orcid }, { name: 'A. Second' }],
    });
    await uploadNewPack(node, {
      study: study.id,
      authors: [{ name: 'C. Third' }, { name: 'Bee First', orcid }],
    });
    const citation = await citationOf(node, study.id);
    expect(citation.url).toBe(`${node.url}/studies/${study.id}`);
    expect(citation.csl.author).toEqual([
      { literal: 'B. First' },
      { literal: 'A. Second' },
      { literal: 'C. Third' },
    ]);
    const datacite = JSON.parse(await citedAs(node, study.id, 'datacite'));
    expect(datacite.relatedIdentifiers).toHaveLength(2);
    expect(datacite.types.resourceTypeGeneral).toBe('Collection');
  });
});

/** Returns the depth of braces at the end of a BibTeX text, as BibTeX counts them. */
function depthOf(text: string): number {
  let depth = 0;
  for (const character of text) {
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    expect(depth).toBeGreaterThanOrEqual(0);
  }
  return depth;
}

/** Removes the marks that the parser adds to protected capitals. */
function plain(text: string | undefined): string | undefined {
  return text?.replace(/<\/?span[^>]*>/g, '');
}
