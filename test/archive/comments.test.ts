import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Comment } from '../../shared/archive/comment.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
let pack: string;
let study: string;
beforeAll(async () => {
  node = await openTestNode();
  ({ id: pack } = await uploadNewPack(node));
  ({ id: study } = (await (await node.sendJson('POST', '/api/studies', { title: 'S' })).json()) as {
    id: string;
  });
});
afterAll(closeTestNodes);

const comment = (item: string, body: object) => node.sendJson('POST', `/api/items/${item}/comments`, body);

test('packs and studies have comments and replies, listed oldest first', async () => {
  const response = await comment(pack, { author: 'Ada', body: 'Which gauge?' });
  expect(response.status).toBe(201);
  expect(response.headers.get('Location')).toBe(`/api/items/${pack}/comments`);
  const first = (await response.json()) as Comment;
  expect(first).toEqual({
    id: expect.stringMatching(/^co_[0-9a-f]{20}$/),
    item: pack,
    author: 'Ada',
    body: 'Which gauge?',
    reply_to: null,
    at: expect.any(String),
    ledger_entry: 3,
  });
  const reply = (await (
    await comment(pack, { author: 'Bo', body: 'Steubenhöft', reply_to: first.id })
  ).json()) as Comment;
  await comment(study, { author: 'Cy', body: 'Elsewhere' });
  expect(await (await node.fetch(`/api/items/${pack}/comments`)).json()).toEqual({
    items: [first, reply],
    total: 2,
    limit: 100,
    offset: 0,
    next: null,
  });
  expect(await (await node.fetch(`/api/items/${pack}/comments?limit=1`)).json()).toMatchObject({
    items: [{ id: first.id }],
    next: `/api/items/${pack}/comments?limit=1&offset=1`,
  });
});

test('an unknown reply_to, or one on another item, is 422 unknown_comment', async () => {
  const elsewhere = (await (await comment(study, { author: 'Cy', body: 'Elsewhere' })).json()) as Comment;
  for (const reply_to of ['co_00000000000000000000', elsewhere.id]) {
    expect(await problemOf(comment(pack, { author: 'A', body: 'Refused', reply_to }))).toMatchObject({
      status: 422,
      code: 'unknown_comment',
      errors: [{ path: '/reply_to' }],
    });
  }
  const { items } = (await (await node.fetch(`/api/items/${pack}/comments`)).json()) as { items: Comment[] };
  expect(items.map(({ body }) => body)).not.toContain('Refused');
});

test('an unknown item is 404 for reading and writing', async () => {
  for (const item of ['pk_00000000000000000000', 'st_00000000000000000000', 'nothing']) {
    expect(await problemOf(node.fetch(`/api/items/${item}/comments`))).toMatchObject({ status: 404 });
    expect(await problemOf(comment(item, { author: 'A', body: 'B' }))).toMatchObject({ status: 404 });
  }
});

test.each([
  [{ author: '', body: 'B' }, '/author'],
  [{ author: 'x'.repeat(101), body: 'B' }, '/author'],
  [{ author: 'A', body: '' }, '/body'],
  [{ author: 'A', body: 'x'.repeat(10_001) }, '/body'],
  [{ author: 'A', body: 'B', reply_to: 'nonsense' }, '/reply_to'],
  [{ author: 'A', body: 'B', at: '2020-01-01T00:00:00.000Z' }, '/at'],
])('%j is 422 at %s', async (body, path) => {
  expect(await problemOf(comment(pack, body))).toMatchObject({ status: 422, errors: [{ path }] });
});
