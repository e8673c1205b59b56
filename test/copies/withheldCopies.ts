import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { type VerifiedCopy, verifyCopy } from '../../server/copies/verifyCopy.ts';
import type { Copy, CopyCheck, CopySync, RestoreDrill } from '../../shared/node/copy.ts';
import type { TestNode } from '../support/node.ts';

export async function addCopy(node: TestNode, place: string, fields: object = {}): Promise<Copy> {
  const answer = await node.sendJson('POST', '/manage/copies', {
    target: pathToFileURL(place).href,
    pages: true,
    ...fields,
  });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return (await answer.json()) as Copy;
}

export async function sync(node: TestNode, { id }: Copy): Promise<CopySync> {
  const answer = await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as CopySync;
}

export async function check(node: TestNode, { id }: Copy): Promise<CopyCheck> {
  const answer = await node.sendJson('POST', `/manage/copies/${id}/check?wait=true`, {});
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as CopyCheck;
}

export async function copyOf(node: TestNode): Promise<Copy> {
  const { items } = (await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] };
  return items[0] as Copy;
}

/** Verifies a copy as the command does. */
export async function verified(place: string): Promise<VerifiedCopy> {
  const target = await openTarget({ target: pathToFileURL(place).href });
  try {
    return await verifyCopy(target, { signal: new AbortController().signal, progress: () => {} });
  } finally {
    await target.close();
  }
}

export async function withhold(node: TestNode, target: object, reason = 'personal_data'): Promise<void> {
  const answer = await node.sendJson('POST', '/manage/withheld', { ...target, reason });
  expect(answer.status, await answer.clone().text()).toBe(201);
}

export async function show(node: TestNode, target: object): Promise<void> {
  const answer = await node.sendJson('DELETE', '/manage/withheld', target);
  expect(answer.status, await answer.clone().text()).toBe(200);
}

export async function release(node: TestNode, sha256: string): Promise<void> {
  const answer = await node.sendJson('POST', '/manage/released', { sha256, reason: 'legal_order' });
  expect(answer.status, await answer.clone().text()).toBe(201);
}

/** Returns the files of a copy, or of another folder, that contain a word or these bytes. */
export async function filesWith(place: string, word: string | Buffer): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    if ((await readFile(file)).includes(word)) found.push(file.slice(place.length + 1));
  }
  return found.sort();
}

export async function drill(node: TestNode, { id }: Copy): Promise<RestoreDrill> {
  const answer = await node.fetchAsOwner(`/manage/copies/${id}/drill?wait=true`, { method: 'POST' });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as RestoreDrill;
}
