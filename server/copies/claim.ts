import { z } from 'zod';
import { countOf } from '../../shared/values/counts.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { keysOf } from '../ledger/detectRollback.ts';
import { readKeyChanges } from '../ledger/nodeKey.ts';
import { rootAt } from '../ledger/tree.ts';
import type { CopyRow } from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { CHECKPOINT, CLAIM } from './copyPaths.ts';
import type { CompareVersions } from './pages/frame.ts';
import { CopyError, type CopyTarget, InvalidCopyError, readBytes } from './targets/target.ts';

const FORMAT = 1;
const MAX_BYTES = 65_536;

const claimSchema = z.object({
  format: z.int(),
  node: z.string(),
  key: z.string(),
  writer: z.string(),
});
type Claim = z.output<typeof claimSchema>;

/** Returns whose copy is in a place; undefined if there is none. @throws CopyError if the file cannot be understood */
export async function readClaim(target: CopyTarget): Promise<Claim | undefined> {
  const bytes = await readBytes(target, CLAIM, MAX_BYTES);
  if (!bytes) return undefined;
  const claim = claimSchema.safeParse(parsed(bytes));
  if (!claim.success)
    throw new InvalidCopyError(`${target.name} has a file ${CLAIM} that does not belong to a copy.`);
  if (claim.data.format !== FORMAT)
    throw new CopyError(
      `The copy in ${target.name} has format ${claim.data.format}; this version of Strongroom supports ${FORMAT}.`,
    );
  return claim.data;
}

/** What a copy says of whose it is. `writer` is the word of the data folder that writes to it. */
export function claimBytes({ checkpoints }: { checkpoints: Checkpoints }, writer: string): Buffer {
  const { name: node, verifierKey: key } = checkpoints.key;
  const claim: Claim = { format: FORMAT, node, key, writer };
  return Buffer.from(`${JSON.stringify(claim)}\n`);
}

/** A checkpoint of a copy, verified. */
export interface CopiedCheckpoint extends Checkpoint {
  note: string;
}

/**
 * Reads the checkpoint of a copy; undefined if it has none yet.
 *
 * @throws CopyError if none of the keys has signed it
 */
async function readCopiedCheckpoint(
  target: CopyTarget,
  keys: readonly string[],
): Promise<CopiedCheckpoint | undefined> {
  const bytes = await readBytes(target, CHECKPOINT, MAX_BYTES);
  if (!bytes) return undefined;
  const note = bytes.toString();
  for (const key of keys) {
    try {
      return { ...openCheckpoint(note, key), note };
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
    }
  }
  throw new InvalidCopyError(`The checkpoint in ${target.name} was altered, or another archive signed it.`);
}

/**
 * Reads the text of a copy's checkpoint, and the size that it states. Its signature is not checked here.
 *
 * @throws CopyError if there is no copy
 */
export async function readCopiedNote(target: CopyTarget): Promise<{ note: string; size: number }> {
  const note = (await readBytes(target, CHECKPOINT, MAX_BYTES))?.toString();
  if (note === undefined)
    throw new CopyError(`There is no copy in ${target.name}, or its first sync has not finished.`);
  const size = Number(/^[^\n]+\n(\d{1,15})\n/.exec(note)?.[1]);
  if (!Number.isSafeInteger(size))
    throw new InvalidCopyError(`The checkpoint in ${target.name} is not one that a node writes.`);
  return { note, size };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    // Refused by the schema.
    return undefined;
  }
}

/** What a copy is compared with: the ledger of this archive, and its key. */
interface KnownArchive {
  store: Pick<Store, 'read'>;
  checkpoints: { key: { verifierKey: string } };
}

/** The open archive that is copied. */
export interface CopyServices {
  store: Store;
  checkpoints: Checkpoints;
  /** Compares the two versions of a change for its page. */
  compare: CompareVersions;
}

/**
 * Requires that this data folder writes to a copy and that the copy's history is that of this archive. Returns the
 * copy's checkpoint, undefined if it has none yet.
 *
 * @throws CopyError
 */
export async function assertOwnedByThisNode(
  services: KnownArchive,
  { owner_token }: Pick<CopyRow, 'owner_token'>,
  target: CopyTarget,
): Promise<CopiedCheckpoint | undefined> {
  const claim = await readClaim(target);
  if (!claim)
    throw new CopyError(
      `${target.name} holds no copy. Connect its disk; if the copy is gone, remove it here and add it again.`,
    );
  if (claim.writer !== owner_token) throw new CopyError(whoseCopy(services, claim, target));
  return requireSameHistory(services, target);
}

/** Says what became of a copy that this data folder no longer writes to, and what to do. */
function whoseCopy({ store, checkpoints }: KnownArchive, claim: Claim, { name }: CopyTarget): string {
  const keys = keysOf(checkpoints.key.verifierKey, readKeyChanges(store.read));
  const what = keys.includes(claim.key)
    ? `Another machine writes to the copy in ${name}. To take it over, remove it here and add it again.`
    : `${name} now holds the copy of another archive, ${claim.node}. Remove this copy here.`;
  return `${what} If that is refused because only it holds offloaded objects, mark it as lost: what can still be read there returns to this disk.`;
}

/** @throws CopyError if the copy is ahead of this archive, or holds another history */
export async function requireSameHistory(
  { store, checkpoints }: KnownArchive,
  target: CopyTarget,
): Promise<CopiedCheckpoint | undefined> {
  const copied = await readCopiedCheckpoint(
    target,
    keysOf(checkpoints.key.verifierKey, readKeyChanges(store.read)),
  );
  if (!copied) return undefined;
  const size = lastEntry(store.read)?.seq ?? 0;
  if (copied.size > size)
    throw new CopyError(
      `The copy in ${target.name} has ${countOf(copied.size, 'entry', 'entries')}, and this archive has ${size}. Restore from the copy, or choose another place.`,
    );
  if (!rootAt(store.read, copied.size).equals(copied.root))
    throw new InvalidCopyError(
      `The copy in ${target.name} has a different history from this archive. Choose another place.`,
    );
  return copied;
}
