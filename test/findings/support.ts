import { expect } from 'vitest';
import type { Case, NewCaseItem } from '../../shared/findings/case.ts';
import type { Finding, FindingTarget } from '../../shared/findings/finding.ts';
import type { TestNode } from '../support/node.ts';

/** Adds a finding as the owner. */
export async function addFinding(
  node: TestNode,
  target: FindingTarget,
  fields: object = {},
): Promise<Finding> {
  const answer = await node.sendJson('POST', '/manage/findings', { target, text: 'Noted', ...fields });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return (await answer.json()) as Finding;
}

export async function withdraw(node: TestNode, { id }: Finding, reason: string): Promise<Finding> {
  const answer = await node.sendJson('POST', `/manage/findings/${id}/withdraw`, { reason });
  expect(answer.status).toBe(201);
  return (await answer.json()) as Finding;
}

export async function findings(node: TestNode, query = ''): Promise<{ items: Finding[]; total: number }> {
  return (await (await node.fetch(`/api/findings?${query}`)).json()) as { items: Finding[]; total: number };
}

/** Creates a case of these items, given as the members that a client must send. */
export async function createCase(
  node: TestNode,
  title: string,
  items: (Omit<NewCaseItem, 'note'> & { note?: string })[],
): Promise<Case> {
  const answer = await node.sendJson('POST', '/manage/cases', { title, items });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return (await answer.json()) as Case;
}

export async function verifiedLedger(node: TestNode): Promise<unknown> {
  return (await node.fetchAsOwner('/api/ledger/verify')).json();
}
