import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_PACK_FILES } from '../../shared/limits.ts';
import { filesOf, sampleRecord } from '../support/archive/packs.ts';
import { fileHeaders, MULTIPART, multipart, post, RECORD } from '../support/archive/uploads.ts';
import { MAX_BLOCKED_MS, maxBlockedCpu } from '../support/blockedCpu.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

async function sendPack(title: string): Promise<Response> {
  const files = Object.fromEntries(
    Array.from({ length: MAX_PACK_FILES }, (_, index) => [
      `${index % 50}/${index}.txt`,
      `${title}, ${index}`,
    ]),
  );
  const record = JSON.stringify(sampleRecord({ title, files: filesOf(files) }));
  const parts = Object.entries(files).map(([path, text]): [string, string] => [fileHeaders(path), text]);
  const body = new Uint8Array(multipart([RECORD, record], ...parts));
  return post(node, body, MULTIPART);
}

test('a pack of 5,000 files keeps nobody waiting, neither when it is added nor when its pack file is read', async () => {
  // The rows of an archive that has many are on more pages, each of which a change may touch.
  for (const title of ['First', 'Second']) expect((await sendPack(title)).status).toBe(201);
  let added = new Response();
  const adding = await maxBlockedCpu(async () => {
    added = await sendPack('Third');
  });
  expect(added.status).toBe(201);
  const { id } = (await added.json()) as { id: string };
  const reading = await maxBlockedCpu(async () => {
    const response = await node.fetch(`/api/packs/${id}/file`);
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(1_000_000);
  });
  expect(adding).toBeLessThan(MAX_BLOCKED_MS);
  expect(reading).toBeLessThan(MAX_BLOCKED_MS);
});
