import { createHash } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { appendEntry, readHead } from '../../server/ledger/appendEntry.ts';
import {
  entryText,
  fingerprintOf,
  fingerprintOver,
  hashOf,
  unsealedText,
} from '../../server/ledger/entry.ts';
import { GrowingTree, leafHash, parentHash, rootAt } from '../../server/ledger/tree.ts';
import { type RecordedSubjects, verifyLedger } from '../../server/ledger/verifyLedger.ts';
import { entryAt, iterateEntries } from '../../server/store/sqlite/node/ledger.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { NO_HASH } from '../../shared/ledger/ledger.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

const open: Store[] = [];

/** Opens a store with a ledger of `size` entries; each records the text of its number. */
async function ledgerOf(size: number): Promise<Store> {
  const store = await openStore({ folder: await temporaryFolder(), clock: systemClock });
  open.push(store);
  await store.write((database) => {
    for (let seq = 1; seq <= size; seq += 1) {
      appendEntry(database, {
        type: 'node.created',
        subject: `n${seq}`,
        digest: digestOf(seq),
        at: '2026-11-20T10:14:21.592Z',
      });
    }
  });
  return store;
}

const digestOf = (seq: number) => createHash('sha256').update(String(seq)).digest('hex');

function subjects(count: number, digest = digestOf): RecordedSubjects[] {
  return [
    {
      types: ['node.created'],
      digests: () =>
        Array.from({ length: count }, (_, index) => ({ seq: index + 1, digest: digest(index + 1) })),
    },
  ];
}

/** Changes the database from outside, as someone with access to the file could. */
function tamper(store: Store, sql: string): void {
  const database = new Database(join(store.folder, 'strongroom.db'));
  database.exec(`DROP TRIGGER ledger_refuses_update; DROP TRIGGER ledger_refuses_delete; ${sql}`);
  database.close();
}

/** Computes the root by the recursive definition of RFC 6962, section 2.1, as an independent check. */
function rootByDefinition(leaves: Buffer[]): Buffer {
  if (leaves.length === 1) return leaves[0] as Buffer;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return parentHash(rootByDefinition(leaves.slice(0, split)), rootByDefinition(leaves.slice(split)));
}

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  await closeTestNodes();
});

describe('an entry', () => {
  const entry = {
    seq: 7,
    at: '2026-11-20T10:14:21.592Z',
    type: 'node.created',
    subject: 'a"\\é\u0007\u{1f600}',
    digest: digestOf(7),
    prev: NO_HASH,
    hash: digestOf(8),
  } as const;

  test('is hashed as canonical JSON without its own hash', () => {
    const { hash: _hash, ...unsealed } = entry;
    expect(unsealedText(entry)).toBe(canonicalText(unsealed));
    expect(entryText(entry)).toBe(canonicalText(entry));
    expect(hashOf(entry)).toBe(createHash('sha256').update(canonicalText(unsealed)).digest('hex'));
  });

  test('is linked to the previous entry: seq has no gaps, prev is the previous hash, 64 zeros for the first', async () => {
    const store = await ledgerOf(3);
    const entries = [...iterateEntries(store.read)];
    expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(entries.map(({ prev }) => prev)).toEqual([NO_HASH, entries[0]?.hash, entries[1]?.hash]);
  });

  test('can be neither changed nor deleted, because the database refuses', async () => {
    const store = await ledgerOf(1);
    await expect(store.write((db) => void db.exec("UPDATE ledger SET subject = 'x'"))).rejects.toThrow(
      'append-only',
    );
    await expect(store.write((db) => void db.exec('DELETE FROM ledger'))).rejects.toThrow('append-only');
    const replacing =
      "INSERT OR REPLACE INTO ledger SELECT seq, at, type, 'x', digest, prev, hash FROM ledger";
    await expect(store.write((db) => void db.exec(replacing))).rejects.toThrow('append-only');
    expect(entryAt(store.read, 1)?.subject).toBe('n1');
  });
});

test('a fingerprint over named members equals that of an object with only these members', () => {
  const names = ['z', 'a', '10', '9', '\u00e9', '\u{1f600}', '\ue000', '__proto__x', 'quo"te'] as const;
  const values = fc.dictionary(fc.constantFrom(...names), fc.jsonValue(), {
    minKeys: 1,
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(values, (value) => {
      const over = fingerprintOver(Object.keys(value).reverse());
      expect(over({ ...value, other: 1 })).toBe(fingerprintOf(value));
    }),
  );
  expect(() => fingerprintOver(['a'])({ a: '\ud800' })).toThrow('surrogate');
  expect(() => fingerprintOver(['a'])({ a: undefined })).toThrow('cannot be written as JSON');
});

describe('the Merkle tree', () => {
  test('of the leaves a, b, c has the root of RFC 6962', () => {
    const tree = new GrowingTree();
    for (const leaf of ['a', 'b', 'c']) tree.append(leafHash(leaf));
    expect(tree.root().toString('base64')).toBe('NmQuc8JUCrEh46a/lUWwokmCzYMOsT080Z3jzmwCHsE=');
    expect(new GrowingTree().root().toString('hex')).toBe(createHash('sha256').digest('hex'));
  });

  test('has the root of the definition at every size, with and without tiles', async () => {
    const store = await ledgerOf(600);
    const leaves = [...iterateEntries(store.read)].map((entry) => leafHash(entryText(entry)));
    for (const size of [1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 513, 600]) {
      expect(rootAt(store.read, size).toString('hex'), `size ${size}`).toBe(
        rootByDefinition(leaves.slice(0, size)).toString('hex'),
      );
    }
    expect(readHead(store.read)).toMatchObject({ seq: 600, root: rootByDefinition(leaves).toString('hex') });
  });
});

describe('verification', () => {
  test('finds no problem in a valid ledger, and returns its head', async () => {
    const store = await ledgerOf(300);
    const { seq, hash, root } = readHead(store.read);
    expect(verifyLedger(store.read, subjects(300))).toEqual({ size: seq, head: hash, root, problems: [] });
  });

  test.each([
    ['a changed subject', "UPDATE ledger SET subject = 'x' WHERE seq = 5", { seq: 5, problem: 'wrong_hash' }],
    [
      'a changed time',
      "UPDATE ledger SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 5",
      { seq: 5, problem: 'wrong_hash' },
    ],
    [
      'a changed hash',
      `UPDATE ledger SET hash = '${digestOf(0)}' WHERE seq = 5`,
      { seq: 6, problem: 'wrong_prev' },
    ],
    ['a removed entry', 'DELETE FROM ledger WHERE seq = 5', { seq: 6, problem: 'missing_entry' }],
    ['a changed tile', 'UPDATE tiles SET hash = zeroblob(32)', { seq: 256, problem: 'wrong_root' }],
    ['a removed tile', 'DELETE FROM tiles', { seq: 256, problem: 'wrong_root' }],
  ])('finds %s', async (_what, sql, found) => {
    const store = await ledgerOf(300);
    tamper(store, sql);
    const { problems } = verifyLedger(store.read, subjects(300));
    expect(problems).toContainEqual(expect.objectContaining(found));
  });

  test('finds an entry that was rewritten with its hash, by the link of the next entry', async () => {
    const store = await ledgerOf(10);
    const entry = entryAt(store.read, 5);
    if (!entry) throw new Error('There is an entry 5.');
    const forged = { ...entry, subject: 'forged' };
    tamper(store, `UPDATE ledger SET subject = 'forged', hash = '${hashOf(forged)}' WHERE seq = 5`);
    expect(verifyLedger(store.read, subjects(10)).problems).toEqual([
      expect.objectContaining({ seq: 6, problem: 'wrong_prev' }),
    ]);
  });

  test('finds a subject whose digest differs from the recorded one, and a missing subject', async () => {
    const store = await ledgerOf(10);
    const changed = verifyLedger(
      store.read,
      subjects(10, (seq) => (seq === 4 ? digestOf(0) : digestOf(seq))),
    );
    expect(changed.problems).toEqual([
      { seq: 4, problem: 'wrong_digest', subject: 'n4', expected: digestOf(4), actual: digestOf(0) },
    ]);
    expect(verifyLedger(store.read, subjects(9)).problems).toEqual([
      expect.objectContaining({ seq: 10, problem: 'missing_subject' }),
    ]);
  });

  test('finds a row that refers to a missing ledger entry', async () => {
    const store = await ledgerOf(10);
    expect(verifyLedger(store.read, subjects(11)).problems).toEqual([
      expect.objectContaining({ seq: 11, problem: 'missing_entry' }),
    ]);
  });
});
