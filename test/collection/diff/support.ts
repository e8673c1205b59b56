import { expect } from 'vitest';
import type { Diff } from '../../../shared/collection/diff.ts';
import { maxBlockedCpu } from '../../support/blockedCpu.ts';
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
/** The comparisons that are watched take seconds. */
export const MAX_BLOCKED_MS = 500;

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

export interface WatchedDiff {
  diff: Diff;
  text: string;
  /** How many health requests were answered before the diff arrived; at most a few more than a live node must answer. */
  answered: number;
  /** How long the event loop was blocked at most meanwhile, in milliseconds of processor time. */
  blocked: number;
}

/** Requests a diff and watches whether the node answers other requests meanwhile. */
export async function diffWhileAlive(node: CollectingNode, event: number): Promise<WatchedDiff> {
  let answered = 0;
  let answer: Response | undefined;
  const blocked = await maxBlockedCpu(async () => {
    const pending = node.node.fetch(`/api/events/${event}/diff`).then((arrived) => {
      answer = arrived;
    });
    // Asking until the diff arrives would take half of the processors from the comparison.
    while (!answer && answered <= MIN_ANSWERED) {
      expect((await node.node.fetch('/api/health')).status).toBe(200);
      if (!answer) answered += 1;
    }
    await pending;
  });
  expect(answer?.status).toBe(200);
  const text = (await answer?.text()) ?? '';
  return { diff: JSON.parse(text) as Diff, text, answered, blocked };
}

/** A node that compares on its event loop answers at most the request that arrived before the comparison. */
export function expectAlive({ answered, blocked }: WatchedDiff): void {
  expect(answered).toBeGreaterThan(MIN_ANSWERED);
  expect(blocked).toBeLessThan(MAX_BLOCKED_MS);
}
