import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestNode } from '../node.ts';
import { problemOf } from './packs.ts';

/** Returns the number of the ledger's entries. */
export const ledgerSize = async (node: TestNode) =>
  ((await (await node.fetch('/api/ledger?limit=1')).json()) as { total: number }).total;
export const temporaryFiles = (node: TestNode) => readdir(join(node.dataFolder, 'tmp'));

/** Sends a request that must be refused, and expects that nothing is left of it. */
export async function refused(node: TestNode, send: () => Promise<Response>) {
  const before = await ledgerSize(node);
  const problem = await problemOf(send());
  expect(await temporaryFiles(node)).toEqual([]);
  expect(await ledgerSize(node)).toBe(before);
  return problem;
}

/** Sends a pack in the body. */
export const post = (node: TestNode, body: BodyInit, headers: Record<string, string>) =>
  node.fetchAsOwner('/api/packs', { method: 'POST', body, headers });

/** A multipart body written by hand, each part with its own headers. */
export function multipart(...parts: [headers: string, content: string | Buffer][]): Buffer<ArrayBuffer> {
  const pieces = parts.flatMap(([headers, content]) => [`--b\r\n${headers}\r\n\r\n`, content, '\r\n']);
  return Buffer.concat([...pieces, '--b--\r\n'].map((piece) => Buffer.from(piece as string)));
}
export const MULTIPART = { 'Content-Type': 'multipart/form-data; boundary=b' };
export const RECORD = 'Content-Disposition: form-data; name="record"';
export const fileHeaders = (path: string, type?: string) =>
  `Content-Disposition: form-data; name="files"; filename="${path}"${type ? `\r\nContent-Type: ${type}` : ''}`;
