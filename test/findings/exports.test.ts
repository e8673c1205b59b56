import { parse } from 'csv-parse/sync';
import jsonld from 'jsonld';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { ANNOTATION_CONTEXT, CONTEXT_ADDRESS } from './annotationContext.ts';
import { addFinding, findings, withdraw } from './support.ts';

const OA = 'http://www.w3.org/ns/oa#';
const AS = 'http://www.w3.org/ns/activitystreams#';
const RDF_VALUE = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#value';

/** Text that spreadsheets, pages and search expressions could take for something else. */
const HOSTILE = [
  '=HYPERLINK("http://x.example";"y")',
  '\n=1+1',
  '＝1+1',
  '</script><img src=x onerror=alert(1)>',
  '" OR NEAR(a b) * ^ -',
  'line\r\nbreak\u2028\u0000end',
];

/** How many of them are formulas. */
const FORMULAS = 3;

let node: TestNode;
let file: string;
let pack: { id: string; files: { sha256: string }[] };
beforeAll(async () => {
  node = await openTestNode();
  pack = await uploadNewPack(node, undefined, { 'report.pdf': 'a pdf' });
  file = pack.files[0]?.sha256 ?? '';
});
afterAll(closeTestNodes);

interface Expanded {
  '@id'?: string;
  '@type'?: string[];
  [term: string]: unknown;
}

async function expand(text: string): Promise<Expanded> {
  const documentLoader = async (url: string) => {
    expect(url).toBe(CONTEXT_ADDRESS);
    return { contextUrl: undefined, documentUrl: url, document: { '@context': ANNOTATION_CONTEXT } };
  };
  // In safe mode, a term that the model does not define is an error.
  const options = { documentLoader, safe: true } as jsonld.Options.Expand;
  const [expanded] = await jsonld.expand(JSON.parse(text) as jsonld.JsonLdDocument, options);
  return expanded as Expanded;
}

const one = (of: Expanded, term: string) => (of[term] as Expanded[])[0] as Expanded;
const all = (of: Expanded, term: string) => of[term] as Expanded[];

describe('the Web Annotation collection', () => {
  test('is empty and valid without findings', async () => {
    const text = await (await node.fetch('/api/findings?format=jsonld')).text();
    expect(await expand(text)).toMatchObject({ '@type': [`${AS}OrderedCollection`] });
  });

  test('has each finding as an annotation with its bodies, selectors, and what it replaces', async () => {
    const passage = { sha256: file, exact: 'a pdf', prefix: 'p', suffix: 's', start: 1, end: 6, page: 3 };
    const target = { kind: 'pack' as const, id: pack.id };
    const first = await addFinding(node, target, { text: 'First', tags: ['t'], passage });
    const second = await addFinding(node, target, { text: 'Second', supersedes: first.id });
    await withdraw(node, second, 'No longer true');
    const answer = await node.fetch('/api/findings?format=jsonld&state=all');
    expect(answer.headers.get('Content-Type')).toContain('application/ld+json');
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({ type: 'AnnotationCollection', total: 3 });
    const collection = await expand(text);
    const [list] = all(one(collection, `${AS}first`), `${AS}items`) as unknown as [{ '@list': Expanded[] }];
    const [annotation, newer, withdrawal] = list['@list'] as [Expanded, Expanded, Expanded];
    expect(annotation).toMatchObject({
      '@id': `${node.url}/api/findings/${first.id}`,
      '@type': [`${OA}Annotation`],
    });
    expect(
      all(annotation, `${OA}hasBody`).map((body) => [body['@type'], one(body, RDF_VALUE)['@value']]),
    ).toEqual([
      [[`${OA}TextualBody`], 'First'],
      [[`${OA}TextualBody`], 't'],
    ]);
    const about = one(annotation, `${OA}hasTarget`);
    expect(one(about, `${OA}hasSource`)['@id']).toBe(`${node.url}/archive/${file}`);
    expect(one(about, `${OA}hasScope`)['@id']).toBe(`${node.url}/api/packs/${pack.id}`);
    expect(all(about, `${OA}hasSelector`).map((selector) => selector['@type']?.[0])).toEqual([
      `${OA}TextQuoteSelector`,
      `${OA}TextPositionSelector`,
      `${OA}FragmentSelector`,
    ]);
    const replaces = 'http://purl.org/dc/terms/replaces';
    expect(one(newer, replaces)['@id']).toBe(annotation['@id']);
    expect(one(withdrawal, replaces)['@id']).toBe(newer['@id']);
    expect(one(withdrawal, `${OA}motivatedBy`)['@id']).toBe(`${OA}moderating`);
  });
});

test('hostile text is the same text in JSON, JSON-LD and CSV, where no spreadsheet runs it, and searches cannot fail', async () => {
  const target = { kind: 'pack' as const, id: pack.id };
  for (const text of HOSTILE) {
    await addFinding(node, target, { text, tags: [text.slice(0, 90)], passage: { exact: text } });
    expect((await findings(node, `q=${encodeURIComponent(text)}`)).items[0]?.text).toBe(text);
  }
  const answer = await node.fetch(`/api/findings?format=csv&pack=${pack.id}`);
  expect(answer.headers.get('Content-Disposition')).toBe('attachment; filename="findings.csv"');
  const csv = await answer.text();
  const rows = parse(csv, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[];
  expect(rows.map(({ text }) => text)).toEqual(
    HOSTILE.map((text, index) => (index < FORMULAS ? `'${text}` : text)),
  );
  expect(rows[0]?.quote).toBe(`'${HOSTILE[0]}`);
  const page = JSON.parse(await (await node.fetch('/api/findings?format=jsonld')).text()) as {
    first: { items: { body: { value: string }[] }[] };
  };
  expect(page.first.items.map(({ body }) => body[0]?.value)).toEqual(HOSTILE);
});
