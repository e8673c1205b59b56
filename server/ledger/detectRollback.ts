import type { KeyChange, KnownHead } from '../../shared/keyChange.ts';
import { HeadFileError, type RecordedHead, readHeadFile } from '../store/opening/headFile.ts';
import { behindHead, type InspectedFolder, RollbackDetectedError } from '../store/opening/inspectFolder.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { readSetting } from '../store/sqlite/node/settings.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from './checkpoint.ts';
import { readStoredCheckpoints, type StoredCheckpoint } from './checkpoints.ts';
import { readKeyChanges } from './keyChanges.ts';
import { rootAt } from './tree.ts';

/** A kept checkpoint cannot be believed, so nobody can say whether the database is the one it was signed over. */
export class StoredCheckpointError extends Error {
  constructor(file: string, why: string) {
    super(
      `The kept checkpoint ${file} cannot be believed: ${why} Put the file back from a backup. If it is lost, “strongroom serve --accept-rollback” goes on with what the database holds, under a new key, and records that.`,
    );
    this.name = 'StoredCheckpointError';
  }
}

/** What lies beside a database and says how far it must go. */
export interface Kept {
  head: RecordedHead | undefined;
  /** The largest checkpoint by the key that the database knows, if any is kept. */
  checkpoint: Checkpoint | undefined;
  /** Whether some were kept beside a node that had the archive open. */
  hasMore: boolean;
  /** Whether it was ever gone on with after it had lost something: blobs that no row names may be of what it lost. */
  hasLost: boolean;
  /** Why the database is not what these say it must be, or why they do not say it; undefined where it is. */
  doubt: Error | undefined;
}

/**
 * Compares a database with the head and the checkpoints that were kept beside it, and changes nothing. What is
 * beside it was read first, so that a node that goes on meanwhile is never taken for one that lost something.
 */
export async function detectRollback(examined: InspectedFolder, beside: Beside): Promise<Kept> {
  const { folder, read, hasTables } = examined;
  const known = recordedKey(examined);
  const changes = hasTables ? readKeyChanges(read) : [];
  const kept: Kept = {
    head: beside.head,
    checkpoint: undefined,
    hasMore: beside.notes.length > 1,
    hasLost: changes.some(({ type }) => type === 'ledger.rolled_back'),
    doubt: beside.headError,
  };
  const { head } = beside;
  if (head && !changes.some((change) => isRollbackFrom(change, head))) {
    const behind = behindHead(examined, head);
    if (behind) kept.doubt ??= new RollbackDetectedError(folder, behind);
  }
  for (const note of beside.notes) {
    const { checkpoint, key, doubt } = openKept(note, known, changes);
    kept.doubt ??= doubt;
    if (!checkpoint) continue;
    if (key === known && checkpoint.size >= (kept.checkpoint?.size ?? 0)) kept.checkpoint = checkpoint;
    // What a rollback has taken back is recorded with the key that had signed it.
    const isTakenBack = changes.some(
      (change) => change.type === 'ledger.rolled_back' && change.old_key === key,
    );
    const wrong = isTakenBack ? undefined : disagreement(hasTables ? read : undefined, checkpoint);
    if (wrong) kept.doubt ??= new RollbackDetectedError(folder, wrong);
  }
  return kept;
}

/** What is kept beside a database, as it lies there. */
export interface Beside {
  head: RecordedHead | undefined;
  headError: HeadFileError | undefined;
  notes: StoredCheckpoint[];
}

export async function readKnownState(folder: string): Promise<Beside> {
  const notes = await readStoredCheckpoints(folder);
  try {
    return { head: readHeadFile(folder), headError: undefined, notes };
  } catch (error) {
    if (!(error instanceof HeadFileError)) throw error;
    return { head: undefined, headError: error, notes };
  }
}

/** The verifier key that a database knows, or undefined where no node has opened it. */
export function recordedKey({
  read,
  hasTables,
}: Pick<InspectedFolder, 'read' | 'hasTables'>): string | undefined {
  const known = hasTables ? readSetting(read, 'verifier_key') : undefined;
  return typeof known === 'string' ? known : undefined;
}

/** Every key that has signed checkpoints of this ledger, as the database knows them: the present one first. */
export function keysOf(known: string | undefined, changes: readonly KeyChange[]): string[] {
  const keys = [known, ...changes.toReversed().flatMap(({ old_key, new_key }) => [new_key, old_key])];
  return [...new Set(keys.filter((key) => typeof key === 'string'))];
}

interface OpenedNote {
  checkpoint?: Checkpoint;
  key?: string;
  doubt?: Error;
}

function openKept(
  { file, note }: StoredCheckpoint,
  known: string | undefined,
  changes: readonly KeyChange[],
): OpenedNote {
  let why = 'the database knows no key that could have signed it.';
  for (const key of keysOf(known, changes)) {
    try {
      return { checkpoint: openCheckpoint(note, key), key };
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
      if (key === known) why = error.message;
    }
  }
  return { doubt: new StoredCheckpointError(file, why) };
}

/** A crash right after a rollback was recorded leaves the head that it rolled back from. */
function isRollbackFrom(change: KeyChange, { seq, hash }: RecordedHead): boolean {
  return change.type === 'ledger.rolled_back' && change.from.seq === seq && change.from.hash === hash;
}

/** Why a ledger does not begin with what a checkpoint was signed over, in a sentence; undefined where it does. */
export function disagreement(
  read: ReadDatabase | undefined,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
): string | undefined {
  const found = read ? (lastEntry(read)?.seq ?? 0) : 0;
  if (found < size)
    return `its ledger ends with entry ${found}, and a checkpoint over ${size} entries was signed.`;
  if (!read || rootAt(read, size).equals(root)) return undefined;
  return `its first ${size} entries are not those that a checkpoint was signed over.`;
}

/** The furthest that is known of a ledger that is rolled back, for the record. */
export function furthest(head: RecordedHead | undefined, checkpoint: Checkpoint | undefined): KnownHead {
  const seq = Math.max(head?.seq ?? -1, checkpoint?.size ?? -1);
  return {
    seq: seq < 0 ? null : seq,
    hash: head?.seq === seq ? head.hash : null,
    root: checkpoint?.size === seq ? checkpoint.root.toString('hex') : null,
  };
}
