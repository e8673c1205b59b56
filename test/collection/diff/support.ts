import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Diff } from '../../../shared/diff.ts';
import { page, type ScriptedWeb } from '../../support/scriptedWeb.ts';
import type { CollectingNode } from '../support.ts';

export type Version = Parameters<typeof page>[0];

/** Two versions of one address, one after the other. */
export interface Change {
  type: string;
  from: Version;
  to: Version;
  /** Of the newer version, where it has another. */
  toType?: string;
  headers?: Record<string, string>;
  noise_rules?: object[];
}

let number = 0;

/** Has a node watch an address that gives one version and then another; the number of the event of the change. */
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

/** All parts of all hunks, of kinds that have them. */
export function partsOf(diff: Diff): { op: string; text: string }[] {
  return 'hunks' in diff ? diff.hunks.flatMap(({ parts }) => parts) : [];
}

/** Asks for a diff and, until it comes, again and again whether the node is up. */
export async function diffWhileAlive(
  node: CollectingNode,
  event: number,
): Promise<{ diff: Diff; text: string; health: number[] }> {
  const health: number[] = [];
  let isOver = false;
  const asked = node.node.fetch(`/api/events/${event}/diff`).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const started = performance.now();
    await node.node.fetch('/api/health');
    health.push(performance.now() - started);
    await wait(10);
  }
  const answer = await asked;
  expect(answer.status).toBe(200);
  const text = await answer.text();
  return { diff: JSON.parse(text) as Diff, text, health: health.sort((left, right) => left - right) };
}

/** Nine in ten within 50 ms: the tests of other files run on the same processor. */
export function expectAlive(health: readonly number[]): void {
  expect(health[Math.floor(health.length * 0.9)]).toBeLessThan(50);
}
