import { createHash, createPrivateKey } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type NodeKey,
  nodeCrypto,
  nodeKeyOf,
  privateKeyOfSeed,
  signCheckpoint,
  signNote,
} from '../../server/ledger/checkpoint.ts';
import { entryText, fingerprintOf, hashOf } from '../../server/ledger/entry.ts';
import { signRenewal } from '../../server/ledger/nodeKey.ts';
import { consistencyPath } from '../../server/ledger/prove.ts';
import { EMPTY_ROOT, GrowingTree, leafHash } from '../../server/ledger/tree.ts';
import { type LedgerEntry, NO_HASH } from '../../shared/ledger/ledger.ts';
import {
  commitmentOf,
  observationText,
  REQUEST_HEADER,
  requestDigest,
  STATEMENT_HEADER,
} from '../../shared/proof/evidence/observation.ts';
import { keyOf } from '../evidence/signingOwner.ts';
import { openTestNode } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import {
  altered,
  indexOf,
  type Line,
  parseLines,
  type Recorded,
  refusal,
  useValidDump,
  withRecord,
  withTrailer,
} from './dumpLines.ts';
import { CHANGES } from './lineChanges.ts';

const PEER_ID = `pe_${'0'.repeat(20)}`;
const DIGEST = 'f'.repeat(64);

const valid = useValidDump();
/** An import into a new folder, of which nothing is left. */
const imported = (dump: string) => refusal({ folder: valid.folder }, dump);

describe('verify and import refuse a dump with one changed line and name the line', () => {
  test.each(CHANGES)('a %s (%i) %s', async (kind, at, _what, change, message) => {
    const forged = altered(valid.lines, kind, at, change);
    const [dump, trailer] = [withTrailer(forged), forged.at(-1) as Line];
    const whole = JSON.parse(dump.trimEnd().split('\n').at(-1) ?? '') as Line;
    const { line, sentence } = await refusal(
      valid,
      kind === 'trailer'
        ? dump.replace(JSON.stringify(whole), JSON.stringify({ ...whole, counts: trailer.counts }))
        : dump,
    );
    expect(sentence).toContain(message);
    if (kind !== 'trailer') {
      expect(sentence).toMatch(/^line \d+: [^\n]*\.$/);
      expect(line).toBe(indexOf(valid.lines, kind, at) + 1);
    }
  });

  test('every kind of line is tested', () => {
    expect(new Set(CHANGES.map(([kind]) => kind))).toEqual(new Set(valid.lines.map(({ kind }) => kind)));
  });

  test.each(['node', 'comment', 'event', 'source_revision', 'retrieval_batch', 'object_damage'])(
    'verify and import refuse a changed %s whose entry and all later entries were rehashed',
    async (kind) => {
      const at = indexOf(valid.lines, kind, 0);
      const seq = Number(valid.lines[at]?.ledger_entry);
      let prev = NO_HASH;
      const forged = valid.lines.map((line) => {
        if (line.kind !== 'entry') return line;
        const { kind: _kind, hash: _hash, ...entry } = line as unknown as LedgerEntry & { kind: string };
        const unhashed = { ...entry, prev, digest: entry.seq === seq ? fingerprintOf({}) : entry.digest };
        prev = hashOf(unhashed);
        return { kind: 'entry', ...unhashed, hash: prev };
      });
      expect((await imported(withTrailer(forged))).sentence).toContain(
        'not those that its checkpoint was signed over',
      );
    },
  );
});

const KINDS = [
  'entry',
  'node',
  'study',
  'study_status',
  'pack',
  'flag',
  'pack_deposit',
  'comment',
  'source',
  'source_revision',
  'round',
  'retrieval_batch',
  'retrieval',
  'event',
  'object_damage',
  'object_restoration',
  'object_withheld',
  'object_shown',
  'object_released',
];

describe('verify and import refuse a dump in which', () => {
  test.each(KINDS)('a %s is missing', async (kind) => {
    const at = indexOf(valid.lines, kind, 0);
    const { sentence } = await refusal(
      valid,
      withTrailer(valid.lines.filter((_line, index) => index !== at)),
    );
    expect(sentence).toMatch(/no earlier line|missing|covered by no entry/);
  });

  test.each([...KINDS, 'event_noise'])('a %s is duplicated', async (kind) => {
    const at = indexOf(valid.lines, kind, 0);
    const twice = [...valid.lines.slice(0, at + 1), valid.lines[at] as Line, ...valid.lines.slice(at + 1)];
    const { line, sentence } = await refusal(valid, withTrailer(twice));
    expect([line, sentence]).toEqual([at + 2, expect.stringContaining('is a duplicate')]);
  });

  test.each(['node', 'pack', 'comment', 'source', 'round', 'retrieval', 'event'])(
    'two lines of the kind %s are swapped',
    async (kind) => {
      const at = indexOf(valid.lines, kind, 0);
      const swapped = [...valid.lines];
      [swapped[at], swapped[at + 1]] = [valid.lines[at + 1] as Line, valid.lines[at] as Line];
      expect((await refusal(valid, withTrailer(swapped))).line).toBeGreaterThan(at);
    },
  );

  test.each([
    ['a line of an unknown kind', { kind: 'secret' }, 'no line of the kind "secret"'],
    ['another header', { kind: 'header' }, 'no line of the kind "header"'],
  ])('%s is inserted', async (_what, extra, message) => {
    const { line, sentence } = await imported(
      withTrailer([...valid.lines.slice(0, 3), extra, ...valid.lines.slice(3)]),
    );
    expect([line, sentence]).toEqual([4, expect.stringContaining(message)]);
  });

  test('an object has a duplicate key or a lone surrogate', async () => {
    const at = indexOf(valid.lines, 'comment', 0);
    const forge = (replace: (line: string) => string) => {
      const lines = valid.lines.slice(0, -1).map((line) => JSON.stringify(line));
      lines[at] = replace(lines[at] ?? '');
      const body = `${lines.join('\n')}\n`;
      return `${body}${JSON.stringify({ ...valid.lines.at(-1), sha256: createHash('sha256').update(body).digest('hex') })}\n`;
    };
    const twice = await refusal(
      valid,
      forge((line) => line.replace('"author"', '"author":"Eve","author"')),
    );
    expect(twice).toEqual({ line: at + 1, sentence: expect.stringContaining('twice in one object') });
    const half = await refusal(
      valid,
      forge((line) => line.replace('"Ada"', '"\\ud800"')),
    );
    expect(half).toEqual({ line: at + 1, sentence: expect.stringContaining('surrogate') });
  });

  test('the header claims another format', async () => {
    const [header, ...others] = valid.lines;
    const other = [{ ...header, format: 1 } as Line, ...others];
    expect((await imported(withTrailer(other))).sentence).toContain('has format 1; this Strongroom reads 2');
  });
});

test('no owner of a key can say that another key signed it', async () => {
  const node = await openTestNode();
  await node.close();
  expect(await runHere(['key', '--renew', '--data', node.dataFolder])).toMatchObject({ code: 0 });
  const again = await openTestNode({ dataFolder: node.dataFolder });
  const lines = parseLines(await (await again.fetch('/api/dump.jsonl')).text());
  const [header] = lines as [Line & { node: string }];
  const key = nodeKeyOf(header.node, createPrivateKey(await readFile(join(node.dataFolder, 'key'))));
  /** The only entry, and all that is made anew with the key for another record of it. */
  const signedWith = (signature: unknown) => {
    const tree = new GrowingTree();
    const forged = lines.map((line) => {
      const record = { ...(line.record as object), signature };
      if (line.kind === 'key_change') return { ...line, record };
      if (line.kind !== 'entry') return line;
      const { record: old } = lines[indexOf(lines, 'key_change', 0)] as Line & { record: object };
      const { kind: _kind, hash: _hash, ...entry } = line as unknown as LedgerEntry & { kind: string };
      const unhashed = { ...entry, digest: fingerprintOf({ ...old, signature }) };
      const whole = { ...unhashed, hash: hashOf(unhashed) };
      tree.append(leafHash(entryText(whole)));
      return { kind: 'entry', ...whole };
    });
    const checkpoint = signCheckpoint(key, { size: tree.size, root: tree.root() });
    return withTrailer(forged.map((line) => (line.kind === 'header' ? { ...line, checkpoint } : line)));
  };
  const { record } = lines[indexOf(lines, 'key_change', 0)] as Line & { record: { signature: string } };
  const file = join(node.dataFolder, 'forged.jsonl');
  const verdictOn = async (dump: string) => {
    await writeFile(file, dump);
    return (await runHere(['verify', file])).code;
  };
  // Unsigned, since nobody signed the trailer, and nothing is wrong.
  for (const signature of [record.signature, null]) expect(await verdictOn(signedWith(signature))).toBe(3);
  const stranger = nodeKeyOf('stranger', privateKeyOfSeed(new Uint8Array(32).fill(1)));
  const forged = signedWith(signRenewal(stranger.privateKey, stranger.verifierKey, key.verifierKey));
  expect(await verdictOn(forged)).toBe(1);
  expect((await imported(forged)).sentence).toContain('the old key has not signed the new one');
});

describe('no owner of a key can say of others what they have not signed', () => {
  const owner = keyOf('owner.example', 7);
  const peer = keyOf('peer.example', 11);
  /** Another key with the name of that peer. */
  const namesake = keyOf('peer.example', 12);
  const AT = '2026-11-29T12:00:00.000Z';

  /** Requires that a record is refused with a sentence; without one, that nothing is wrong, though nobody signed the trailer. */
  async function expectVerdict(recorded: Recorded, sentence?: string): Promise<void> {
    const dump = withRecord(owner, valid.lines, recorded);
    if (sentence !== undefined) {
      const at = parseLines(dump).findIndex(({ kind }) => kind === recorded.kind) + 1;
      const found = await refusal(valid, dump);
      expect(found).toEqual({ line: at, sentence: expect.stringContaining(sentence) as string });
      return;
    }
    const file = join(valid.folder, 'recorded.jsonl');
    await writeFile(file, dump);
    expect(await runHere(['verify', file])).toMatchObject({ code: 3, stderr: '' });
  }

  /** Signs two checkpoints, of which the larger one begins with other leaves unless `isSame`, and proves that. */
  function twoHistories(by: NodeKey, size: number, larger: number, isSame = false) {
    const leaves = Array.from({ length: larger }, (_, at) => leafHash(`entry ${at}`));
    const other = isSame ? leaves : leaves.with(1, leafHash('another entry'));
    const rootOf = (of: Buffer[]) => {
      const tree = new GrowingTree();
      for (const leaf of of) tree.append(leaf);
      return tree.root();
    };
    const hashes = consistencyPath(size, larger, (from, to) => rootOf(other.slice(from, to)));
    return {
      kept: signCheckpoint(by, { size, root: rootOf(leaves.slice(0, size)) }),
      seen: signCheckpoint(by, { size: larger, root: rootOf(other) }),
      proof: {
        from_root: rootOf(other.slice(0, size)).toString('base64'),
        hashes: hashes.map((hash) => hash.toString('base64')),
      },
    };
  }

  test('that a peer rewrote its ledger', async () => {
    const note = (by: NodeKey, size: number, root: number) =>
      signCheckpoint(by, { size, root: Buffer.alloc(32, root) });
    const keys = { key: peer.verifierKey, seen_key: peer.verifierKey };
    const notes = { kept: note(peer, 5, 1), seen: note(peer, 5, 2) };
    const said = (change: object, sentence?: string) => {
      const record = { at: AT, peer: PEER_ID, name: peer.name, ...keys, ...notes, ...change };
      return expectVerdict(
        { kind: 'peer_rewrite', type: 'peer.rewritten', subject: record.key, record },
        sentence,
      );
    };
    await said({});
    await said({ seen_key: namesake.verifierKey, seen: note(namesake, 5, 2) });
    // A larger checkpoint contradicts a smaller one only with the root that it begins with.
    for (const size of [4, 5]) {
      const { kept, seen, proof } = twoHistories(peer, size, 9);
      await said({ kept, seen, proof });
      const later = twoHistories(namesake, size, 9);
      await said({ kept, seen_key: namesake.verifierKey, seen: later.seen, proof: later.proof });
      await said({ kept, seen }, 'do not contradict each other');
      for (const change of [
        { hashes: proof.hashes.slice(1) },
        { hashes: [proof.from_root, ...proof.hashes.slice(1)] },
        { from_root: Buffer.alloc(32, 9).toString('base64') },
      ])
        await said({ kept, seen, proof: { ...proof, ...change } }, 'do not contradict each other');
      const honest = twoHistories(peer, size, 9, true);
      await said({ ...honest }, 'do not contradict each other');
      await said({ kept: seen, seen: kept }, 'do not contradict each other');
    }
    await said({ seen: note(peer, 9, 2) }, 'do not contradict each other');
    const empty = signCheckpoint(peer, { size: 0, root: EMPTY_ROOT });
    const anyRoot = { from_root: Buffer.alloc(32, 1).toString('base64'), hashes: [] };
    await said({ kept: empty, seen: note(peer, 9, 2), proof: anyRoot }, 'do not contradict each other');
    for (const which of ['kept', 'seen'] as const) {
      await said({ [which]: note(namesake, 5, 3) }, 'peer.example has not signed this checkpoint');
      await said({ [which]: notes[which].replace('\n5\n', '\n6\n') }, 'its signature does not match');
    }
    await said({ seen: notes.kept }, 'do not contradict each other');
    await said({ seen_key: owner.verifierKey, seen: note(owner, 5, 3) }, 'do not contradict each other');
    const elsewhere = signNote(peer, `other.example\n5\n${Buffer.alloc(32, 3).toString('base64')}\n`);
    await said({ seen: elsewhere }, 'of another log');
  });

  test('that a peer saw what this node did', async () => {
    const seen = valid.lines.filter(({ kind, sha256 }) => kind === 'event' && sha256 !== null);
    const [event, other] = seen as [Line, Line];
    const { url } = valid.lines.find(
      (line) => line.kind === 'source' && line.key === event.source_key,
    ) as Line;
    const { sha256: digest, observed_at } = event as Line & { sha256: string; observed_at: string };
    const [nonce, salt] = ['0'.repeat(32), '1'.repeat(64)];
    const text = { sha256: DIGEST, tool: 'html', blocks: 0, blocks_sha256: DIGEST };
    /** What the asking node fixed and asked for, what the peer signed then, and what the node says of it. */
    const said = (
      {
        asks = {},
        states = {},
        says = {},
        by = peer,
      }: Partial<Record<'asks' | 'states' | 'says', object>> & {
        by?: NodeKey;
      },
      sentence?: string,
    ) => {
      const asked = { nonce, url, requested_at: observed_at, ...asks };
      const commitment = commitmentOf(salt, digest, nodeCrypto);
      const [from, to] = [owner.verifierKey, peer.verifierKey];
      const request = signNote(owner, observationText(REQUEST_HEADER, { from, to, commitment, ...asked }));
      const got = { status: 200, error: null, sha256: digest, bytes: 3, text: null };
      const statement = {
        nonce: asked.nonce,
        url: asked.url,
        requested_at: observed_at,
        request: requestDigest(request, nodeCrypto),
        by: to,
        fetched_at: observed_at,
        ...got,
        ...states,
      };
      const record = {
        nonce,
        role: 'asked',
        at: observed_at,
        peer: { id: PEER_ID, name: 'The National Library', key: to },
        request,
        statement: signNote(by, observationText(STATEMENT_HEADER, statement)),
        event: event.id,
        salt,
        agreement: 'same_bytes',
        blocks: null,
        ...says,
      };
      return expectVerdict(
        { kind: 'signed_observation', type: 'observation.signed', subject: nonce, record },
        sentence,
      );
    };
    await said({});
    await said({ states: { sha256: DIGEST, text }, says: { agreement: 'same_text' } });
    await said({ states: { sha256: DIGEST }, says: { agreement: 'differs' } });
    const nothing = { sha256: null, bytes: null, status: 500, error: 'http_error' };
    await said({ states: nothing, says: { agreement: 'unreachable' } });

    await said({ by: namesake }, 'it does not prove');
    await said({ says: { salt: null } }, 'it does not prove');
    await said({ says: { event: 99 } }, 'no earlier line defines its event');
    await said({ asks: { url: 'https://elsewhere.example/' } }, 'asked about another event');
    await said({ asks: { nonce: '2'.repeat(32) } }, 'it does not prove');
    await said({ asks: { url: `${String(url)}\n` } }, 'it does not prove');
    await said({ states: { url: 'https://elsewhere.example\\@bank.example/' } }, 'it does not prove');
    await said({ says: { event: other.id } }, 'what the peer has not signed');
    await said({ asks: { commitment: DIGEST } }, 'had fixed another result');
    await said({ says: { salt: '2'.repeat(64) } }, 'had fixed another result');
    for (const agreement of ['same_text', 'differs', 'unreachable'])
      await said({ says: { agreement } }, 'signed something else');
    for (const agreement of ['same_bytes', 'unreachable'])
      await said({ states: { sha256: DIGEST }, says: { agreement } }, 'signed something else');
    await said({ states: nothing }, 'signed something else');
    await said({ states: { sha256: DIGEST }, says: { agreement: 'same_text' } }, 'got no text');
    await said({ states: { fetched_at: '2020-01-01T00:00:00.000Z' } }, 'within a minute');
    const own = { to: owner.verifierKey };
    await said(
      {
        asks: own,
        states: { by: own.to },
        by: owner,
        says: { peer: { id: PEER_ID, name: 'x', key: own.to } },
      },
      'that of the node itself',
    );
  });
});
