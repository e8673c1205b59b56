import { expect } from 'vitest';
import type { MirrorRequest, MirrorResult, Peer } from '../../shared/node/peer.ts';
import type { TestNode } from '../support/node.ts';

/** Adds a peer, and requires that it was accepted. */
export async function addPeer(node: TestNode, url: string): Promise<Peer> {
  const answer = await node.sendJson('POST', '/manage/peers', { url });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return (await answer.json()) as Peer;
}

export const EVERYTHING = { packs: true, sources: true } as const;

/** Mirrors everything and waits. It need not succeed. */
export function tryToMirror(node: TestNode, id: string): Promise<Response> {
  return node.sendJson('POST', `/manage/peers/${id}/mirror?wait=true`, EVERYTHING);
}

/** Mirrors, waits, and requires that it succeeded. */
export async function mirror(node: TestNode, { id }: Peer, request: MirrorRequest): Promise<MirrorResult> {
  const answer = await node.sendJson('POST', `/manage/peers/${id}/mirror?wait=true`, request);
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as MirrorResult;
}

export async function readPeer(node: TestNode, { id }: Peer): Promise<Peer> {
  return (await (await node.fetchAsOwner(`/manage/peers/${id}`)).json()) as Peer;
}

export async function keyOf(node: TestNode): Promise<string> {
  return (await (await node.fetch('/api/ledger/key')).text()).trim();
}

/** Returns the number of entries in the ledger of a node. */
export async function sizeOf(node: TestNode): Promise<number> {
  const { total } = (await (await node.fetch('/api/ledger?limit=1')).json()) as { total: number };
  return total;
}

export async function expectVerified(node: TestNode): Promise<void> {
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, problems: [] });
}
