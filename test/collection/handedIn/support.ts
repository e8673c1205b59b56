import { expect } from 'vitest';
import type { HandIn, HandInDetails } from '../../../shared/collection/handedIn.ts';
import type { TestNode } from '../../support/node.ts';

/** Sends a file as the body. */
export function sendFile(
  node: TestNode,
  body: Buffer | ReadableStream,
  type: string,
  said: Record<string, string> = {},
): Promise<Response> {
  const query = new URLSearchParams(said).toString();
  return node.fetchAsOwner(`/manage/handed-in${query && `?${query}`}`, {
    method: 'POST',
    body: body instanceof ReadableStream ? body : new Uint8Array(body),
    headers: { 'Content-Type': type },
    ...(body instanceof ReadableStream ? { duplex: 'half' as const } : {}),
  });
}

/** Hands a file in, and returns its record. */
export async function handIn(
  node: TestNode,
  body: Buffer,
  type: string,
  said: Record<string, string> = {},
): Promise<HandIn> {
  const answer = await sendFile(node, body, type, said);
  expect(answer.status, await answer.clone().text()).toBe(201);
  return (await answer.json()) as HandIn;
}

export async function readHandIn(node: TestNode, id: string): Promise<HandInDetails> {
  return (await (await node.fetchAsOwner(`/manage/handed-in/${id}`)).json()) as HandInDetails;
}

/** Returns the status and the code of a refusal. */
export async function refusedWith(answer: Response): Promise<[status: number, code: string, detail: string]> {
  const { code, detail } = (await answer.json()) as { code: string; detail: string };
  return [answer.status, code, detail];
}
