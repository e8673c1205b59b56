import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { SavedDraftFile, StoredDraft } from '../../../shared/archive/draft.ts';
import type { TestNode } from '../node.ts';

/** Creates a draft as the owner. */
export async function newDraft(node: TestNode, record: object = {}, form?: object): Promise<StoredDraft> {
  const response = await node.sendJson('POST', '/manage/drafts', { record, ...(form ? { form } : {}) });
  expect(response.status).toBe(201);
  const draft = (await response.json()) as StoredDraft;
  expect(response.headers.get('Location')).toBe(`/manage/drafts/${draft.id}`);
  return draft;
}

export async function readDraft(node: TestNode, id: string): Promise<StoredDraft> {
  return (await (await node.fetchAsOwner(`/manage/drafts/${id}`)).json()) as StoredDraft;
}

/** Sends a file of a draft. */
export function sendFile(
  node: TestNode,
  id: string,
  path: string,
  content: BodyInit,
  headers: Record<string, string> = {},
): Promise<Response> {
  return node.fetchAsOwner(`/manage/drafts/${id}/files?path=${encodeURIComponent(path)}`, {
    method: 'PUT',
    body: content,
    headers: { 'Content-Type': 'application/octet-stream', ...headers },
  });
}

/** Stores a file in a draft. */
export async function putFile(
  node: TestNode,
  id: string,
  path: string,
  content: BodyInit,
): Promise<SavedDraftFile> {
  const response = await sendFile(node, id, path, content);
  const body: unknown = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 200 });
  return body as SavedDraftFile;
}

export function publish(node: TestNode, id: string): Promise<Response> {
  return node.fetchAsOwner(`/manage/drafts/${id}/publish`, { method: 'POST' });
}

/** Returns the paths of all files of drafts in the data folder, below `drafts/`. */
export async function draftFilesOnDisk({ dataFolder }: Pick<TestNode, 'dataFolder'>): Promise<string[]> {
  const entries = await readdir(join(dataFolder, 'drafts'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
