import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import type { NodeConfig } from '../../../server/config.ts';
import type { Deposit, NewRepository, Repository } from '../../../shared/node/deposit.ts';
import { type Clock, systemClock } from '../../../shared/values/clock.ts';
import { openTestNode, type TestNode } from '../../support/node.ts';

/** Longer sleeps are deadlines. */
const DEADLINE_MS = 100_000;

/** A clock whose pauses are over at once and are noted. */
export function hurriedClock(): Clock & { pauses: number[] } {
  const pauses: number[] = [];
  return {
    pauses,
    now: () => systemClock.now(),
    sleep: async (ms, signal) => {
      if (ms >= DEADLINE_MS) return systemClock.sleep(ms, signal);
      pauses.push(ms);
      await setImmediate();
    },
  };
}

export async function openDepositingNode(config: Partial<NodeConfig> = {}) {
  const clock = hurriedClock();
  const node = await openTestNode({ clock, publicUrl: 'https://archive.example', ...config });
  return { node, pauses: clock.pauses };
}

export async function addRepository(
  node: TestNode,
  repository: Pick<NewRepository, 'kind'> & Partial<NewRepository>,
  server: { url: string; token: string },
): Promise<Repository> {
  const { url, token } = server;
  const response = await node.sendJson('POST', '/manage/repositories', { url, token, ...repository });
  expect(response.status).toBe(201);
  return (await response.json()) as Repository;
}

/** Deposits a pack and waits for the end. */
export async function deposit(
  node: TestNode,
  pack: string,
  repository: string,
  publish = false,
): Promise<Deposit> {
  const response = await node.sendJson('POST', '/manage/deposits?wait=true', { pack, repository, publish });
  const body = (await response.json()) as Deposit;
  expect({ status: response.status, body }).toMatchObject({ status: 201 });
  return body;
}

export async function depositsOf(node: TestNode): Promise<Deposit[]> {
  const page = (await (await node.fetchAsOwner('/manage/deposits')).json()) as { items: Deposit[] };
  return page.items;
}
