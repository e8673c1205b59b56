import { expect } from 'vitest';
import type { CaptureResult } from '../../../shared/collection/captures.ts';
import type { CollectingNode } from '../support.ts';

/** Sends a WARC file to the node. */
export function sendFile(
  node: CollectingNode,
  file: Buffer,
  { observer = 'Archive', type = 'application/warc', query = '' } = {},
): Promise<Response> {
  return node.node.fetchAsOwner(`/manage/captures?observer=${encodeURIComponent(observer)}${query}`, {
    method: 'POST',
    body: new Uint8Array(file),
    headers: { 'Content-Type': type },
  });
}

/** Imports a WARC file and returns the result. */
export async function imported(
  node: CollectingNode,
  file: Buffer,
  options?: Parameters<typeof sendFile>[2],
): Promise<CaptureResult> {
  const answer = await sendFile(node, file, options);
  const result: unknown = await answer.json();
  expect([answer.status, result]).toEqual([200, expect.anything()]);
  return result as CaptureResult;
}

export async function bytesOf(node: CollectingNode, sha256: string): Promise<string> {
  return Buffer.from(await (await node.node.fetch(`/archive/${sha256}`)).arrayBuffer()).toString('latin1');
}

export async function sourceNamed(node: CollectingNode, url: string) {
  const { items } = await node.read<{ items: { id: string; url: string }[] }>('/manage/sources?limit=500');
  const found = items.find((source) => source.url === url);
  if (!found) throw new Error(`No source ${url}.`);
  return node.source(found.id);
}
