import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { parse } from 'csv-parse/sync';
import { afterEach, describe, expect, test } from 'vitest';
import { DESCRIPTOR_FORMATS } from '../../shared/archive/citation.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import { audit, fileOf, overwrite } from '../fixity/support.ts';
import { type Files, filesOf, problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

afterEach(closeTestNodes);

interface Frictionless {
  profile: string;
  name: string;
  resources: {
    name: string;
    title: string;
    path: string;
    bytes: number;
    hash: string;
    dialect?: { delimiter: string };
    schema?: { fields: { name: string; type: string; format?: string }[]; missingValues: string[] };
  }[];
}

interface Croissant {
  name: string;
  distribution: { '@id': string; name: string; contentUrl: string; sha256: string; encodingFormat: string }[];
  recordSet: {
    '@id': string;
    name: string;
    field: {
      '@id': string;
      name: string;
      dataType: string;
      source: { fileObject: { '@id': string }; extract: { column: string } };
    }[];
  }[];
}

const TABLES: Files = {
  'readings.csv':
    'station,level,at,day,calm,count,code,note\r\n' +
    'north,2.5,2026-11-20T10:14:21Z,2026-11-20,true,3,007,"a, b"\r\n' +
    'süd,-1e3,2026-11-20T10:14:21.5+01:00,2026-02-28,false,,012,\r\n' +
    'west,NA,2026-11-21T00:00:00Z,2026-03-01,true,-12,1,x\r\n',
  'data/Über Größe.tsv': 'a b\tc,d\n1\t2\n',
  'semi.csv': '\uFEFFone;two\n1;2,5\n',
};

async function described<Descriptor>(node: TestNode, id: string, format: string): Promise<Descriptor> {
  const response = await node.fetch(`/api/items/${id}/cite?format=${format}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Descriptor;
}

function profile(name: string) {
  const file = new URL(`../support/fixtures/frictionless/${name}.json`, import.meta.url);
  const { $schema, ...schema } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  expect($schema).toContain('draft-04');
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
  formats.default(ajv);
  return ajv.compile(schema);
}

/** Every column of the tables of a pack with its type. */
async function columnsOf(node: TestNode, id: string): Promise<Record<string, string[] | undefined>> {
  const { resources } = await described<Frictionless>(node, id, 'frictionless');
  return Object.fromEntries(
    resources.map(({ title, schema }) => [title, schema?.fields.map(({ name, type }) => `${name} ${type}`)]),
  );
}

const uploadTables = (node: TestNode, files: Files = TABLES, changes = {}): Promise<Pack> =>
  uploadNewPack(node, changes, files);

describe('GET /api/items/<id>/cite?format=croissant|frictionless', () => {
  test('each comes by format and by Accept with its media type; bytes are found by digest under the request’s Host', async () => {
    const node = await openTestNode();
    const { id } = await uploadTables(node);
    for (const [format, mediaType] of Object.entries(DESCRIPTOR_FORMATS)) {
      const byFormat = await node.fetch(`/api/items/${id}/cite?format=${format}`);
      const byAccept = await node.fetch(`/api/items/${id}/cite`, { headers: { Accept: mediaType } });
      for (const response of [byFormat, byAccept]) {
        expect(response.headers.get('Content-Type')?.split(';')[0]).toBe(mediaType);
      }
      const text = await byFormat.text();
      expect(await byAccept.text()).toBe(text);
      for (const content of Object.values(TABLES))
        expect(text).toContain(`${node.url}/api/blobs/${sha256Of(content)}`);
    }
  });

  test('a pack without a table, and a study, have none: 404', async () => {
    const node = await openTestNode();
    const { id } = await uploadNewPack(node, {}, { 'notes.txt': 'a,b\n1,2\n' });
    const study = (await (await node.sendJson('POST', '/api/studies', { title: 'Tides' })).json()) as Pack;
    for (const item of [id, study.id, `pk_${'0'.repeat(20)}`]) {
      const problem = await problemOf(node.fetch(`/api/items/${item}/cite?format=frictionless`));
      expect(problem).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  test('Frictionless keeps the standard’s profiles, and its rows can be read by it', async () => {
    const node = await openTestNode();
    const tables = await uploadTables(node, TABLES, {
      authors: [{ name: 'Carberry, Josiah', orcid: '0000-0002-1825-0097', affiliation: 'Brown University' }],
      keywords: ['tide', 'tide'],
      summary: 'Two stations.',
    });
    const mixed = await uploadTables(node, { ...TABLES, 'notes.txt': 'by hand', 'empty.csv': '' });
    const valid = { tabular: profile('tabular-data-package'), any: profile('data-package') };
    const descriptor = await described<Frictionless>(node, tables.id, 'frictionless');
    expect(valid.tabular(descriptor) || valid.tabular.errors).toBe(true);
    expect(descriptor).toMatchObject({ profile: 'tabular-data-package', name: tables.id });
    const other = await described<Frictionless>(node, mixed.id, 'frictionless');
    expect(valid.any(other) || valid.any.errors).toBe(true);
    expect(other.profile).toBe('data-package');
    expect(new Set(other.resources.map(({ name }) => name)).size).toBe(5);
    for (const { path, bytes, hash, dialect, schema } of descriptor.resources) {
      const content = Buffer.from(await (await fetch(path)).arrayBuffer());
      expect([content.length, `sha256:${sha256Of(content)}`]).toEqual([bytes, hash]);
      const [header, ...rows] = parse(content, { bom: true, delimiter: dialect?.delimiter ?? ',' });
      expect(schema?.fields.map(({ name }) => name)).toEqual(header);
      for (const row of rows) {
        for (const [index, cell] of row.entries()) {
          const type = schema?.fields[index]?.type;
          if (schema?.missingValues.includes(cell)) continue;
          if (type === 'integer' || type === 'number') expect(Number(cell)).not.toBeNaN();
          if (type === 'boolean') expect(['true', 'false']).toContain(cell);
          if (type === 'date' || type === 'datetime') expect(Date.parse(cell)).not.toBeNaN();
        }
      }
    }
  });

  test('Croissant has what version 1.0 insists on, and every column is found in its file', async () => {
    const node = await openTestNode();
    const pack = await uploadTables(node, { ...TABLES, 'notes.txt': 'by hand' });
    const croissant = await described<Croissant>(node, pack.id, 'croissant');
    expect(croissant).toMatchObject({
      '@type': 'sc:Dataset',
      conformsTo: 'http://mlcommons.org/croissant/1.0',
      name: pack.title,
      description: expect.stringMatching(/./),
      license: expect.stringContaining('https://creativecommons.org/'),
      url: `${node.url}/packs/${pack.id}`,
      creator: [{ '@type': 'sc:Person', name: 'Ada Lovelace' }],
      datePublished: pack.evidence.received_at.slice(0, 10),
      version: '1.0.0',
      '@context': { cr: 'http://mlcommons.org/croissant/', '@vocab': 'https://schema.org/' },
    });
    const files = new Map(croissant.distribution.map((file) => [file['@id'], file]));
    expect(files.size).toBe(4);
    const ids = croissant.recordSet.flatMap(({ '@id': id, field }) => [
      id,
      ...field.map((each) => each['@id']),
    ]);
    expect(new Set([...ids, ...files.keys()]).size).toBe(ids.length + files.size);
    // Croissant cannot declare semicolons as delimiters, so that file has no record set.
    expect(croissant.recordSet.map(({ name }) => name)).toEqual(['data/Über Größe.tsv', 'readings.csv']);
    for (const { field } of croissant.recordSet) {
      const [source] = field.map((each) => each.source);
      const file = files.get(source?.fileObject['@id'] ?? '');
      const content = Buffer.from(await (await fetch(file?.contentUrl ?? '')).arrayBuffer());
      expect(sha256Of(content)).toBe(file?.sha256);
      const delimiter = file?.encodingFormat === 'text/csv' ? ',' : '\t';
      const [header] = parse(content, { delimiter, to: 1 });
      expect(field.map(({ source: { extract } }) => extract.column)).toEqual(header);
    }
    const readings = croissant.recordSet.find(({ name }) => name === 'readings.csv');
    expect(readings?.field.map(({ dataType }) => dataType)).toEqual([
      'sc:Text',
      'sc:Float',
      'sc:Date',
      'sc:Date',
      'sc:Boolean',
      'sc:Integer',
      'sc:Text',
      'sc:Text',
    ]);
  });
});

describe('the columns of a table', () => {
  test('are named and typed by what stands in them; a code is no number, NA is a missing value', async () => {
    const node = await openTestNode();
    const { id } = await uploadTables(node);
    expect(await columnsOf(node, id)).toEqual({
      'readings.csv': [
        'station string',
        'level number',
        'at datetime',
        'day date',
        'calm boolean',
        'count integer',
        'code string',
        'note string',
      ],
      'data/Über Größe.tsv': ['a b integer', 'c,d integer'],
      'semi.csv': ['one integer', 'two string'],
    });
    const { resources } = await described<Frictionless>(node, id, 'frictionless');
    const missing = Object.fromEntries(resources.map(({ title, schema }) => [title, schema?.missingValues]));
    expect(missing).toMatchObject({ 'readings.csv': ['', 'NA'], 'semi.csv': [''] });
  });

  test.for<[string, string | Uint8Array<ArrayBuffer>]>([
    ['two columns of one name', 'a,a\n1,2\n'],
    ['a column without a name', 'a,,c\n1,2,3\n'],
    ['nothing in it', ''],
    ['another encoding', new Uint8Array(Buffer.from('größe\n1\n', 'latin1'))],
    ['a header that ends nowhere', `"a,b\n${'1,2\n'.repeat(30_000)}`],
    ['too many columns', `${Array.from({ length: 1_001 }, (_, index) => `c${index}`).join(',')}\n`],
    ['bytes that are no text', new Uint8Array([97, 44, 98, 10, 0, 44, 0, 10])],
  ])('are not given where there is %s; the file is described all the same', async ([, content]) => {
    const node = await openTestNode();
    const { id } = await uploadTables(node, { 'table.csv': content, 'good.csv': 'x\n1\n' });
    expect(await columnsOf(node, id)).toEqual({ 'table.csv': undefined, 'good.csv': ['x integer'] });
    const { recordSet, distribution } = await described<Croissant>(node, id, 'croissant');
    expect([recordSet.length, distribution.length]).toEqual([1, 2]);
  });

  test('are read from the first 64 KiB alone: a row that is cut there counts for nothing', async () => {
    const node = await openTestNode();
    const wide = `n,text\n${Array.from({ length: 90 }, (_, row) => `${row},${'x'.repeat(1_000)}`).join('\n')}`;
    const cutInQuotes = `n,text\n1,"${'y'.repeat(100_000)}"\n`;
    const late = `n\n${'1\n'.repeat(200)}later it is text\n`;
    const { id } = await uploadTables(node, { 'wide.csv': wide, 'cut.csv': cutInQuotes, 'late.csv': late });
    expect(await columnsOf(node, id)).toEqual({
      'wide.csv': ['n integer', 'text string'],
      'cut.csv': ['n string', 'text string'],
      'late.csv': ['n integer'],
    });
  });

  test('a media type that says there is no header is believed', async () => {
    const node = await openTestNode();
    const files = { 'rows.csv': '1,2\n', 'named.dat': 'a|b\n1|2\n' };
    const [rows, named] = [
      filesOf({ 'rows.csv': files['rows.csv'] }, 'text/csv; header=absent'),
      filesOf({ 'named.dat': files['named.dat'] }, 'text/csv'),
    ];
    const { id } = await uploadNewPack(node, { files: [...named, ...rows] }, files);
    expect(await columnsOf(node, id)).toEqual({
      'rows.csv': undefined,
      'named.dat': ['a integer', 'b integer'],
    });
  });

  test('of more than 50 tables, those after the 50th are not read', async () => {
    const node = await openTestNode();
    const files = Object.fromEntries(
      Array.from({ length: 52 }, (_, index) => [`t${String(index).padStart(2, '0')}.csv`, `a\n${index}\n`]),
    );
    const { id } = await uploadTables(node, files);
    const columns = Object.values(await columnsOf(node, id));
    expect(columns.filter((each) => each !== undefined)).toHaveLength(50);
    expect(columns).toHaveLength(52);
  });

  test('damaged bytes describe nothing', async () => {
    const node = await openTestNode();
    const { id } = await uploadTables(node);
    const digest = sha256Of(TABLES['semi.csv'] ?? '');
    await overwrite(node.dataFolder, digest, 'other;names\n1;2\n');
    await audit(node);
    expect(await columnsOf(node, id)).toMatchObject({ 'semi.csv': undefined });
    const missing = fileOf(node.dataFolder, sha256Of(TABLES['data/Über Größe.tsv'] ?? ''));
    await rm(missing);
    expect(await columnsOf(node, id)).toMatchObject({ 'data/Über Größe.tsv': undefined });
  });
});
