import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type KeyChange, type KnownHead, withPlainLineEnds } from '../../shared/ledger/ledger.ts';
import { countOf } from '../../shared/values/counts.ts';
import { createFolder, databaseFile, isMissing, syncFile, syncFolder } from '../store/files.ts';
import { HeadFileError, headFile, type RecordedHead, readHeadFile } from '../store/opening/headFile.ts';
import {
  describeRollback,
  type InspectedFolder,
  RollbackDetectedError,
} from '../store/opening/inspectFolder.ts';
import { openForReading, type ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { readSetting } from '../store/sqlite/node/owner.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from './checkpoint.ts';
import { readStoredCheckpoint, type StoredCheckpoint } from './checkpoints.ts';
import { readKeyChanges } from './nodeKey.ts';
import { rootAt } from './tree.ts';

/** A stored checkpoint cannot be verified, so it is unknown whether the database is the one it was signed for. */
class StoredCheckpointError extends Error {
  constructor(file: string, why: string) {
    super(
      `The stored checkpoint ${file} cannot be verified: ${why} Restore the file from a backup. If it is lost, “strongroom serve --accept-rollback” continues with this database under a new key and records the rollback.`,
    );
    this.name = 'StoredCheckpointError';
  }
}

/** The result of comparing a database with the head file and the checkpoint of its folder. */
export interface RollbackCheck {
  head: RecordedHead | undefined;
  /** The largest stored checkpoint by the database's own key, if any. */
  checkpoint: Checkpoint | undefined;
  /** Whether a rollback was ever accepted. Blobs that no row references may then belong to the lost entries. */
  wasRolledBack: boolean;
  /** Why the database does not match, or why that cannot be verified; undefined if it matches. */
  doubt: Error | undefined;
}

/**
 * Compares a database with the head file and the checkpoint of its folder. Changes nothing. These files were read
 * before the database, so that a node that is writing meanwhile is not mistaken for a rollback.
 */
export async function detectRollback(inspected: InspectedFolder, known: KnownState): Promise<RollbackCheck> {
  const { folder, read, hasTables } = inspected;
  const ownKey = recordedKey(inspected);
  const changes = hasTables ? readKeyChanges(read) : [];
  const result: RollbackCheck = {
    head: known.head,
    checkpoint: undefined,
    wasRolledBack: changes.some(({ type }) => type === 'ledger.rolled_back'),
    doubt: known.headError,
  };
  const { head } = known;
  if (head && !changes.some((change) => isRollbackFrom(change, head))) {
    const reason = describeRollback(inspected, head);
    if (reason) result.doubt ??= new RollbackDetectedError(folder, reason);
  }
  if (!known.note) return result;
  const { checkpoint, key, doubt } = verifyNote(known.note, ownKey, changes);
  result.doubt ??= doubt;
  if (!checkpoint) return result;
  if (key === ownKey) result.checkpoint = checkpoint;
  // An accepted rollback also revokes the checkpoints signed by the key that it replaced.
  const isRevoked = changes.some((change) => change.type === 'ledger.rolled_back' && change.old_key === key);
  const reason = isRevoked ? undefined : describeMismatch(hasTables ? read : undefined, checkpoint);
  if (reason) result.doubt ??= new RollbackDetectedError(folder, reason);
  return result;
}

/** The head file and the checkpoint of a data folder, not yet verified. */
interface KnownState {
  head: RecordedHead | undefined;
  headError: HeadFileError | undefined;
  note: StoredCheckpoint | undefined;
}

/** Reads the head file and the checkpoint of a data folder. */
export async function readKnownState(folder: string): Promise<KnownState> {
  const note = await readStoredCheckpoint(folder);
  try {
    return { head: readHeadFile(folder), headError: undefined, note };
  } catch (error) {
    if (!(error instanceof HeadFileError)) throw error;
    return { head: undefined, headError: error, note };
  }
}

/** Returns the verifier key that a database records, or undefined if no node has opened it. */
export function recordedKey({
  read,
  hasTables,
}: Pick<InspectedFolder, 'read' | 'hasTables'>): string | undefined {
  const known = hasTables ? readSetting(read, 'verifier_key') : undefined;
  return typeof known === 'string' ? known : undefined;
}

/** Returns every key that may have signed checkpoints of this ledger, the current one first. */
export function keysOf(ownKey: string | undefined, changes: readonly KeyChange[]): string[] {
  const keys = [ownKey, ...changes.toReversed().flatMap(({ old_key, new_key }) => [new_key, old_key])];
  return [...new Set(keys.filter((key) => typeof key === 'string'))];
}

interface VerifiedNote {
  checkpoint?: Checkpoint;
  key?: string;
  doubt?: Error;
}

function verifyNote(
  { file, note }: StoredCheckpoint,
  ownKey: string | undefined,
  changes: readonly KeyChange[],
): VerifiedNote {
  let why = 'the database records no key that could have signed it.';
  for (const key of keysOf(ownKey, changes)) {
    try {
      return { checkpoint: openCheckpoint(note, key), key };
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
      if (key === ownKey) why = error.message;
    }
  }
  return { doubt: new StoredCheckpointError(file, why) };
}

/** After a crash right after a rollback was recorded, the head file still has the head before the rollback. */
function isRollbackFrom(change: KeyChange, { seq, hash }: RecordedHead): boolean {
  return change.type === 'ledger.rolled_back' && change.from.seq === seq && change.from.hash === hash;
}

/** Returns why a checkpoint does not match the ledger, as the rest of a sentence; undefined if it matches. */
function describeMismatch(
  read: ReadDatabase | undefined,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
): string | undefined {
  const found = read ? (lastEntry(read)?.seq ?? 0) : 0;
  if (found < size)
    return `its ledger ends with entry ${found}, but a checkpoint over ${countOf(size, 'entry', 'entries')} was signed.`;
  if (!read || rootAt(read, size).equals(root)) return undefined;
  return `its first ${countOf(size, 'entry is not the one', 'entries are not those')} that a checkpoint was signed over.`;
}

/** Returns the newest known state of a ledger before a rollback. */
export function lastKnownHead(head: RecordedHead | undefined, checkpoint: Checkpoint | undefined): KnownHead {
  const seq = Math.max(head?.seq ?? -1, checkpoint?.size ?? -1);
  return {
    seq: seq < 0 ? null : seq,
    hash: head?.seq === seq ? head.hash : null,
    root: checkpoint?.size === seq ? checkpoint.root.toString('hex') : null,
  };
}

/**
 * Copies the evidence of a rollback to `rolled-back/<time>`: the head file, the checkpoint and the write-ahead log. The
 * log may hold the missing rows, and SQLite would overwrite it.
 */
export async function saveRollbackEvidence(folder: string, at: string): Promise<void> {
  const evidence = join(folder, 'rolled-back', at.replace(/[-:.]/g, ''));
  await createFolder(evidence);
  const stored = await readStoredCheckpoint(folder);
  const files = [headFile(folder), `${databaseFile(folder)}-wal`];
  for (const file of stored ? [...files, stored.file] : files) {
    const copy = join(evidence, basename(file));
    try {
      await copyFile(file, copy);
    } catch (error) {
      if (isMissing(error)) continue;
      throw error;
    }
    await syncFile(copy);
  }
  await syncFolder(evidence);
}

export interface CheckpointComparison {
  ok: boolean;
  /** The result in plain English. */
  sentence: string;
  /** The verifier key that signed the checkpoint; null if it is none of this ledger's keys. */
  key: string | null;
}

/**
 * Compares a ledger with an earlier checkpoint: its first entries must have the signed root. The checkpoint may be
 * signed by the node's current key or by an earlier one that is recorded in the ledger.
 */
export function compareCheckpoint(file: string, saved: string): CheckpointComparison {
  const database = openForReading(file);
  try {
    return onSnapshot(database, () => compare(database, withPlainLineEnds(saved)));
  } catch (error) {
    if (error instanceof CheckpointError) return { ok: false, sentence: error.message, key: null };
    throw error;
  } finally {
    database.close();
  }
}

function compare(database: ReadDatabase, note: string): CheckpointComparison {
  const known = readSetting(database, 'verifier_key');
  const changes = readKeyChanges(database);
  const { checkpoint, key } = openByAny(note, keysOf(typeof known === 'string' ? known : '', changes));
  const by = key === known ? '' : ` It was signed by the key ${key}, ${describeReplacement(key, changes)}.`;
  const size = lastEntry(database)?.seq ?? 0;
  if (checkpoint.size > size) {
    const sentence = `The checkpoint was signed over ${countOf(checkpoint.size, 'entry', 'entries')}, and the ledger has ${size}: entries are missing.`;
    return { ok: false, sentence: sentence + by, key };
  }
  if (!rootAt(database, checkpoint.size).equals(checkpoint.root)) {
    const sentence = `The first ${countOf(checkpoint.size, 'entry is not the one', 'entries are not those')} that the checkpoint was signed over: the ledger was rewritten.`;
    return { ok: false, sentence: sentence + by, key };
  }
  const sentence = `Nothing was rewritten since the checkpoint over ${countOf(checkpoint.size, 'entry', 'entries')}.`;
  return { ok: true, sentence: sentence + by, key };
}

/** @throws CheckpointError the error for the first key, if none of the keys has signed it */
function openByAny(note: string, keys: readonly string[]): { checkpoint: Checkpoint; key: string } {
  let refusal: CheckpointError | undefined;
  for (const key of keys) {
    try {
      return { checkpoint: openCheckpoint(note, key), key };
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new CheckpointError('This archive has no key yet, so it has signed no checkpoint.');
}

function describeReplacement(key: string, changes: readonly KeyChange[]): string {
  const end = changes.find(({ old_key }) => old_key === key);
  if (end?.type !== 'ledger.rolled_back') return `which entry ${end?.ledger_entry} replaced`;
  const { from, to, ledger_entry } = end;
  return `which entry ${ledger_entry} replaced when the ledger was rolled back from entry ${from.seq ?? 'unknown'} to entry ${to.seq}`;
}
