import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TreeNode } from '../../shared/archive/study.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeEach(async () => {
  node = await openTestNode();
});
afterEach(closeTestNodes);

const create = (path: string) =>
  node.sendJson('POST', '/api/nodes', { path, title: `Node ${path}`.slice(0, 200) });

async function createAll(...paths: string[]): Promise<void> {
  for (const path of paths) expect((await create(path)).status).toBe(201);
}

describe('POST /api/nodes', () => {
  test('returns 201 with the node and its location', async () => {
    const response = await node.sendJson('POST', '/api/nodes', { path: 'ocean', title: 'Ocean' });
    expect(response.status).toBe(201);
    expect(response.headers.get('Location')).toBe('/api/nodes/ocean');
    const created = (await response.json()) as object;
    expect(created).toEqual({
      path: 'ocean',
      title: 'Ocean',
      description: '',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      ledger_entry: 1,
    });
    expect(await (await node.fetch('/api/nodes/ocean')).json()).toMatchObject(created);
  });

  test('refuses a missing parent (409 parent_missing) and an existing node (409 node_exists), and writes nothing', async () => {
    expect(await problemOf(create('ocean/level'))).toMatchObject({ status: 409, code: 'parent_missing' });
    await createAll('ocean', 'ocean/level');
    expect(await problemOf(create('ocean'))).toMatchObject({ status: 409, code: 'node_exists' });
    expect(await (await node.fetch('/api/ledger')).json()).toMatchObject({ total: 2 });
  });

  test('two concurrent requests for the same path create one node', async () => {
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await create('ocean')).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(7);
  });

  test('an invalid path is 422 with a pointer', async () => {
    for (const path of [
      'Ocean',
      '-ocean',
      'ocean/',
      '/ocean',
      'a//b',
      'ocean level',
      'ozean-ä',
      '',
      'a/b/c/d/e/f/g/h/i',
      'x'.repeat(65),
    ]) {
      expect(await problemOf(create(path)), path).toMatchObject({
        status: 422,
        code: 'invalid_field',
        errors: [{ path: '/path' }],
      });
    }
  });

  test('every other invalid field is 422 with a pointer', async () => {
    const refused: [object, string, string][] = [
      [{ path: 'a', title: '' }, '/title', 'invalid_field'],
      [{ path: 'a', title: 'x'.repeat(201) }, '/title', 'invalid_field'],
      [{ path: 'a', title: 'A', description: 'x'.repeat(10_001) }, '/description', 'invalid_field'],
      [{ path: 'a' }, '/title', 'invalid_field'],
      [{ path: 'a', title: 'A', created_at: '2020-01-01T00:00:00.000Z' }, '/created_at', 'unknown_field'],
    ];
    for (const [body, path, code] of refused) {
      const problem = await problemOf(node.sendJson('POST', '/api/nodes', body));
      expect(problem).toMatchObject({ status: 422, code, errors: [{ path }] });
    }
  });

  test('accepts eight segments of 64 characters, and counts text in characters', async () => {
    const path = Array.from({ length: 8 }, () => 'x'.repeat(64)).join('/');
    for (let depth = 1; depth <= 8; depth += 1) await createAll(path.slice(0, depth * 65 - 1));
    expect((await node.fetch(`/api/nodes/${path}`)).status).toBe(200);
    const emoji = { path: 'emoji', title: '🧪'.repeat(200) };
    expect((await node.sendJson('POST', '/api/nodes', emoji)).status).toBe(201);
  });
});

describe('reading nodes', () => {
  test('an unknown path is 404', async () => {
    expect(await problemOf(node.fetch('/api/nodes/nowhere'))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect(await problemOf(node.fetch('/api/nodes/No%20Where'))).toMatchObject({ status: 404 });
  });

  test('a node has its ancestors, its children (newest first), and the newest items of its subtree with counts', async () => {
    await createAll('ocean', 'ocean/level', 'ocean/level/north', 'ocean/salt', 'land');
    const study = (await (
      await node.sendJson('POST', '/api/studies', { title: 'S', node: 'ocean/level/north' })
    ).json()) as { id: string };
    const first = await uploadNewPack(node, { title: 'One', node: 'ocean/level' });
    const second = await uploadNewPack(node, { title: 'Two', node: 'ocean/level/north' });
    await uploadNewPack(node, { title: 'Elsewhere', node: 'land' });
    expect(await (await node.fetch('/api/nodes/ocean/level')).json()).toMatchObject({
      path: 'ocean/level',
      ancestors: [{ path: 'ocean', title: 'Node ocean' }],
      counts: { studies: 1, packs: 2, children: 1 },
      children: [{ path: 'ocean/level/north', counts: { studies: 1, packs: 1 } }],
      studies: [{ id: study.id }],
      packs: [{ id: second.id }, { id: first.id }],
    });
    const ocean = (await (await node.fetch('/api/nodes/ocean')).json()) as { children: { path: string }[] };
    expect(ocean).toMatchObject({ ancestors: [], counts: { studies: 1, packs: 2, children: 2 } });
    expect(ocean.children.map(({ path }) => path)).toEqual(['ocean/salt', 'ocean/level']);
  });

  test('the tree contains every node under its parent, with the counts of its subtree', async () => {
    await createAll('b', 'a', 'a/y', 'a/x', 'a/x/deep', 'a-b');
    await uploadNewPack(node, { node: 'a/x/deep' });
    await node.sendJson('POST', '/api/studies', { title: 'S', node: 'a/x' });
    const { nodes } = (await (await node.fetch('/api/tree')).json()) as { nodes: TreeNode[] };
    const shape = (each: TreeNode): unknown => [
      each.path,
      each.counts.studies,
      each.counts.packs,
      each.children.map(shape),
    ];
    expect(nodes.map(shape)).toEqual([
      [
        'a',
        1,
        1,
        [
          ['a/x', 1, 1, [['a/x/deep', 0, 1, []]]],
          ['a/y', 0, 0, []],
        ],
      ],
      ['a-b', 0, 0, []],
      ['b', 0, 0, []],
    ]);
  });

  test('each list on a node’s page has at most 100 items, and the counts have the totals', async () => {
    await createAll('many');
    await Promise.all(Array.from({ length: 101 }, (_, index) => createAll(`many/n${index}`)));
    const page = (await (await node.fetch('/api/nodes/many')).json()) as {
      children: unknown[];
      counts: object;
    };
    expect(page.children).toHaveLength(100);
    expect(page.counts).toEqual({ children: 101, studies: 0, packs: 0 });
  });
});
