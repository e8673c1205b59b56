import { expect } from 'vitest';
import type { Sharing } from '../../../shared/node/settings.ts';
import type { TestNode } from '../node.ts';

/** Sets with whom the node is shared. */
export async function share(
  node: TestNode,
  mode: Sharing['mode'],
  require_invitation = false,
): Promise<void> {
  const response = await node.sendJson('PUT', '/manage/sharing', { mode, require_invitation });
  expect(await response.json()).toEqual({ mode, require_invitation });
}

export interface Invited {
  id: string;
  token: string;
}

/** Creates an invitation. */
export async function invite(node: TestNode, body?: unknown): Promise<Invited> {
  const response = await (body === undefined
    ? node.fetchAsOwner('/manage/invitations', { method: 'POST' })
    : node.sendJson('POST', '/manage/invitations', body));
  expect(response.status).toBe(201);
  return (await response.json()) as Invited;
}

let made = 0;

/** Creates a tree node with this token, or without one. */
export function contribute(node: TestNode, token?: string, url = node.url): Promise<Response> {
  made += 1;
  return fetch(new URL('/api/nodes', url), {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ path: `made-${made}`, title: 'Made' }),
  });
}

/** Returns a request's options with this token. */
export function withToken(token: string): RequestInit {
  return { headers: { Authorization: `Bearer ${token}` } };
}
