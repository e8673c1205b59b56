import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { nodeKeyOf, privateKeyOfSeed, signCheckpoint } from '../../server/ledger/checkpoint.ts';
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

test('the line of a proof or a checkpoint says of which entry, how much of which ledger, and by which key', async () => {
  const { file, proof, key } = await writtenProof();
  const checkpoint = file.replace('x.tlog-proof', 'checkpoint');
  const note = proof.slice(proof.indexOf('\n\n') + 2);
  await writeFile(checkpoint, note);
  const [origin = '', size, root] = note.split('\n');
  const head = `${size} entry of ${origin} with the root ${root}, signed by the key ${key}`;
  const ofProof = await runHere(['verify', file, '--key', key]);
  expect(ofProof.stdout).toContain(`${file}: entry 1, "pack.added pk_`);
  expect(ofProof.stdout).toContain(`, key ${key}; in the ledger with ${head}\n`);
  const ofCheckpoint = await runHere(['verify', checkpoint, '--key', key]);
  expect(ofCheckpoint.stdout).toContain(`${checkpoint}: ${head}\n`);
  // Of what the key did not sign, no such words are said.
  const other = key.replace(/.=?$/, 'AAA=');
  for (const each of [file, checkpoint])
    expect((await runHere(['verify', each, '--key', other])).stdout).not.toContain(head);
});

test('what is named like a checkpoint, a dump or a proof is only ever intact as that', async () => {
  const { file, proof, key } = await writtenProof();
  const at = (name: string) => join(dirname(file), name);
  const checkpoint = proof.slice(proof.indexOf('\n\n') + 2);
  await writeFile(at('other'), 'other');
  const list = `${createHash('sha256').update('other').digest('hex')}  other\n`;
  await writeFile(at('proof.checkpoint.entry.json'), await readFile(at('x.entry.json')));
  const forged = {
    'list.checkpoint': list,
    checkpoint: list,
    'list.jsonl': list,
    'note.jsonl': checkpoint,
    'proof.jsonl': proof,
    'proof.checkpoint': proof,
    'list.tlog-proof': list,
  };
  for (const [name, text] of Object.entries(forged)) {
    await writeFile(at(name), text);
    const { code, found } = await verify(at(name), '--key', key);
    expect([name, code, found.path, found.state]).toEqual([
      name,
      1,
      at(name),
      name.endsWith('.tlog-proof') ? 'changed' : 'unknown',
    ]);
  }
  await writeFile(at('list.sha256'), list);
  expect((await verify(at('list.sha256'))).code).toBe(0);
});

test('a dump under the name of a proof or a checkpoint is not intact', async () => {
  const node = await openTestNode();
  await uploadNewPack(node);
  const text = async (path: string) => (await node.fetch(path)).text();
  const key = (await text('/api/ledger/key')).trim();
  const folder = await temporaryFolder();
  for (const name of ['x.tlog-proof', 'x.checkpoint']) {
    await writeFile(join(folder, name), await text('/api/dump.jsonl'));
    expect([name, (await verify(join(folder, name), '--key', key)).code]).toEqual([name, 1]);
  }
});

test('a checkpoint of no entries has one root only', async () => {
  const signer = nodeKeyOf('a.example', privateKeyOfSeed(Buffer.alloc(32, 7)));
  const file = join(await temporaryFolder(), 'checkpoint');
  await writeFile(file, signCheckpoint(signer, { size: 0, root: createHash('sha256').digest() }));
  const { code, found } = await verify(file, '--key', signer.verifierKey);
  expect([code, found.detail]).toEqual([0, expect.stringMatching(/^0 entries of a\.example /)]);
  await writeFile(file, signCheckpoint(signer, { size: 0, root: Buffer.alloc(32, 1) }));
  expect((await verify(file, '--key', signer.verifierKey)).code).toBe(1);
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

test('an entry beside a proof is the same however its JSON is written, and another with one more member', async () => {
  const { file, entryFile, key } = await writtenProof();
  const json = await readFile(entryFile, 'utf8');
  const entry = JSON.parse(json) as Record<string, unknown>;
  const reversed = JSON.stringify(Object.fromEntries(Object.entries(entry).toReversed()));
  const written = [`${json}\n`, `\ufeff${json}\r\n`, JSON.stringify(entry, null, 2), reversed];
  for (const text of written) {
    await writeFile(entryFile, text);
    expect(await verify(file, '--key', key), text).toMatchObject({ code: 0, found: { verdict: 'intact' } });
  }
  const forged = [
    json.replace('{', '{"note":"x",'),
    json.replace('{', '{"type":"pack.removed",'),
    json.replace('"seq":1', '"seq":1.5'),
    json.replace('pack.added', 'pack.removed'),
  ];
  for (const text of forged) {
    await writeFile(entryFile, text);
    expect(await verify(file, '--key', key), text).toMatchObject({ code: 1, found: { verdict: 'altered' } });
  }
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
