import { expect } from 'vitest';
import type { Paired, PairingCode } from '../../../shared/node/pairing.ts';
import type { TestNode } from '../node.ts';

export async function pairingCode(node: TestNode): Promise<PairingCode> {
  const response = await node.fetchAsOwner('/manage/pairings', { method: 'POST' });
  expect(response.status).toBe(201);
  return (await response.json()) as PairingCode;
}

/** Sends a code as an extension does. */
export function sendCode(node: TestNode, code: string, name = ''): Promise<Response> {
  return node.fetch('/pair', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code, name }),
  });
}

/** Pairs a browser with a new code. */
export async function pair(node: TestNode, name = 'Ada’s browser'): Promise<Paired> {
  const response = await sendCode(node, (await pairingCode(node)).code, name);
  expect(response.status).toBe(201);
  return (await response.json()) as Paired;
}
