import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Finding } from '../../server/verification/report.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(closeTestNodes);

/** Writes the proof of the first entry, with the entry beside it, and returns its path and the key of the node. */
async function writtenProof(): Promise<{ file: string; entryFile: string; proof: string; key: string }> {
  const node = await openTestNode();
  await uploadNewPack(node);
  const text = async (path: string) => (await node.fetch(path)).text();
  const folder = await temporaryFolder();
  const [file, entryFile] = [join(folder, 'x.tlog-proof'), join(folder, 'x.entry.json')];
  const proof = await text('/api/ledger/proof?seq=1&format=tlog-proof');
  const { items } = JSON.parse(await text('/api/ledger?from=1&limit=1')) as { items: object[] };
  await writeFile(file, proof);
  await writeFile(entryFile, canonicalText(items[0]));
  return { file, entryFile, proof, key: (await text('/api/ledger/key')).trim() };
}

async function verify(...words: string[]): Promise<{ code: number | null; found: Finding }> {
  const { code, stdout } = await runHere(['verify', ...words, '--json']);
  return { code, found: JSON.parse(stdout.split('\n')[0] ?? '') as Finding };
}

test('a proof file is verified with the key, and without it is unsigned and says to give the key', async () => {
  const { file, key } = await writtenProof();
  expect(await verify(file, '--key', key)).toMatchObject({ code: 0, found: { verdict: 'intact' } });
  const { code, found } = await verify(file);
  expect([code, found.verdict]).toEqual([3, 'unsigned']);
  expect(found.detail).toBe(
    'Nothing says whose checkpoint it is: give the verifier key of the node with --key.',
  );
});

test('without the key, an altered proof is altered all the same', async () => {
  const { file, entryFile, proof } = await writtenProof();
  await writeFile(entryFile, '{}');
  expect(await verify(file)).toMatchObject({ code: 1, found: { verdict: 'altered' } });
  // Not even the first line is that of a proof. The name says what it should be.
  await writeFile(file, proof.replace('@v1', '@v9'));
  const { code, found } = await verify(file);
  expect([code, found.verdict]).toEqual([1, 'altered']);
});

test('a proof file without its entry says where the entry must be', async () => {
  const { key, proof } = await writtenProof();
  const file = join(await temporaryFolder(), 'alone.tlog-proof');
  await writeFile(file, proof);
  for (const words of [[file], [file, '--key', key]]) {
    const { code, found } = await verify(...words);
    expect([code, found.verdict]).toEqual([1, 'unknown']);
    expect(found.detail).toContain('alone.entry.json');
  }
});

test('a checkpoint without the key says to give the key', async () => {
  const { file, proof } = await writtenProof();
  await writeFile(file.replace('x.tlog-proof', 'checkpoint'), proof.split('\n\n').slice(1).join('\n\n'));
  const { found } = await verify(file.replace('x.tlog-proof', 'checkpoint'));
  expect(found).toMatchObject({ verdict: 'unknown', detail: expect.stringContaining('--key') as string });
});
