import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredDraft } from '../../shared/archive/draft.ts';
import type { CitationEntries } from '../../shared/archive/recordImport.ts';
import { newDraft } from '../support/archive/drafts.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

type Body = string | Buffer<ArrayBuffer>;
const BIBTEX = 'application/x-bibtex';
const RIS = 'application/x-research-info-systems';

async function listed(body: Body, type = BIBTEX): Promise<CitationEntries> {
  const headers = { 'Content-Type': type };
  const response = await node.fetchAsOwner('/manage/citation-entries', { method: 'POST', headers, body });
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as CitationEntries;
}

async function filled(body: string): Promise<StoredDraft['record'] & object> {
  const { id } = await newDraft(node, {});
  const response = await node.fetchAsOwner(`/manage/drafts/${id}/record-from?entry=0`, {
    method: 'PATCH',
    headers: { 'Content-Type': BIBTEX },
    body,
  });
  expect(response.status, await response.clone().text()).toBe(200);
  return ((await response.json()) as StoredDraft).record;
}

/** The fields behind a key, and the entry that follows it. */
const REST = ' title = {Ebb}, author = {Doe, Jo}, year = 1999}\n@book{z, title = {Flow}}';

describe('an entry of BibTeX is read', () => {
  test.each([
    ['with a DOI as key', '@article{10.5555/s0011(99)00022-3,'],
    ['with an older DOI as key', '@article{10.5555/(SICI)1(199901)2:3<4::AID-X5>3.0.CO;2-R,'],
    [
      'with a key in parentheses that has some',
      '@article(10.5555/s0011(99)00022-3, title={Ebb}, author={Doe, Jo}, year=1999)\n@article{y,',
    ],
    ['with signs and letters in its key', '@article{Müller:1999#a%+b,'],
    ['with an empty key', '@article{,'],
    ['with repeated commas', '@article{a,,'],
  ])('%s', async (_, start) => {
    const { entries, warnings } = await listed(start + REST);
    expect(entries[0]).toMatchObject({ title: 'Ebb', authors: 'Doe, Jo', year: '1999' });
    expect(entries.at(-1)?.title).toBe('Flow');
    expect(warnings).toEqual([]);
  });

  test.each([
    ['braces in its key', '@article{ebb:{1},', /line 1: its key has braces or white space/],
    ['white space in its key', '@article{Doe 1999,', /line 1: its key has braces or white space/],
    ['no key', '@article{', /line 1: it has no key/],
    ['no comma behind its key', '@article{a', /line 1: its key has no comma/],
    ['a missing comma', '@article{a, note = {n}', /line 1: a comma is missing/],
    ['a field twice', '@article{a, title = {Ebb}, title = {Tide},', /“title” is there twice/],
    ['an abbreviation that is nowhere', '@article{a, journal = jos,', /“jos” is not in the file/],
  ])('and what is odd is said: %s', async (_, start, warning) => {
    const { entries, warnings } = await listed(start + REST);
    expect(entries).toMatchObject([{ title: 'Ebb', authors: 'Doe, Jo', year: '1999' }, { title: 'Flow' }]);
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  test.each([
    // BibTeX counts a brace behind a backslash.
    ['a path that ends with a backslash', 'C:\\papers\\', 'C:\\papers\\', false],
    ['sets', 'The set \\{a, b\\}', 'The set {a, b}', false],
    ['a single brace as a sign', 'Left \\{ brace', 'Left { brace', true],
    ['a closing brace as a sign', 'Right \\} brace', 'Right } brace', true],
  ])('with braces behind backslashes: %s', async (_, written, title, isOdd) => {
    const field = title.startsWith('C:') ? 'file' : 'title';
    const { entries, warnings } = await listed(
      `@article{a, ${field} = {${written}}, year = 1999}\n@book{z, title = {Flow}}`,
    );
    expect(entries).toMatchObject([
      { title: field === 'title' ? title : '', year: '1999' },
      { title: 'Flow' },
    ]);
    expect(warnings).toHaveLength(isOdd ? 1 : 0);
  });

  test('if the file ends before its last brace, and this is said', async () => {
    const { entries, warnings } = await listed('@article{a, title = {Ebb}, year = 1999\n');
    expect(entries).toMatchObject([{ title: 'Ebb', year: '1999' }]);
    expect(warnings).toEqual(['The entry in line 1: it has no end.']);
  });
});

test('what is in comments is no entry, and what is left out is named', async () => {
  const { entries, warnings } = await listed(
    'Write to jo@example.org, please.\n% @book{a, title = {Old}}\n@comment{@book{b, title = {Older}}}\n' +
      '@Comment{jabref-meta: databaseType:biblatex;}\n@book z\n@book{c, title = {New}}\n',
  );
  expect(entries).toMatchObject([{ title: 'New' }]);
  expect(warnings).toEqual([
    'The entry in line 2 was left out: it is behind a “%”.',
    'The entries in the comment in line 3 were left out.',
    'The entry in line 5 cannot be read.',
  ]);
});

test('an entry takes the fields of the entries that it refers to, but not a DOI of another work', async () => {
  const { entries, warnings } = await listed(
    '@inproceedings{a, author = {Doe, Jo}, title = {Ebb}, crossref = {P}}\n' +
      '@inproceedings{b, title = {Flow}, xdata = {x}, crossref = {gone}}\n' +
      '@proceedings{p, title = {All}, year = 1999, doi = {10.5555/all}}\n@xdata{x, author = {Roe, Ann}, date = {2001-05}}\n',
  );
  expect(entries).toMatchObject([
    { title: 'Ebb', year: '1999', doi: null },
    { title: 'Flow', authors: 'Roe, Ann', year: '2001' },
    { title: 'All', doi: '10.5555/all' },
  ]);
  expect(warnings).toEqual(['The entry in line 2 refers to “gone”, which is not in the file.']);
});

test.each([
  ['doi = {10.5555/a-1{\\_}2}', '10.5555/a-1_2'],
  ['doi = {10.5555/a\\_b\\&c\\%d\\#e}', '10.5555/a_b&c%d#e'],
  ['doi = {10.5555/1$<$2::A$>$3.0}', '10.5555/1<2::A>3.0'],
  ['doi = {10.5555/1{\\textless}2{\\textgreater}3}', '10.5555/1<2>3'],
  ['doi = {10.5555/1&lt;2&gt;3}', '10.5555/1<2>3'],
  ['doi = {{https://doi.org/10.5555/x--y~z}}', '10.5555/x--y~z'],
  ['doi = {doi: 10.5555/x}', '10.5555/x'],
  ['DOI = "10.5555/x(1)"', '10.5555/x(1)'],
  ['url = {\\url{https://doi.org/10.5555/x}}', '10.5555/x'],
  ['url = {http://dx.doi.org/10.5555/S0\\%2899\\%291}', '10.5555/S0(99)1'],
  ['howpublished = {\\href{https://doi.org/10.5555/x\\_1}{the data}}', '10.5555/x_1'],
  ['note = {see \\url{https://doi.org/10.5555/x}}', null],
  ['url = {https://example.org/10.5555/x}', null],
])('the DOI in %s is %s', async (field, doi) => {
  expect((await listed(`@article{a, title = {Ebb}, ${field}}`)).entries[0]?.doi).toBe(doi);
});

test('a DOI with escapes comes into the record as it is', async () => {
  const { related } = await filled('@article{a, title = {Ebb}, doi = {10.5555/9-0{\\_}7}}');
  expect(related).toEqual([{ relation: 'IsSupplementTo', identifier: '10.5555/9-0_7' }]);
});

test.each([
  ['Tides\\:of 3\\!4\\,m', 'Tides of 34 m'],
  ['8\\,MHz over 3\\;m: water\\-shed, sel\\/f', '8 MHz over 3 m: watershed, self'],
  ['The {\\TeX} and \\LaTeX{} guide, \\BibTeX', 'The TeX and LaTeX guide, BibTeX'],
  [
    'x\\textquotesingle{} 30\\,\\textdegree C, $12^\\circ$, 3 \\textless{} 4, \\copyright{} Jo',
    "x' 30 °C, 12°, 3 < 4, © Jo",
  ],
  ['\\S 3, \\pounds 4, \\texteuro{}5, \\textregistered, 10\\textperthousand', '§3, £4, €5, ®, 10‰'],
  ['$\\alpha$-Fe$_2$O$_3$ at p$<$0.05, H\\textsubscript{2}O, 10$^{-3}$', 'α-Fe₂O₃ at p<0.05, H₂O, 10⁻³'],
  ['From $5 to $10, and 50% more', 'From $5 to $10, and 50% more'],
  [
    "Stra{\\ss}e, M\\\"uller, {\\'{E}}t\\'e, \\v{C}ech, \\c{c}a, na{\\\"\\i}ve, {\\L}\\'od\\'z",
    'Straße, Müller, Été, Čech, ça, naïve, Łódź',
  ],
  [
    '\\emph{Homo} {\\it sapiens}, \\enquote{so}, \\href{https://example.org/a--b}{here}',
    'Homo sapiens, “so”, here',
  ],
  ['At \\url{https://example.org/a--b_c~d} -- now', 'At https://example.org/a--b_c~d – now'],
  ['Tom \\&amp; Ann, &lt;i&gt;x&lt;/i&gt; and <jats:p>y</jats:p>, a < b', 'Tom & Ann, x and y, a < b'],
  ["A {DNA} study ``here'', it{\\textquoteright}s", 'A DNA study “here”, it’s'],
])('%s is the title %s', async (written, title) => {
  const { entries, warnings } = await listed(`@article{a, title = {${written}}}`);
  expect(entries[0]?.title).toBe(title);
  expect(warnings).toEqual([]);
});

test('commands that are not known are named, and those of the preamble are used', async () => {
  const { entries, warnings } = await listed(
    '@preamble{"\\newcommand{\\sortas}[2]{#2} \\def\\prim{$\'$} \\newcommand{\\loop}{\\loop\\loop}"}\n' +
      '@book{a, title = {Rus\\prim{} \\unheard{of} x\\loop}, year = {\\sortas{1973}{1981}}}\n' +
      '@book{b, title = {B}, year = {{\\noopsort{1973b}}1982}}\n@book{c, title = {C}, year = {in press}, date = {1983-05/1984}}',
  );
  expect(entries.map(({ title, year }) => [title, year])).toEqual([
    ['Rus′ of x', '1981'],
    ['B', '1982'],
    ['C', '1983'],
  ]);
  expect(warnings).toEqual(['Commands of LaTeX that are not known were left out: \\unheard.']);
});

test.each([
  ['Doe, A.\\,B. and {The \\LaTeX{} Group}', ['Doe, A. B.', 'The LaTeX Group']],
  ['family=Loo, given=Jan, prefix=van and Doe, Jo', ['van Loo, Jan', 'Doe, Jo']],
  ['given={Jo and Co}, family={Doe, Roe}, suffix=Jr., given-i=J', ['Doe, Roe, Jo and Co, Jr.']],
  ['{Office of Tides and Waves} and others', ['Office of Tides and Waves']],
  ['Equals = Sign, Jo', ['Equals = Sign, Jo']],
])('the authors in %s are read', async (written, names) => {
  const { authors } = await filled(`@article{a, title = {Ebb}, author = {${written}}}`);
  expect((authors as { name: string }[]).map(({ name }) => name)).toEqual(names);
});

const FILES: [string, string, string][] = [
  ['BibTeX', BIBTEX, '@article{a, title = {Ebbe}, author = {Möwe, Jo}, year = 1999}\r\n'],
  ['RIS', RIS, 'TY  - JOUR\r\nTI  - Ebbe\r\nAU  - Möwe, Jo\r\nPY  - 1999\r\nER  - \r\n'],
  [
    'CSL-JSON',
    'application/json',
    '[{"type":"book","title":"Ebbe","author":[{"literal":"Möwe, Jo"}],"issued":{"raw":"1999"}}]',
  ],
];
describe.each(FILES)('%s is read in', (_, type, text) => {
  const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le');
  test.each([
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
    ['UTF-16', utf16],
    ['UTF-16, big-endian', Buffer.from(utf16).swap16()],
    ['UTF-16 without a byte order mark', Buffer.from(text, 'utf16le')],
    ['UTF-16, big-endian, without a byte order mark', Buffer.from(text, 'utf16le').swap16()],
  ])('%s', async (_name, body) => {
    expect(await listed(body, type)).toEqual({
      entries: [{ entry: 0, title: 'Ebbe', authors: 'Möwe, Jo', year: '1999', doi: null }],
      warnings: [],
    });
  });

  test('windows-1252, and this is said', async () => {
    const { entries, warnings } = await listed(Buffer.from(text, 'latin1'), type);
    expect(entries[0]?.authors).toBe('Möwe, Jo');
    expect(warnings).toEqual([
      'The file is not UTF-8 and names no other encoding: it was read as windows-1252.',
    ]);
  });
});

test.each([
  ['% Encoding: Cp1251', 'Мов'],
  ['% This file was created with JabRef 2.10.\n% Encoding: ISO8859_5', 'Мов'],
  ['%%% -*- coding: koi8-r -*-', 'Мов'],
])('BibTeX is read in the encoding that it names: %s', async (line, name) => {
  const bytes = { Cp1251: [0xcc, 0xee, 0xe2], ISO8859_5: [0xbc, 0xde, 0xd2], 'koi8-r': [0xed, 0xcf, 0xd7] };
  const [, encoded] = Object.entries(bytes).find(([encoding]) => line.includes(encoding)) ?? [];
  const body = Buffer.concat([
    Buffer.from(`${line}\n@book{a, title = {`),
    Buffer.from(encoded ?? []),
    Buffer.from('}}'),
  ]);
  expect(await listed(body)).toMatchObject({ entries: [{ title: name }], warnings: [] });
});

test('what an item of Zotero is part of is no item, unless it has a type of its own', async () => {
  const rdf = (items: string) =>
    `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:z="http://www.zotero.org/namespaces/export#" xmlns:bib="http://purl.org/net/biblio#" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:dc="http://purl.org/dc/elements/1.1/">${items}</rdf:RDF>`;
  const part = (number: number, container: string) =>
    `<bib:Article rdf:about="#i${number}"><z:itemType>magazineArticle</z:itemType><dcterms:isPartOf rdf:resource="${container}"/><dc:title>Part ${number}</dc:title></bib:Article>`;
  const containers = ['Periodical', 'Newspaper', 'Book', 'Document'];
  const { entries, warnings } = await listed(
    rdf(
      containers
        .map(
          (name, n) =>
            `${part(n, `urn:x:${n}`)}<bib:${name} rdf:about="urn:x:${n}"><dc:title>Whole ${n}</dc:title></bib:${name}>`,
        )
        .join('') +
        `${part(9, 'urn:isbn:1')}<bib:Book rdf:about="urn:isbn:1"><z:itemType>book</z:itemType><dc:title>A book</dc:title></bib:Book>` +
        '<bib:Document rdf:about="#x"><z:itemType>document</z:itemType></bib:Document>',
    ),
    'application/rdf+xml',
  );
  expect(entries.map(({ title }) => title)).toEqual([
    'Part 0',
    'Part 1',
    'Part 2',
    'Part 3',
    'Part 9',
    'A book',
  ]);
  expect(warnings).toEqual(['An item without a title was left out.']);
});
