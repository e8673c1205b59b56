import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

let node: TestNode;

beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

describe('/api/events', () => {
  test.each([
    ['limit=0', 'invalid_limit'],
    ['limit=501', 'invalid_limit'],
    ['limit=1.5', 'invalid_limit'],
    ['offset=-1', 'invalid_offset'],
    ['offset=x', 'invalid_offset'],
    ['event_type=vanished', 'invalid_parameter'],
    ['source=7', 'invalid_parameter'],
    ['noise=1', 'invalid_parameter'],
    ['noise=', 'invalid_parameter'],
    ['since=yesterday', 'invalid_parameter'],
    ['since=2026-02-30', 'invalid_parameter'],
    ['order=asc', 'unknown_parameter'],
  ])('refuses %s with %s', async (query, code) => {
    const answer = await node.fetch(`/api/events?${query}`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code });
  });

  test.each(['"', 'NEAR(', 'a AND', '*', "'; DROP TABLE events", 'url:x', '-', '\u0000', '“', '(', '%'])(
    'accepts any text as a query: %j',
    async (q) => {
      const answer = await node.fetch(`/api/events?q=${encodeURIComponent(q)}`);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ items: [], total: 0, next: null });
    },
  );

  test('answers 404 not_found for an unknown event number in any form', async () => {
    for (const id of ['999999', '0', '-1', '1.0', '01', 'x', '99999999999999999999']) {
      const answer = await node.fetch(`/api/events/${id}`);
      expect(answer.status, id).toBe(404);
      expect(await answer.json()).toMatchObject({ code: 'not_found' });
    }
  });
});
