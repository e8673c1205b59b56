import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Study, StudyTable } from '../../shared/archive/study.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

async function createStudy(body: object = {}): Promise<Study> {
  const response = await node.sendJson('POST', '/api/studies', { title: 'Tides', ...body });
  expect(response.status).toBe(201);
  return (await response.json()) as Study;
}

const setStatus = (id: string, status: string, note?: string) =>
  node.sendJson('POST', `/api/studies/${id}/status`, { status, ...(note === undefined ? {} : { note }) });

const readTable = async (id: string) =>
  (await (await node.fetch(`/api/studies/${id}/table`)).json()) as StudyTable;

describe('POST /api/studies', () => {
  test('returns 201 with the study, which is planned by default', async () => {
    const response = await node.sendJson('POST', '/api/studies', { title: 'Tides', question: 'How high?' });
    expect(response.status).toBe(201);
    const study = (await response.json()) as Study;
    expect(response.headers.get('Location')).toBe(`/api/studies/${study.id}`);
    expect(study).toEqual({
      id: expect.stringMatching(/^st_[0-9a-f]{20}$/),
      title: 'Tides',
      question: 'How high?',
      description: '',
      node: null,
      status: 'planned',
      status_history: [{ status: 'planned', at: study.created_at, note: '' }],
      created_at: expect.any(String),
      ledger_entry: expect.any(Number),
      counts: {
        packs: 0,
        by_outcome: { positive: 0, negative: 0, null: 0, mixed: 0 },
        by_verdict: { reproduced: 0, partial: 0, failed: 0 },
      },
    });
    expect(await (await node.fetch(`/api/studies/${study.id}`)).json()).toEqual(study);
    expect((await createStudy({ status: 'running' })).status).toBe('running');
  });

  test.each([
    [{ title: 'T', status: 'completed' }, '/status', 'invalid_field'],
    [{ title: '' }, '/title', 'invalid_field'],
    [{ title: 'T', question: 'x'.repeat(2_001) }, '/question', 'invalid_field'],
    [{ title: 'T', node: 'nowhere' }, '/node', 'unknown_node'],
    [{ title: 'T', id: 'st_00000000000000000000' }, '/id', 'unknown_field'],
  ])('%j is 422 at %s', async (body, path, code) => {
    expect(await problemOf(node.sendJson('POST', '/api/studies', body))).toMatchObject({
      status: 422,
      code,
      errors: [{ path }],
    });
  });
});

describe('the status of a study', () => {
  const STATUSES = ['planned', 'running', 'completed', 'abandoned'] as const;
  const MOVES: Record<string, string[]> = {
    planned: ['running', 'abandoned'],
    running: ['completed', 'abandoned'],
    completed: ['running'],
    abandoned: ['running'],
  };
  /** The transitions that lead a new study to each status. */
  const WAYS: Record<string, string[]> = {
    planned: [],
    running: ['running'],
    completed: ['running', 'completed'],
    abandoned: ['abandoned'],
  };

  test.each(STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const)))(
    'from %s to %s is allowed if the contract lists it, otherwise 409 with the allowed statuses',
    async (from, to) => {
      const { id } = await createStudy();
      for (const step of WAYS[from] ?? []) expect((await setStatus(id, step)).status).toBe(200);
      const response = await setStatus(id, to, 'Why');
      if (MOVES[from]?.includes(to)) {
        expect(response.status).toBe(200);
        const study = (await response.json()) as Study;
        expect(study.status).toBe(to);
        expect(study.status_history.map(({ status }) => status)).toEqual([
          'planned',
          ...(WAYS[from] ?? []),
          to,
        ]);
        expect(study.status_history.at(-1)).toMatchObject({ status: to, note: 'Why' });
      } else {
        expect(await problemOf(response)).toMatchObject({
          status: 409,
          code: 'invalid_transition',
          allowed: MOVES[from],
        });
      }
    },
  );

  test('an unknown study is 404, an unknown status 422', async () => {
    expect(await problemOf(setStatus('st_00000000000000000000', 'running'))).toMatchObject({ status: 404 });
    const { id } = await createStudy();
    expect(await problemOf(setStatus(id, 'finished'))).toMatchObject({
      status: 422,
      errors: [{ path: '/status' }],
    });
  });
});

test('GET /api/studies lists studies newest first, filtered by words, status and node with its subtree', async () => {
  for (const path of ['ocean', 'ocean/north', 'oceanic']) {
    await node.sendJson('POST', '/api/nodes', { path, title: path });
  }
  const tides = await createStudy({ title: 'Gezeiten of Zürich', node: 'ocean/north' });
  const salt = await createStudy({ title: 'Salt', question: 'How salty are Gezeiten?', node: 'ocean' });
  const other = await createStudy({ title: 'Other', node: 'oceanic', status: 'running' });
  const listed = async (query: string) => {
    const response = await node.fetch(`/api/studies${query}`);
    expect(response.status).toBe(200);
    return ((await response.json()) as { items: Study[] }).items.map(({ id }) => id);
  };
  expect((await listed('')).slice(0, 3)).toEqual([other.id, salt.id, tides.id]);
  expect(await listed('?q=gezeit')).toEqual([salt.id, tides.id]);
  expect(await listed('?q=zurich')).toEqual([tides.id]);
  expect(await listed(`?q=${tides.id.slice(0, 12)}`)).toEqual([tides.id]);
  expect(await listed('?node=ocean')).toEqual([salt.id, tides.id]);
  expect(await listed('?node=ocean&q=salt')).toEqual([salt.id]);
  expect((await listed('?status=running'))[0]).toBe(other.id);
  expect(await listed('?status=running&node=oceanic')).toEqual([other.id]);
  expect(await listed('?node=nowhere')).toEqual([]);
  expect(await listed('?limit=1&offset=1')).toEqual([salt.id]);
  for (const query of ['?status=done', '?node=Ocean']) {
    expect(await problemOf(node.fetch(`/api/studies${query}`))).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
    });
  }
});

test('a study counts its packs by outcome and by verdict', async () => {
  const { id: study } = await createStudy();
  const original = await uploadNewPack(node, { study, title: 'Counted', outcome: 'negative' });
  await uploadNewPack(node, { study, title: 'Again', replicates: { pack: original.id, verdict: 'failed' } });
  await uploadNewPack(node, { title: 'In no study' });
  const { counts } = (await (await node.fetch(`/api/studies/${study}`)).json()) as Study;
  expect(counts).toEqual({
    packs: 2,
    by_outcome: { positive: 1, negative: 1, null: 0, mixed: 0 },
    by_verdict: { reproduced: 0, partial: 0, failed: 1 },
  });
});

describe('GET /api/studies/<id>/table', () => {
  test('has one row per pack, oldest first, and result columns in the order of first appearance', async () => {
    const { id: study } = await createStudy();
    const first = await uploadNewPack(node, {
      study,
      title: 'First',
      method: { text: 'Measured', complete: true },
      results: { accuracy: 0.5, model: 'linear' },
    });
    const second = await uploadNewPack(node, {
      study,
      title: 'Second',
      license: 'CC-BY-4.0',
      outcome: 'null',
      results: { accuracy: 1, converged: true, loss: null, model: 3 },
      replicates: { pack: first.id, verdict: 'partial' },
    });
    expect(await readTable(study)).toEqual({
      study,
      columns: [
        { name: 'pack', type: 'string' },
        { name: 'title', type: 'string' },
        { name: 'outcome', type: 'string' },
        { name: 'tag', type: 'string' },
        { name: 'license', type: 'string' },
        { name: 'reproduced', type: 'number' },
        { name: 'partial', type: 'number' },
        { name: 'failed', type: 'number' },
        { name: 'ledger_entry', type: 'number' },
        { name: 'accuracy', type: 'number' },
        { name: 'model', type: 'mixed' },
        { name: 'converged', type: 'boolean' },
        { name: 'loss', type: 'mixed' },
      ],
      rows: [
        [
          first.id,
          'First',
          'positive',
          'replicable',
          'CC0-1.0',
          0,
          1,
          0,
          first.ledger_entry,
          0.5,
          'linear',
          null,
          null,
        ],
        [
          second.id,
          'Second',
          'null',
          'report-only',
          'CC-BY-4.0',
          0,
          0,
          0,
          second.ledger_entry,
          1,
          3,
          true,
          null,
        ],
      ],
    });
  });

  test('a result may be named __proto__ or like a fixed column', async () => {
    const { id: study } = await createStudy();
    const results = JSON.parse('{"__proto__": 7, "title": "mine", "10": 1, "9": 2}') as Record<
      string,
      number
    >;
    await uploadNewPack(node, { study, results });
    const { columns, rows } = await readTable(study);
    expect(columns.slice(9).map(({ name }) => name)).toEqual(['9', '10', '__proto__', 'title']);
    expect(rows[0]?.slice(9)).toEqual([2, 1, 7, 'mine']);
  });

  test('CSV follows RFC 4180 with a header; texts cannot run as formulas, and numbers stay numbers', async () => {
    const { id: study } = await createStudy();
    await uploadNewPack(node, {
      study,
      title: '=1+1',
      results: {
        '@name': 'a,"b"\nc',
        a: -5,
        b: '+5',
        c: '\tx',
        d: 'lone\nfeed',
        e: true,
        f: null,
        g: 1e-7,
        h: '-',
        i: 'plain = text',
      },
    });
    const response = await node.fetch(`/api/studies/${study}/table?format=csv`);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/csv; *charset=utf-8/i);
    expect(response.headers.get('Content-Disposition')).toBe(`attachment; filename="study-${study}.csv"`);
    const text = await response.text();
    expect(text.endsWith('\r\n')).toBe(true);
    const [header, row, ...others] = parse(text, { record_delimiter: '\r\n' }) as string[][];
    expect(others).toEqual([]);
    expect(header?.slice(0, 2)).toEqual(['pack', 'title']);
    expect(header?.slice(9)).toEqual(["'@name", 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']);
    expect(row?.[1]).toBe("'=1+1");
    expect(row?.slice(9)).toEqual([
      'a,"b"\nc',
      '-5',
      "'+5",
      "'\tx",
      'lone\nfeed',
      'true',
      '',
      '1e-7',
      "'-",
      'plain = text',
    ]);
  });

  test.each(['json', 'xlsx', ''])('another format, %j, is 400 invalid_format', async (format) => {
    const { id } = await createStudy();
    expect(await problemOf(node.fetch(`/api/studies/${id}/table?format=${format}`))).toMatchObject({
      status: 400,
      code: 'invalid_format',
    });
  });

  test('an unknown study is 404', async () => {
    expect(await problemOf(node.fetch('/api/studies/st_00000000000000000000/table'))).toMatchObject({
      status: 404,
    });
  });
});
