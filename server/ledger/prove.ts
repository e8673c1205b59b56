import type { ConsistencyProof, InclusionProof } from '../../shared/ledger/ledger.ts';
import type { PackProvenance } from '../../shared/node/peer.ts';
import { Problem } from '../../shared/problems.ts';
import {
  isConsistent as isConsistentWith,
  rootFromPath,
  type TreeHead,
} from '../../shared/proof/ledger/tree.ts';
import { countOf } from '../../shared/values/counts.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { entryAt, lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { CheckpointError, openCheckpoint, proofFile } from './checkpoint.ts';
import type { Checkpoints } from './checkpoints.ts';
import { entryText, hashOf } from './entry.ts';
import { leafHash, parentHash, rangeRoot, rootAt } from './tree.ts';
import { withCosignatures } from './witness/cosignature.ts';

type Reader = Pick<Store, 'read'>;

/** Returns a signed checkpoint of the current ledger, with the lines of the witnesses that cosigned it. @throws the errors of `Checkpoints.sign` */
export async function readCheckpoint({ read }: Reader, checkpoints: Checkpoints): Promise<string> {
  const { size, root } = inSnapshot(read, (newest) => ({ size: newest, root: rootAt(read, newest) }));
  return withCosignatures(read, await checkpoints.sign({ size, root }), size, root.toString('hex'));
}

/**
 * Proves that an entry is in the ledger of `size` entries.
 *
 * @throws Problem `invalid_parameter` if the ledger has no such entry or is smaller.
 */
export function proveInclusion({ read }: Reader, seq: number, atSize?: number): InclusionProof {
  return inSnapshot(read, (newest) => {
    const size = sizeWithin(atSize, newest);
    const entry = entryAt(read, seq);
    if (!entry || seq > size) {
      throw new Problem(
        'invalid_parameter',
        `The ledger of ${countOf(size, 'entry', 'entries')} has no entry ${seq}.`,
      );
    }
    const path = inclusionPath(seq - 1, size, (from, to) => rangeRoot(read, from, to));
    return {
      leaf: leafHash(entryText(entry)).toString('base64'),
      index: seq - 1,
      size,
      root: rootAt(read, size).toString('base64'),
      hashes: path.map((hash) => hash.toString('base64')),
    };
  });
}

/** Returns the same proof as a file, with a checkpoint of its root. */
export async function proveInclusionAsFile(
  reader: Reader,
  checkpoints: Checkpoints,
  seq: number,
  atSize?: number,
): Promise<string> {
  const { index, size, root, hashes } = proveInclusion(reader, seq, atSize);
  const signed = await checkpoints.sign({ size, root: Buffer.from(root, 'base64') });
  const checkpoint = withCosignatures(reader.read, signed, size, Buffer.from(root, 'base64').toString('hex'));
  return proofFile(
    index,
    hashes.map((hash) => Buffer.from(hash, 'base64')),
    checkpoint,
  );
}

/**
 * Proves that the ledger of `from` entries is a prefix of the ledger of `to` entries: nothing was rewritten since.
 *
 * @throws Problem `invalid_parameter` if `from` is larger than `to`, or the ledger is smaller.
 */
export function proveConsistency({ read }: Reader, from: number, to?: number): ConsistencyProof {
  return inSnapshot(read, (newest) => {
    const size = sizeWithin(to, newest);
    if (from > size) throw new Problem('invalid_parameter', `The parameter from: at most ${size}.`);
    const path = consistencyPath(from, size, (first, end) => rangeRoot(read, first, end));
    return {
      from,
      size,
      from_root: rootAt(read, from).toString('base64'),
      root: rootAt(read, size).toString('base64'),
      hashes: path.map((hash) => hash.toString('base64')),
    };
  });
}

function sizeWithin(wanted: number | undefined, newest: number): number {
  if (wanted === undefined || wanted <= newest) return wanted ?? newest;
  throw new Problem('invalid_parameter', `The ledger has ${newest} entries, not ${wanted}.`);
}

function inSnapshot<Result>(read: ReadDatabase, look: (size: number) => Result): Result {
  return onSnapshot(read, () => look(lastEntry(read)?.seq ?? 0));
}

/** Returns the root over the leaves `from` to `to - 1` of a tree. */
type RangeRoot = (from: number, to: number) => Buffer;

/** The largest power of two that is smaller than `size`: where RFC 6962 splits a tree. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The audit path of leaf `index` in the tree of `size` leaves (RFC 6962, section 2.1.1), nearest the leaf first. */
export function inclusionPath(index: number, size: number, rangeRoot: RangeRoot): Buffer[] {
  const path: Buffer[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      path.push(rangeRoot(middle, to));
      to = middle;
    } else {
      path.push(rangeRoot(from, middle));
      from = middle;
    }
  }
  return path.reverse();
}

/** The proof that the tree of `older` leaves is a prefix of the tree of `size` leaves (RFC 6962, section 2.1.2). */
export function consistencyPath(older: number, size: number, rangeRoot: RangeRoot): Buffer[] {
  if (older === 0 || older === size) return [];
  const path: Buffer[] = [];
  let [from, to] = [0, size];
  while (to !== older) {
    const middle = from + splitOf(to - from);
    if (older <= middle) {
      path.push(rangeRoot(middle, to));
      to = middle;
    } else {
      path.push(rangeRoot(from, middle));
      from = middle;
    }
  }
  // If the older tree is one complete subtree, its root is known to the verifier and left out.
  if (from > 0) path.push(rangeRoot(from, to));
  return path.reverse();
}

/** Computes the root from the hash of a leaf and its audit path; undefined if the path does not fit the tree. */
export function rootFromInclusion(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
): Buffer | undefined {
  return rootFromPath(leaf, { index, size }, path, parentHash);
}

/** Verifies a consistency proof between two roots. */
export function isConsistent(
  older: TreeHead<Buffer>,
  newer: TreeHead<Buffer>,
  proof: readonly Buffer[],
): boolean {
  return isConsistentWith(older, newer, proof, parentHash);
}

/** Returns whether a provenance proves that the signed ledger of its peer has a pack, or a deposit, with this fingerprint. */
export function isProvenBy(
  { peer, entry, proof, checkpoint }: PackProvenance,
  digest: string,
  type: 'pack.added' | 'pack.deposited' = 'pack.added',
): boolean {
  if (entry.type !== type || entry.digest !== digest || entry.hash !== hashOf(entry)) return false;
  const leaf = leafHash(entryText(entry));
  if (proof.index !== entry.seq - 1 || proof.leaf !== leaf.toString('base64')) return false;
  const path = proof.hashes.map((hash) => Buffer.from(hash, 'base64'));
  // A hash of another length, or written in another way, is not what a node gives.
  if (path.some((hash, at) => hash.length !== leaf.length || hash.toString('base64') !== proof.hashes[at]))
    return false;
  const root = rootFromInclusion(leaf, proof.index, proof.size, path);
  try {
    const signed = openCheckpoint(checkpoint, peer.key);
    const isProven = signed.size === proof.size && root !== undefined && signed.root.equals(root);
    return isProven && proof.root === root.toString('base64');
  } catch (error) {
    if (error instanceof CheckpointError) return false;
    throw error;
  }
}
