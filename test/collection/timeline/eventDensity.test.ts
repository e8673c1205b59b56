import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

let node: TestNode;

beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

describe('/api/events/density', () => {
  test.each([
    ['buckets=0', 'invalid_parameter'],
    ['buckets=201', 'invalid_parameter'],
    ['since=soon', 'invalid_parameter'],
    ['limit=5', 'unknown_parameter'],
  ])('refuses density?%s with %s', async (query, code) => {
    const answer = await node.fetch(`/api/events/density?${query}`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code });
  });

  test('returns no counts without events, and zeros for a range without events', async () => {
    const empty = await node.fetch('/api/events/density');
    expect(await empty.json()).toEqual({ since: null, until: null, total: 0, counts: [] });
    const span = await node.fetch('/api/events/density?since=2026-01-01&until=2026-01-02&buckets=2');
    expect(await span.json()).toEqual({
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T23:59:59.999Z',
      total: 0,
      counts: [0, 0],
    });
  });
});
