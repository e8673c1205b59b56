import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { Audit, AuditResult, Damage, Fixity } from '../../shared/ledger/fixity.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import type { TestNode } from '../support/node.ts';

/** Returns the path of a blob's file in a data folder. */
export function fileOf(folder: string, sha256: string): string {
  return join(folder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

/** Overwrites the file of a blob, as a failing disk or a user would. */
export async function overwrite(folder: string, sha256: string, bytes: string): Promise<void> {
  await mkdir(dirname(fileOf(folder, sha256)), { recursive: true });
  await writeFile(fileOf(folder, sha256), bytes);
}

async function read<Body>(node: TestNode, path: string): Promise<Body> {
  return (await (await node.fetchAsOwner(path)).json()) as Body;
}

/** Runs a full audit and returns its result. */
export async function audit(node: TestNode): Promise<AuditResult> {
  const answer = await node.fetchAsOwner('/manage/audits?wait=true', { method: 'POST' });
  expect(answer.status).toBe(200);
  return (await answer.json()) as AuditResult;
}

export async function fixityOf(node: TestNode): Promise<Fixity> {
  return (await read<{ fixity: Fixity }>(node, '/api/status')).fixity;
}

export async function damages(node: TestNode): Promise<Damage[]> {
  return (await read<{ items: Damage[] }>(node, '/api/damages')).items;
}

export async function audits(node: TestNode): Promise<Audit[]> {
  return (await read<{ items: Audit[] }>(node, '/manage/audits')).items;
}

/** Verifies the ledger and returns its entries about objects, oldest first. */
export async function objectEntries(node: TestNode): Promise<LedgerEntry[]> {
  expect(await read(node, '/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
  return listObjectEntries(node);
}

/** Returns the entries about objects, oldest first. */
export async function listObjectEntries(node: TestNode): Promise<LedgerEntry[]> {
  const { items } = await read<{ items: LedgerEntry[] }>(node, '/api/ledger?limit=500');
  return items.filter(({ type }) => type.startsWith('object.'));
}
