import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CitableWork } from '../../server/citations/citedWork.ts';
import { apaReference } from '../../server/citations/textFormats.ts';
import { CITATION_FORMATS } from '../../shared/archive/citation.ts';
import type { Study } from '../../shared/archive/study.ts';
import { type CitationReaders, loadCitationReaders } from '../support/archive/citationReaders.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { rawRequest } from '../support/network/rawRequest.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { citationOf, citedAs, HOSTILE_TITLES, plain } from './citationSupport.ts';

afterEach(closeTestNodes);

const PUBLIC = 'https://archive.example';

let others: CitationReaders;
beforeAll(() => {
  others = loadCitationReaders();
  // The style blocks this process while it loads, which would end a node's connections in the middle of a test.
  others.apa({ id: 'x', type: 'dataset', title: 'Loads the style' });
});

describe('GET /api/items/<id>/cite (contract, section 2)', () => {
  test('a pack is cited with its fingerprint, all formats, and its URL at the public address', async () => {
    const clock = new ManualClock('2026-11-20T23:30:00.000Z');
    const node = await openTestNode({ clock, publicUrl: PUBLIC });
    const pack = await uploadNewPack(node, { title: 'Sea level', keywords: ['tide', 'sea'] });
    const citation = await citationOf(node, pack.id);
    const url = `${PUBLIC}/packs/${pack.id}`;
    const here = `${node.url}/packs/${pack.id}`;
    expect(Object.keys(citation)).toEqual(['id', 'url', 'digest', 'csl', 'apa', 'bibtex', 'ris']);
    expect(citation).toMatchObject({ id: pack.id, url: here, digest: pack.digest });
    expect(citation.csl).toMatchObject({
      id: pack.id,
      type: 'dataset',
      title: 'Sea level',
      author: [{ family: 'Lovelace', given: 'Ada' }],
      issued: { 'date-parts': [[2026, 11, 20]] },
      URL: url,
      keyword: 'tide, sea',
    });
    expect(citation.apa).toBe(`Lovelace, A. (2026). Sea level [Data set]. ${citation.csl.publisher}. ${url}`);
  });

  test('without a public address no citation has a URL of this machine; the fingerprint identifies a pack', async () => {
    const node = await openTestNode();
    const study = (await (
      await node.sendJson('POST', '/api/studies', { title: 'Does the sea rise?' })
    ).json()) as Study;
    const first = await uploadNewPack(node, { title: 'Sea level', study: study.id });
    const pack = await uploadNewPack(node, {
      title: 'Sea level again',
      supersedes: first.id,
      study: study.id,
      replicates: { pack: first.id, verdict: 'partial' },
    });
    for (const id of [pack.id, study.id]) {
      for (const format of Object.keys(CITATION_FORMATS)) {
        expect(await citedAs(node, id, format), format).not.toMatch(/127\.0\.0\.1|localhost|http:\/\/[^d]/);
      }
    }
    const citation = await citationOf(node, pack.id);
    expect(citation.url).toBe(`${node.url}/packs/${pack.id}`);
    expect(citation.apa).toMatch(new RegExp(`\\. urn:sha256:${pack.digest}$`));
    expect('URL' in citation.csl).toBe(false);
    const { port } = new URL(node.url);
    const answer = await rawRequest(`${node.url}/api/items/${pack.id}/cite`, {
      headers: { Host: `localhost:${port}` },
    });
    expect(JSON.parse(answer.body)).toMatchObject({ apa: citation.apa });
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

  test.each<[name: string, cited: string]>([
    ['Karl-Heinz Müller', 'Müller, K.-H.'],
    ['Müller, Karl-Heinz', 'Müller, K.-H.'],
    ['Sang Yoon Lee', 'Lee, S. Y.'],
    ['Curie, Marie Salomea', 'Curie, M. S.'],
    ['J.R.R. Tolkien', 'Tolkien, J. R. R.'],
    ['María de la Cruz', 'de la Cruz, M.'],
    ['Ludwig van Beethoven', 'van Beethoven, L.'],
    ['Vincent van der Berg', 'van der Berg, V.'],
    ['José Ortega y Gasset', 'Ortega y Gasset, J.'],
    ['Robert De Niro', 'De Niro, R.'],
    ['Ali ibn Sina', 'ibn Sina, A.'],
    ['Martin Luther King Jr.', 'King, M. L., Jr.'],
    ['Martin Luther King, Jr.', 'King, M. L., Jr.'],
    ['King, Martin Luther, Jr.', 'King, M. L., Jr.'],
    ['Dr. Jane Smith', 'Smith, J.'],
    ['Иван Петров', 'Петров, И.'],
    ['山田, 太郎', '山田太郎'],
    ['山田太郎', '山田太郎'],
    ['Aristotle', 'Aristotle'],
    ['bell hooks', 'bell hooks'],
    ['Nguyễn Văn An', 'Nguyễn Văn An'],
    ['World Health Organization', 'World Health Organization'],
    ['University of Oslo', 'University of Oslo'],
    ['ATLAS Collaboration', 'ATLAS Collaboration'],
    ['Statistics Norway', 'Statistics Norway'],
    ['Deutsche Forschungsgemeinschaft', 'Deutsche Forschungsgemeinschaft'],
    ['Acme Research, Inc.', 'Acme Research, Inc.'],
    ['Smith, Jones, and Sons', 'Smith, Jones, and Sons'],
    ['Ada and Bob', 'Ada and Bob'],
  ])('APA cites %s as %s', (name, cited) => {
    const work = { ...WORK, authors: [{ name, orcid: null, affiliation: '' }] };
    expect(apaReference(work)).toBe(`${cited.replace(/\.$/, '')}. (2026). Title [Data set]. Node.`);
  });

  test('APA joins authors with a comma and an ampersand', () => {
    const authors = ['Karl-Heinz Müller', 'Sang Yoon Lee'].map((name) => ({
      name,
      orcid: null,
      affiliation: '',
    }));
    expect(apaReference({ ...WORK, authors })).toMatch(/^Müller, K\.-H\., & Lee, S\. Y\. \(2026\)/);
  });

  test.for<[string, string[]]>([
    ['one author', ['Ada Lovelace']],
    ['two names', ['Ada Lovelace', 'Grace Hopper']],
    ['two names that are not split', ['Aristotle', 'University of Oslo']],
    ['a generation', ['King, Martin Luther, Jr.', 'Ada Lovelace']],
    ['two split names', ['Lovelace, Ada', 'Sartre, Jean-Paul']],
    ['initials of many kinds', ['Lovelace, Ada King', 'van der Berg, J.M.', 'Иванов, Иван Петрович']],
    ['a script without capitals', ['山田, 太郎', 'Institute of Tides']],
    ['20 authors', Array.from({ length: 20 }, (_, index) => `Family${index}, Given`)],
    ['21 authors', Array.from({ length: 21 }, (_, index) => `Family${index}, Given`)],
    ['100 authors', Array.from({ length: 100 }, (_, index) => `Author number ${index}`)],
  ])('the APA reference of %s is the same as that of the CSL engine', async ([, names]) => {
    const node = await openTestNode({ publicUrl: PUBLIC });
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
    const node = await openTestNode({ publicUrl: PUBLIC });
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
      { family: 'First', given: 'B.' },
      { family: 'Second', given: 'A.' },
      { family: 'Third', given: 'C.' },
    ]);
    const datacite = JSON.parse(await citedAs(node, study.id, 'datacite'));
    expect(datacite.relatedIdentifiers).toHaveLength(2);
    expect(datacite.types.resourceTypeGeneral).toBe('Collection');
  });
});

const WORK: CitableWork = {
  id: 'pk_00000000000000000000',
  kind: 'pack',
  title: 'Title',
  authors: [],
  date: { year: 2026, month: 11, day: 20 },
  publisher: 'Node',
  url: undefined,
  digest: null,
  version: undefined,
  abstract: '',
  keywords: [],
  license: null,
  bytes: 0,
  files: 0,
  mediaTypes: [],
  relations: [],
};

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
