import type { ConsistencyProof, InclusionProof } from '../../shared/ledger/ledger.ts';
import { Problem } from '../../shared/problems.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { entryAt, lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { proofFile } from './checkpoint.ts';
import type { Checkpoints } from './checkpoints.ts';
import { entryText } from './entry.ts';
import { leafHash } from './merkle.ts';
import { consistencyPath, inclusionPath } from './proofs.ts';
import { rangeRoot, rootAt } from './tree.ts';
import { withCosignatures } from './witness/cosignedNote.ts';

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
      throw new Problem('invalid_parameter', `The ledger of ${size} entries has no entry ${seq}.`);
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
  return read.transaction(() => look(lastEntry(read)?.seq ?? 0)).deferred();
}
