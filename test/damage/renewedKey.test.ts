import { createPublicKey, verify } from 'node:crypto';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type KeyChange, renewalText } from '../../shared/ledger/ledger.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { copyOf, keyOf, type List, run } from './support.ts';

afterEach(closeTestNodes);

/** A closed archive of one pack, and its checkpoint. */
async function closedArchive(): Promise<{ folder: string; checkpoint: string }> {
  const node = await openTestNode();
  await uploadNewPack(node);
  const checkpoint = await (await node.fetch('/api/ledger/checkpoint')).text();
  await node.close();
  return { folder: await copyOf(node.dataFolder), checkpoint };
}

async function newestChange(folder: string): Promise<KeyChange | undefined> {
  const node = await openTestNode({ dataFolder: folder });
  const { items } = (await (await node.fetch('/api/ledger/keys')).json()) as List<KeyChange>;
  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  expect(dump.match(/^\{"kind":"key_change"/gm)?.length ?? 0).toBe(items.length);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  await node.close();
  return items[0];
}

test('renewing a key records an entry that is signed by the old key', async () => {
  const { folder, checkpoint } = await closedArchive();
  const oldKey = await keyOf(folder);
  const renewed = await run('key', '--renew', '--data', folder);
  expect(renewed.code, renewed.output).toBe(0);
  const change = await newestChange(folder);
  const newKey = await keyOf(folder);
  expect(change).toMatchObject({ type: 'key.renewed', ledger_entry: 2, old_key: oldKey, new_key: newKey });
  const raw = Buffer.from(oldKey.split(/\+/).slice(2).join('+'), 'base64').subarray(1);
  const publicKey = createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]),
    format: 'der',
    type: 'spki',
  });
  const signature = change?.type === 'key.renewed' ? (change.signature ?? '') : '';
  const text = Buffer.from(renewalText(oldKey, newKey));
  expect(verify(null, text, publicKey, Buffer.from(signature, 'base64'))).toBe(true);

  const file = join(await temporaryFolder(), 'old.checkpoint');
  await writeFile(file, checkpoint);
  const { code, output } = await run('ledger', 'verify', '--data', folder, '--checkpoint', file);
  expect([code, output]).toEqual([
    0,
    expect.stringContaining(
      `Nothing was rewritten since the checkpoint over 1 entry. It was signed by the key ${oldKey}, which entry 2 replaced.`,
    ),
  ]);
});

test('a lost or replaced key is renewed without a signature, and only on request', async () => {
  const { folder } = await closedArchive();
  const lost = await copyOf(folder);
  await rm(join(lost, 'key'));
  const replaced = await copyOf(folder);
  await cp(join((await closedArchive()).folder, 'key'), join(replaced, 'key'));
  for (const each of [lost, replaced]) {
    await expect(openTestNode({ dataFolder: each })).rejects.toThrow('key --renew');
    const renewed = await run('key', '--renew', '--data', each);
    expect(renewed).toMatchObject({
      code: 0,
      output: expect.stringContaining('did not sign the change') as string,
    });
    expect(await newestChange(each)).toMatchObject({ type: 'key.renewed', signature: null });
  }
});

test('key changes are covered by the ledger and restored from a dump', async () => {
  const { folder } = await closedArchive();
  await run('key', '--renew', '--data', folder);
  const node = await openTestNode({ dataFolder: folder });
  const dump = join(await temporaryFolder(), 'dump.jsonl');
  await writeFile(dump, await (await node.fetch('/api/dump.jsonl')).text());
  const { items } = (await (await node.fetch('/api/ledger/keys')).json()) as List<KeyChange>;
  const restored = join(await temporaryFolder(), 'restored');
  expect(await run('import', dump, '--data', restored)).toMatchObject({ code: 0 });
  const again = await openTestNode({ dataFolder: restored });
  expect(((await (await again.fetch('/api/ledger/keys')).json()) as List<KeyChange>).items).toEqual(items);
});
