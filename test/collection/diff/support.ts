import { expect } from 'vitest';
import type { Diff } from '../../../shared/collection/diff.ts';
import { page, type ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import type { CollectingNode } from '../support.ts';

export type Version = Parameters<typeof page>[0];

/** Two successive versions of one address. */
export interface Change {
  type: string;
  from: Version;
  to: Version;
  /** The content type of the newer version; `type` by default. */
  toType?: string;
  headers?: Record<string, string>;
  noise_rules?: object[];
}

/** More than are answered before a comparison could block the event loop. */
const MIN_ANSWERED = 10;

let number = 0;

/** Watches an address that serves one version and then another. Returns the number of the change's event. */
export async function collectChange(
  node: CollectingNode,
  web: ScriptedWeb,
  { type, from, to, toType = type, headers = {}, noise_rules = [] }: Change,
): Promise<number> {
  number += 1;
  const path = `/change/${number}`;
  web.script(
    path,
    page(from, { headers: { 'Content-Type': type, ...headers } }),
    page(to, { headers: { 'Content-Type': toType, ...headers } }),
  );
  const { id } = await node.watch(web.url(path), { noise_rules });
  await node.check([id]);
  const { events } = await node.check([id]);
  return events[0] as number;
}

export async function readDiff(node: CollectingNode, event: number): Promise<Diff> {
  const answer = await node.node.fetch(`/api/events/${event}/diff`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Diff;
}

/** Returns all parts of all hunks; empty for kinds without hunks. */
export function partsOf(diff: Diff): { op: string; text: string }[] {
  return 'hunks' in diff ? diff.hunks.flatMap(({ parts }) => parts) : [];
}

/** Requests a diff and counts the health requests that are answered before it arrives. */
export async function diffWhileAlive(
  node: CollectingNode,
  event: number,
): Promise<{ diff: Diff; text: string; answered: number }> {
  let answered = 0;
  let isDone = false;
  const pending = node.node.fetch(`/api/events/${event}/diff`).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    expect((await node.node.fetch('/api/health')).status).toBe(200);
    if (!isDone) answered += 1;
  }
  const answer = await pending;
  expect(answer.status).toBe(200);
  const text = await answer.text();
  return { diff: JSON.parse(text) as Diff, text, answered };
}

/** A node that compares on its event loop answers at most the request that arrived before the comparison. */
export function expectAlive(answered: number): void {
  expect(answered).toBeGreaterThan(MIN_ANSWERED);
}
