import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Pack, PackFile, PackRecordInput } from '../../../shared/archive/pack.ts';
import type { TestNode } from '../node.ts';

/** Returns the smallest valid record, with changes. */
export function sampleRecord(changes: Partial<PackRecordInput> = {}): PackRecordInput {
  return {
    pack_format: 1,
    terms_version: '2026-10-01',
    title: 'Sea level at Cuxhaven',
    authors: [{ name: 'Ada Lovelace' }],
    license: 'CC0-1.0',
    outcome: 'positive',
    ...changes,
  };
}

export type Files = Record<string, string | Uint8Array<ArrayBuffer>>;

export function sha256Of(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Returns a record's `files` for these contents. */
export function filesOf(files: Files, mediaType = 'text/plain'): PackFile[] {
  return Object.entries(files).map(([path, content]) => ({
    path,
    sha256: sha256Of(content),
    bytes: Buffer.byteLength(content),
    media_type: mediaType,
  }));
}

/** Returns a multipart body with the record as a field and a part for each file. */
export function packForm(record: unknown, files: Files): FormData {
  const form = new FormData();
  form.append('record', typeof record === 'string' ? record : JSON.stringify(record));
  for (const [path, content] of Object.entries(files)) form.append('files', new Blob([content]), path);
  return form;
}

/** Uploads a pack as the owner, as multipart. */
export function uploadPack(node: TestNode, record: unknown, files: Files = {}): Promise<Response> {
  return node.fetchAsOwner('/api/packs', { method: 'POST', body: packForm(record, files) });
}

/** Uploads a pack, requires that it is accepted as new, and returns it. */
export async function uploadNewPack(
  node: TestNode,
  changes: Partial<PackRecordInput> = {},
  files: Files = {},
): Promise<Pack> {
  const response = await uploadPack(node, sampleRecord(changes), files);
  const body: unknown = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 201 });
  return body as Pack;
}

/**
 * Gives a node a subject with a study, and two packs of which the newer one replaces the one of the study.
 *
 * @param path the path of the subject
 */
export async function publishRelatedPacks(
  node: TestNode,
  { path, title, files, newer }: { path: string; title: string; files: Files; newer: Files },
): Promise<void> {
  await node.sendJson('POST', '/api/nodes', { path, title });
  const answer = await node.sendJson('POST', '/api/studies', { title, node: path });
  const { id: study } = (await answer.json()) as { id: string };
  const first = await uploadNewPack(node, sampleRecord({ title, study }), files);
  await uploadNewPack(node, sampleRecord({ title: 'Newer', supersedes: first.id }), newer);
}

/** The body of an error response. */
export interface ProblemBody {
  status: number;
  code: string;
  detail: string;
  errors?: { path: string; message: string }[];
  [member: string]: unknown;
}

/** Requires that a response is a problem, and returns its body. */
export async function problemOf(response: Response | Promise<Response>): Promise<ProblemBody> {
  const answer = await response;
  expect(answer.headers.get('Content-Type')).toMatch(/^application\/problem\+json/);
  return (await answer.json()) as ProblemBody;
}
