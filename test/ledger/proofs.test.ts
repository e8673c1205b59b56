import { createHash } from 'node:crypto';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  nodeKeyOf,
  openCheckpoint,
  privateKeyOfSeed,
  signCheckpoint,
} from '../../server/ledger/checkpoint.ts';
import {
  consistencyPath,
  inclusionPath,
  isConsistent,
  rootFromInclusion,
} from '../../server/ledger/prove.ts';
import { GrowingTree, leafHash } from '../../server/ledger/tree.ts';
import type { ConsistencyProof, InclusionProof } from '../../shared/ledger/ledger.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

afterEach(closeTestNodes);

/** A tree in memory; roots are computed by the definition of RFC 6962, section 2.1. */
const leaves = Array.from({ length: 40 }, (_, index) => leafHash(String(index)));
function rangeRoot(from: number, to: number): Buffer {
  const tree = new GrowingTree();
  for (const leaf of leaves.slice(from, to)) tree.append(leaf);
  return tree.root();
}

describe('proofs (RFC 6962, section 2.1)', () => {
  test('the audit path of every leaf leads to the root of its tree, for trees of up to 40 leaves', () => {
    for (let size = 1; size <= leaves.length; size += 1) {
      for (let index = 0; index < size; index += 1) {
        const path = inclusionPath(index, size, rangeRoot);
        const leaf = leaves[index] as Buffer;
        expect(rootFromInclusion(leaf, index, size, path)?.equals(rangeRoot(0, size))).toBe(true);
        expect(
          rootFromInclusion(leaves[(index + 1) % 40] as Buffer, index, size, path)?.equals(
            rangeRoot(0, size),
          ),
        ).toBe(false);
        expect(rootFromInclusion(leaf, index, size, [...path, leaf])).toBeUndefined();
      }
    }
  });

  test('every older tree is proved to be a prefix of every newer one, and a forged one is not', () => {
    for (let size = 1; size <= leaves.length; size += 1) {
      for (let older = 1; older <= size; older += 1) {
        const proof = consistencyPath(older, size, rangeRoot);
        const newer = { size, root: rangeRoot(0, size) };
        expect(
          isConsistent({ size: older, root: rangeRoot(0, older) }, newer, proof),
          `${older} in ${size}`,
        ).toBe(true);
        expect(isConsistent({ size: older, root: leafHash('forged') }, newer, proof)).toBe(false);
        expect(
          isConsistent({ size: older, root: rangeRoot(0, older) }, { size, root: leafHash('forged') }, proof),
        ).toBe(false);
      }
    }
  });
});

describe('checkpoints (C2SP tlog-checkpoint)', () => {
  const seed = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
  const key = nodeKeyOf('node.local/strongroom', privateKeyOfSeed(seed));
  const tree = new GrowingTree();
  for (const leaf of ['a', 'b', 'c']) tree.append(leafHash(leaf));
  const note = signCheckpoint(key, { size: 3, root: tree.root() });

  test('match the published test vector byte for byte', () => {
    expect(key.verifierKey.split('+').slice(0, 2)).toEqual(['node.local/strongroom', '22ae147e']);
    expect(Buffer.byteLength(note)).toBe(189);
    expect(createHash('sha256').update(note).digest('hex')).toBe(
      '95dbce205ddeb88375ab88d9ceb11c560cafb478c19383f650d15f581de5c857',
    );
  });

  test('are verified with the verifier key, and refused if altered or malformed', () => {
    expect(openCheckpoint(note, key.verifierKey)).toEqual({ origin: key.name, size: 3, root: tree.root() });
    expect(() => openCheckpoint(note.replace('\n3\n', '\n4\n'), key.verifierKey)).toThrow('altered');
    const other = nodeKeyOf('node.local/strongroom', privateKeyOfSeed(Buffer.alloc(32, 7)));
    expect(() => openCheckpoint(note, other.verifierKey)).toThrow('has not signed');
    for (const broken of ['', '\n\n', note.slice(0, -1), note.slice(0, 80), `x${note}`]) {
      expect(() => openCheckpoint(broken, key.verifierKey)).toThrow();
    }
    for (const broken of [
      '',
      'a+b',
      'node.local/strongroom+22ae147e+AAAA',
      key.verifierKey.replace('22ae', '22af'),
    ]) {
      expect(() => openCheckpoint(note, broken)).toThrow('malformed');
    }
  });
});

async function grow(node: TestNode, entries: number): Promise<void> {
  const { total } = (await (await node.fetch('/api/ledger?limit=1')).json()) as { total: number };
  for (let added = 1; added <= entries; added += 1) {
    const response = await node.sendJson('POST', '/api/nodes', {
      path: `n${total + added}`,
      title: 'A node',
    });
    expect(response.status).toBe(201);
  }
}

async function json<Body>(response: Response): Promise<Body> {
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

const bytes = (base64: string) => Buffer.from(base64, 'base64');

describe('a node’s proofs can be verified with published data alone', () => {
  test('an entry and its proof lead to the root of the checkpoint', async () => {
    const node = await openTestNode();
    await grow(node, 7);
    const verifierKey = (await (await node.fetch('/api/ledger/key')).text()).trim();
    const checkpoint = openCheckpoint(await (await node.fetch('/api/ledger/checkpoint')).text(), verifierKey);
    const { items } = await json<{ items: { seq: number }[] }>(await node.fetch('/api/ledger'));
    for (const entry of items) {
      const proof = await json<InclusionProof>(
        await node.fetch(`/api/ledger/proof?seq=${entry.seq}&size=${checkpoint.size}`),
      );
      const leaf = leafHash(canonicalText(entry));
      expect(proof).toMatchObject({ leaf: leaf.toString('base64'), index: entry.seq - 1, size: 7 });
      expect(rootFromInclusion(leaf, proof.index, proof.size, proof.hashes.map(bytes))).toEqual(
        checkpoint.root,
      );
    }
  });

  test('a proof file includes its checkpoint', async () => {
    const node = await openTestNode();
    await grow(node, 5);
    const response = await node.fetch('/api/ledger/proof?seq=2&format=tlog-proof');
    expect(response.headers.get('Content-Type')).toMatch('text/plain');
    const [head = '', checkpoint = ''] = (await response.text()).split(/\n\n(.*)/s);
    const [format, index, ...hashes] = head.split('\n');
    expect([format, index]).toEqual(['c2sp.org/tlog-proof@v1', 'index 1']);
    const verifierKey = (await (await node.fetch('/api/ledger/key')).text()).trim();
    const { size, root } = openCheckpoint(checkpoint, verifierKey);
    const { items } = await json<{ items: object[] }>(await node.fetch('/api/ledger?from=2&limit=1'));
    expect(rootFromInclusion(leafHash(canonicalText(items[0])), 1, size, hashes.map(bytes))).toEqual(root);
  });

  test('the ledger is proved to be consistent with an earlier checkpoint', async () => {
    const node = await openTestNode();
    await grow(node, 3);
    const verifierKey = (await (await node.fetch('/api/ledger/key')).text()).trim();
    const earlier = openCheckpoint(await (await node.fetch('/api/ledger/checkpoint')).text(), verifierKey);
    await grow(node, 6);
    const newest = openCheckpoint(await (await node.fetch('/api/ledger/checkpoint')).text(), verifierKey);
    const proof = await json<ConsistencyProof>(
      await node.fetch(`/api/ledger/consistency?from=${earlier.size}&to=${newest.size}`),
    );
    expect(isConsistent(earlier, newest, proof.hashes.map(bytes))).toBe(true);
  });

  test.each([
    ['/api/ledger/proof', 'invalid_parameter'],
    ['/api/ledger/proof?seq=0', 'invalid_parameter'],
    ['/api/ledger/proof?seq=3', 'invalid_parameter'],
    ['/api/ledger/proof?seq=2&size=1', 'invalid_parameter'],
    ['/api/ledger/proof?seq=1&size=9', 'invalid_parameter'],
    ['/api/ledger/proof?seq=1&format=xml', 'invalid_format'],
    ['/api/ledger/consistency?from=2&to=1', 'invalid_parameter'],
    ['/api/ledger/consistency?from=1&to=9', 'invalid_parameter'],
  ])('%s is 400 %s', async (path, code) => {
    const node = await openTestNode();
    await grow(node, 2);
    const response = await node.fetch(path);
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, code]);
  });

  test('the key is created once, readable only by the owner, and required on the next start', async () => {
    const node = await openTestNode();
    const key = await (await node.fetch('/api/ledger/key')).text();
    const file = join(node.dataFolder, 'key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await node.close();
    const again = await openTestNode({ dataFolder: node.dataFolder });
    expect(await (await again.fetch('/api/ledger/key')).text()).toBe(key);
    await again.close();
    const pem = await readFile(file, 'utf8');
    await rm(file);
    await expect(openTestNode({ dataFolder: node.dataFolder })).rejects.toThrow('is missing');
    await writeFile(file, privateKeyOfSeed(Buffer.alloc(32, 1)).export({ format: 'pem', type: 'pkcs8' }));
    await expect(openTestNode({ dataFolder: node.dataFolder })).rejects.toThrow(
      'not the key of this archive',
    );
    await writeFile(file, pem);
    await openTestNode({ dataFolder: node.dataFolder });
  });
});
