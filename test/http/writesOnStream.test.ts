import { afterEach, expect, test } from 'vitest';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

test('the stream of the owner names each route that changed something, and no refused one', async () => {
  const node = await openTestNode();
  const end = new AbortController();
  const stream = await fetch(new URL('/manage/stream', node.url), {
    headers: { Authorization: `Bearer ${node.token}` },
    signal: end.signal,
  });
  await node.sendJson('PATCH', '/manage/settings', { audit_every_days: -1 });
  await node.sendJson('PATCH', '/manage/settings', { audit_every_days: 7 });
  let text = '';
  for await (const piece of stream.body ?? []) {
    text += Buffer.from(piece).toString();
    if (text.includes('event: write')) break;
  }
  end.abort();
  expect(text.match(/event: write\ndata: .*/g)).toEqual(['event: write\ndata: {"route":"changeSettings"}']);
});
