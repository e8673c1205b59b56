import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { CaptureResult } from '../../../shared/collection/captures.ts';
import { end, serveNodeWith } from '../../support/cli.ts';
import { temporaryFolder } from '../../support/node.ts';
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

const SAY_MEMORY = new URL('../../support/sayMemory.ts', import.meta.url).href;

/**
 * Imports WARC files one after the other into a node with a process of its own, and returns by how many bytes that grew
 * with each. How much this process grows depends on what earlier tests left in it.
 */
export async function growthOfImports(files: readonly Buffer[]): Promise<number[]> {
  const options = { nodeOptions: ['--import', SAY_MEMORY], withMessages: true };
  const served = await serveNodeWith(options, join(await temporaryFolder(), 'data'));
  try {
    const memory = async () => {
      const said = once(served.child, 'message') as Promise<[number]>;
      served.child.send('memory');
      return (await said)[0];
    };
    const token = await readFile(served.token_file, 'utf8');
    const before = await memory();
    const growths: number[] = [];
    for (const file of files) {
      const answer = await fetch(new URL('/manage/captures?observer=Archive', served.url), {
        method: 'POST',
        body: new Uint8Array(file),
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/warc' },
      });
      expect([answer.status, await answer.json()]).toEqual([200, expect.anything()]);
      growths.push((await memory()) - before);
    }
    return growths;
  } finally {
    await end(served, 'SIGKILL');
  }
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
