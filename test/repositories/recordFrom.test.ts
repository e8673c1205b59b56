import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredDraft } from '../../shared/archive/draft.ts';
import { MAX_CITATION_FILE_BYTES } from '../../shared/archive/recordImport.ts';
import { newDraft, readDraft } from '../support/archive/drafts.ts';
import { problemOf } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

const ORCID = '0000-0002-1825-0097';

const RIS = `\ufeffTY  - JOUR
TI  - Tides at Brest
  and elsewhere
AU  - Čapková, Žofie
AU  - van der Berg, Jan (ORCID: ${ORCID})
AB  - Levels rose.
KW  - tides
KW  - gauges
PY  - 2021/03/04
DO  - https://doi.org/10.1234/ABC.5
ER  - 
`;
const BIBTEX = `% exported
@string{brest = "Brest"}
@article{capkova2021,
  title = {{Tides} at } # brest # { and elsewhere},
  author = {{\\v C}apkov{\\'a}, {\\v{Z}}ofie and van der Berg, Jan and others},
  orcid-numbers = {van der Berg, Jan/${ORCID}},
  abstract = "Levels rose.",
  keywords = {tides, gauges},
  year = 2021,
  doi = {10.1234/ABC.5},
}
`;
const CSL = JSON.stringify([
  {
    id: 'x',
    type: 'article-journal',
    title: 'Tides at Brest and elsewhere',
    author: [
      { family: 'Čapková', given: 'Žofie' },
      {
        family: 'Berg',
        given: 'Jan',
        'non-dropping-particle': 'van der',
        ORCID: `https://orcid.org/${ORCID}`,
      },
    ],
    abstract: '<p>Levels rose.</p>',
    keyword: 'tides, gauges',
    DOI: '10.1234/ABC.5',
    issued: { 'date-parts': [[2021, 3, 4]] },
  },
]);
const ZOTERO = `<rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:z="http://www.zotero.org/namespaces/export#"
 xmlns:bib="http://purl.org/net/biblio#" xmlns:foaf="http://xmlns.com/foaf/0.1/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">
  <bib:Article rdf:about="http://example.org/tides">
    <z:itemType>journalArticle</z:itemType>
    <dcterms:isPartOf rdf:resource="urn:issn:1234-5678"/>
    <bib:authors><rdf:Seq>
      <rdf:li><foaf:Person><foaf:surname>Čapková</foaf:surname><foaf:givenName>Žofie</foaf:givenName></foaf:Person></rdf:li>
      <rdf:li><foaf:Person rdf:about="https://orcid.org/${ORCID}"><foaf:surname>van der Berg</foaf:surname><foaf:givenName>Jan</foaf:givenName></foaf:Person></rdf:li>
    </rdf:Seq></bib:authors>
    <dc:subject><z:AutomaticTag><rdf:value>tides</rdf:value></z:AutomaticTag></dc:subject>
    <dc:subject>gauges</dc:subject>
    <dc:title>Tides at Brest and elsewhere</dc:title>
    <dcterms:abstract>Levels rose.</dcterms:abstract>
    <dc:date>2021-03-04</dc:date>
    <link:link xmlns:link="http://purl.org/rss/1.0/modules/link/" rdf:resource="#item_2"/>
  </bib:Article>
  <z:Attachment rdf:about="#item_2"><z:itemType>attachment</z:itemType><dc:title>Full text</dc:title></z:Attachment>
  <bib:Journal rdf:about="urn:issn:1234-5678"><dc:title>Tides</dc:title><dc:identifier>DOI 10.1234/ABC.5</dc:identifier></bib:Journal>
</rdf:RDF>`;

const FORMATS = [
  ['RIS', 'application/x-research-info-systems', RIS],
  ['BibTeX', 'application/x-bibtex', BIBTEX],
  ['CSL-JSON', 'application/vnd.citationstyles.csl+json', CSL],
  ['Zotero RDF', 'application/rdf+xml; charset=utf-8', ZOTERO],
] as const;

const send = (method: string, path: string, type: string, body: string) =>
  node.fetchAsOwner(path, { method, body, headers: { 'Content-Type': type } });
const fill = (id: string, type: string, body: string, query = '') =>
  send('PATCH', `/manage/drafts/${id}/record-from${query}`, type, body);

describe.each(FORMATS)('%s', (_, type, text) => {
  test('fills the record of a draft, and leaves the rest of it', async () => {
    const form = { title: '', results: [{ key: '1', name: 'slope', value: '1.5e-' }], writer: 'a window' };
    const { id } = await newDraft(node, { outcome: 'null', title: 'Old', related: [] }, form);
    const response = await fill(id, type, text);
    expect(response.status, await response.clone().text()).toBe(200);
    const draft = (await response.json()) as StoredDraft;
    expect(draft.record).toEqual({
      outcome: 'null',
      title: 'Tides at Brest and elsewhere',
      summary: 'Levels rose.',
      authors: [
        { name: 'Čapková, Žofie', orcid: null, affiliation: '' },
        { name: 'van der Berg, Jan', orcid: ORCID, affiliation: '' },
      ],
      keywords: ['tides', 'gauges'],
      related: [{ relation: 'IsSupplementTo', identifier: '10.1234/ABC.5' }],
    });
    // What was typed and is no record yet is still there.
    expect(draft.form).toMatchObject({ title: 'Tides at Brest and elsewhere', results: form.results });
    expect(draft.revision).toBe(2);
    // The DOI is added once, however it is written.
    await fill(id, type, text.replace('ABC.5', 'abc.5'));
    expect((await readDraft(node, id)).record.related).toHaveLength(1);
  });

  test('is listed without changing anything', async () => {
    const response = await send('POST', '/manage/citation-entries', type, text);
    expect(await response.json()).toEqual({
      entries: [
        {
          entry: 0,
          title: 'Tides at Brest and elsewhere',
          authors: 'Čapková, Žofie; van der Berg, Jan',
          year: '2021',
          doi: '10.1234/ABC.5',
        },
      ],
      warnings: [],
    });
  });
});

test('of several entries one is named', async () => {
  const { id } = await newDraft(node);
  const two =
    '@book{a, title = {One}}\n@misc{broken, title = {x}\n@dataset{b, title = {Two}, doi = {10.1234/two}}';
  expect(await problemOf(fill(id, 'application/x-bibtex', two))).toMatchObject({ code: 'several_citations' });
  const listed = await (await send('POST', '/manage/citation-entries', 'text/x-bibtex', two)).json();
  expect(listed).toMatchObject({
    entries: [{ title: 'One' }, { title: 'Two' }],
    warnings: ['The entry in line 2 cannot be read.'],
  });
  expect((await fill(id, 'application/x-bibtex', two, '?entry=1')).status).toBe(200);
  expect((await readDraft(node, id)).record).toEqual({
    title: 'Two',
    related: [{ relation: 'IsDerivedFrom', identifier: '10.1234/two' }],
  });
  expect(await problemOf(fill(id, 'application/x-bibtex', two, '?entry=2'))).toMatchObject({
    code: 'invalid_citations',
  });
});

test.each([
  ['application/ris', RIS],
  ['application/bibtex', BIBTEX],
  ['text/bibtex', BIBTEX],
  ['application/csl+json', CSL],
])('%s is read as what it is', async (type, text) => {
  const { id } = await newDraft(node);
  expect((await fill(id, type, text)).status).toBe(200);
  expect((await readDraft(node, id)).record).toMatchObject({ title: 'Tides at Brest and elsewhere' });
});

/** Each would take a careless reader minutes, its stack, or the memory of the node. */
const HOSTILE: [string, string, string][] = [
  ['nested braces', 'application/x-bibtex', `@a{b, title = {${'{'.repeat(1_000_000)}`],
  ['entries that never end', 'application/x-bibtex', '@a{b, title = {'.repeat(100_000)],
  ['names that never end', 'application/x-bibtex', `@a{b, title={x}, author={${'a and '.repeat(30_000)}}}`],
  [
    'long macros in many entries',
    'application/x-bibtex',
    `@string{s = {${'x'.repeat(190_000)}}}${'@a{b,title={x},abstract=s}'.repeat(200_000)}`,
  ],
  [
    'lines without a tag',
    'application/x-research-info-systems',
    `TY  - JOUR\nTI  - x\n${' y\n'.repeat(1_000_000)}`,
  ],
  ['spaces', 'application/x-research-info-systems', `TY  - ${' '.repeat(4_000_000)}`],
  ['nested lists', 'application/json', `${'['.repeat(1_000_000)}`],
  ['nested elements', 'application/rdf+xml', `<rdf:RDF>${'<a>'.repeat(500_000)}`],
  [
    'entities',
    'application/rdf+xml',
    `<!DOCTYPE x [<!ENTITY a "${'b'.repeat(1_000)}">]><rdf:RDF><x><title>${'&a;'.repeat(200_000)}</title></x></rdf:RDF>`,
  ],
];
test.each(HOSTILE)('%s do no harm', async (_, type, text) => {
  const { id } = await newDraft(node);
  const response = await fill(id, type, text);
  expect([200, 422]).toContain(response.status);
  expect((await node.fetch('/api/ledger')).status).toBe(200);
});

test('a file that is too large, of another type, or none of the format is refused', async () => {
  const { id } = await newDraft(node);
  expect(await problemOf(fill(id, 'text/plain', RIS))).toMatchObject({ code: 'unsupported_media_type' });
  expect(await problemOf(fill(id, 'application/x-bibtex', 'No entries.'))).toMatchObject({
    code: 'invalid_citations',
  });
  const large = 'x'.repeat(MAX_CITATION_FILE_BYTES + 1);
  expect(await problemOf(fill(id, 'application/x-bibtex', large))).toMatchObject({ code: 'body_too_large' });
  expect(await problemOf(fill('dr_00000000000000000000', 'application/x-bibtex', BIBTEX))).toMatchObject({
    code: 'not_found',
  });
});
