import { expect } from '@playwright/test';
import type { Pack, PackRecordInput } from '../../../shared/archive/pack.ts';
import { packForm, sampleRecord } from '../../support/archive/packs.ts';
import type { NodeProcess } from './nodeProcess.ts';

/** Uploads a pack of one small file as the owner, by HTTP. */
export async function publishPack(
  node: Pick<NodeProcess, 'url' | 'token'>,
  changes: Partial<PackRecordInput>,
): Promise<Pack> {
  const response = await fetch(new URL('/api/packs', node.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${node.token}` },
    body: packForm(sampleRecord(changes), { 'data.txt': `the data of ${changes.title}` }),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Pack;
}
