import { openCheckpoint } from '../../server/ledger/checkpoint.ts';
import { isProvenBy } from '../../server/ledger/prove.ts';
import { RefusedRecordError } from '../../server/peers/mirror/mirrorTally.ts';
import { RemoteLog } from '../../server/peers/mirror/remoteLog.ts';
import type { PeerClient } from '../../server/peers/peerClient.ts';
import { packProvenanceSchema } from '../../shared/node/peer.ts';
import { type ForgedFormat, forgeBytes, pick, type Random, sha256 } from './forgery.ts';
import { canonical, noteContent, OtherKey, parsed } from './formats.ts';
import { forgeJson } from './json.ts';

type Files = ReadonlyMap<string, Buffer>;

/** The entries of a peer's ledger, as its tiles give them. The checkpoint was verified before. */
export function tilesFormat(genuine: readonly [Files, Files], key: string): ForgedFormat<Files> {
  const note = genuine[0].get('checkpoint')?.toString() ?? '';
  const checkpoint = { ...openCheckpoint(note, key), note, key };
  const leaves = (files: Files) =>
    leavesIn(files.get(`tile/entries/000.p/${checkpoint.size}`) ?? Buffer.alloc(0));
  return {
    name: 'mirror tiles',
    share: 2_000,
    genuine,
    forge: (one, other, random) => {
      const paths = [...one.keys()].filter((path) => path.startsWith('tile/entries/'));
      const path = pick(random, paths);
      const bytes = one.get(path) ?? Buffer.alloc(0);
      if (random() < 0.5) {
        const forged = forgeBytes(bytes, other.get(path) ?? bytes.subarray(1), random);
        return {
          ...forged,
          pointer: `${path} ${forged.pointer}`,
          input: new Map(one).set(path, forged.input),
        };
      }
      const { operation, pointer, input } = forgeLeaves(leavesIn(bytes), random);
      return { operation, pointer, input: new Map(one).set(path, tileOf(input)) };
    },
    verdict: async (files) => {
      const bytes = async (path: string) => files.get(path.slice('/log/'.length)) ?? Buffer.alloc(0);
      const log = new RemoteLog({ bytes } as unknown as PeerClient, checkpoint);
      try {
        for (let seq = 1; seq <= checkpoint.size; seq += 1) await log.entry(seq);
        return 'intact';
      } catch (error) {
        if (error instanceof RefusedRecordError) return 'altered';
        throw error;
      }
    },
    // What follows the last whole leaf is not read.
    content: (files) =>
      leaves(files)
        .map((leaf) => sha256(leaf))
        .join('\n'),
  };
}

function leavesIn(tile: Buffer): Buffer[] {
  const leaves: Buffer[] = [];
  for (let at = 0; at + 2 <= tile.length; ) {
    const end = at + 2 + tile.readUInt16BE(at);
    if (end > tile.length) break;
    leaves.push(tile.subarray(at + 2, end));
    at = end;
  }
  return leaves;
}

function tileOf(leaves: readonly Buffer[]): Buffer {
  return Buffer.concat(
    leaves.flatMap((leaf) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(leaf.length);
      return [length, leaf];
    }),
  );
}

function forgeLeaves(leaves: readonly Buffer[], random: Random) {
  const at = Math.floor(random() * leaves.length);
  const to = Math.floor(random() * leaves.length);
  const leaf = leaves[at] ?? Buffer.alloc(0);
  const operation = pick(random, ['delete', 'duplicate', 'reorder', 'change', 'rehash'] as const);
  const replaced = (...by: Buffer[]) => [...leaves.slice(0, at), ...by, ...leaves.slice(at + 1)];
  const changed = () =>
    forgeJson(parsed(leaf.toString()), parsed(leaves[to]?.toString() ?? ''), random).input;
  const made = {
    delete: () => replaced(),
    duplicate: () => replaced(leaf, leaf),
    reorder: () =>
      leaves.map((each, index) => (index === at ? (leaves[to] ?? each) : index === to ? leaf : each)),
    change: () => replaced(Buffer.from(changed().text.slice(0, 60_000))),
    rehash: () => {
      const { hash: _, ...rest } = (changed().value ?? {}) as { hash?: string };
      return replaced(
        Buffer.from(canonical({ ...rest, hash: sha256(canonical(rest) ?? '') }) ?? '').subarray(0, 60_000),
      );
    },
  };
  return { operation, pointer: `entry ${at + 1}`, input: made[operation]() };
}

/** Where a mirrored pack came from: the peer's entry, its proof and its checkpoint. */
export function provenanceFormat(genuine: readonly [string, string], digest: string): ForgedFormat<string> {
  const [one, another] = genuine.map(parsed) as [{ peer: { key: string }; checkpoint: string }, unknown];
  const other = new OtherKey(one.peer.key, 'provenance');
  const name = one.peer.key.split('+', 1)[0] ?? '';
  return {
    name: 'mirror provenance',
    share: 3_000,
    genuine,
    forge: (_one, _another, random) => {
      if (random() < 0.05)
        return {
          operation: 'other key',
          pointer: '/checkpoint',
          input: JSON.stringify({ ...one, checkpoint: other.signNote(one.checkpoint) }),
        };
      const { operation, pointer, input } = forgeJson(one, another, random);
      return { operation, pointer, input: input.text };
    },
    verdict: (text) => {
      const provenance = packProvenanceSchema.safeParse(parsed(text));
      return provenance.success && isProvenBy(provenance.data, digest) ? 'intact' : 'altered';
    },
    // What this node calls the peer, and when it mirrored, is for itself to say.
    content: (text) => {
      const value = parsed(text) as {
        peer?: { key?: unknown; name?: unknown } | null;
        checkpoint?: unknown;
      } | null;
      const { peer, checkpoint } = value ?? {};
      if (typeof checkpoint !== 'string' || typeof peer !== 'object' || peer === null) return undefined;
      const isWhole = typeof peer.name === 'string' && Object.keys(peer).length === 2;
      return isWhole
        ? canonical({ ...value, peer: peer.key, mirrored_at: '', checkpoint: noteContent(checkpoint, name) })
        : undefined;
    },
  };
}
