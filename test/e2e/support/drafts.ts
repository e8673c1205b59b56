import { createHash } from 'node:crypto';
import type { Locator, Page } from '@playwright/test';
import type { DraftSummary, StoredDraft } from '../../../shared/archive/draft.ts';
import type { NodeProcess } from './nodeProcess.ts';
import { startOver } from './startOver.ts';

export const SAVED = 'The draft is saved on this node.';

/** The drafts that the node has. */
export async function draftsOf(node: NodeProcess): Promise<DraftSummary[]> {
  const headers = { Authorization: `Bearer ${node.token}` };
  const response = await fetch(new URL('/manage/drafts', node.url), { headers });
  return ((await response.json()) as { items: DraftSummary[] }).items;
}

/** Between two parts of a test: there is no draft, neither in the page nor on the node. */
export async function forgetDrafts(page: Page, node: NodeProcess): Promise<void> {
  await startOver(page);
  const headers = { Authorization: `Bearer ${node.token}` };
  for (const { id } of await draftsOf(node)) {
    const deleted = await fetch(new URL(`/manage/drafts/${id}`, node.url), { method: 'DELETE', headers });
    if (!deleted.ok) throw new Error(`The draft was not deleted: ${deleted.status}.`);
  }
}

/** The files of the node's draft: the beginning of each digest by its path. */
export async function filesOf(node: NodeProcess): Promise<Record<string, string>> {
  const [draft] = await draftsOf(node);
  if (!draft) return {};
  const headers = { Authorization: `Bearer ${node.token}` };
  const response = await fetch(new URL(`/manage/drafts/${draft.id}`, node.url), { headers });
  const { files } = (await response.json()) as StoredDraft;
  return Object.fromEntries(files.map(({ path, sha256 }) => [path, sha256.slice(0, 8)]));
}

/** The beginnings of the digests of two files. */
export const DIGESTS = { one: sha256('one'), two: sha256('two') };

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

export function titleOf(page: Page): Locator {
  return page.getByRole('textbox', { name: 'Title' });
}

/** Adds a file to the node's draft as another window would. */
export async function addElsewhere(node: NodeProcess, path: string, content: string): Promise<void> {
  const [draft] = await draftsOf(node);
  const headers = { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/octet-stream' };
  const url = new URL(`/manage/drafts/${draft?.id}/files?path=${path}`, node.url);
  const added = await fetch(url, { method: 'PUT', headers, body: content });
  if (!added.ok) throw new Error(`The file was not added: ${added.status}.`);
}

/** Changes the record of the node's draft as another window would. */
export async function changeElsewhere(node: NodeProcess, title: string): Promise<void> {
  const [draft] = await draftsOf(node);
  const url = new URL(`/manage/drafts/${draft?.id}`, node.url);
  const headers = { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' };
  const { record, form } = (await (await fetch(url, { headers })).json()) as StoredDraft;
  const body = JSON.stringify({ record: { ...record, title }, form: { ...form, title, writer: 'x' } });
  const changed = await fetch(url, { method: 'PATCH', headers, body });
  if (!changed.ok) throw new Error(`The draft was not changed: ${changed.status}.`);
}
