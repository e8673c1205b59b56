import { randomBytes } from 'node:crypto';
import { type KeyChange, NO_HASH } from '../../shared/ledger/ledger.ts';
import { instantOf, systemClock } from '../../shared/values/clock.ts';
import { lockFolder } from '../store/opening/folderLock.ts';
import {
  type InspectedFolder,
  inspectFolder,
  type OpeningCheck,
  type OpeningDecision,
} from '../store/opening/inspectFolder.ts';
import { requireHere } from '../store/opening/movedFolder.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { writeSetting } from '../store/sqlite/node/owner.ts';
import { openStore, type Store, type StoreConfig } from '../store/store.ts';
import { endReadOnly, isReadOnly, readHead } from './appendEntry.ts';
import { type NodeKey, nodeKeyOf, openCheckpoint, type PublicNodeKey } from './checkpoint.ts';
import { Checkpoints, readStoredCheckpoint } from './checkpoints.ts';
import {
  detectRollback,
  lastKnownHead,
  type RollbackCheck,
  readKnownState,
  recordedKey,
  saveRollbackEvidence,
} from './detectRollback.ts';
import {
  activateNextKey,
  createNextKey,
  keyFile,
  keyNameOf,
  type NewKeyChange,
  NodeKeyError,
  newNodeName,
  type Random,
  readKeyChanges,
  readNodeKey,
  readPrivateKey,
  recordKeyChange,
  saveRetiredKey,
  signRenewal,
} from './nodeKey.ts';
import { rootAt } from './tree.ts';

export interface ArchiveConfig extends Omit<StoreConfig, 'check' | 'mustExist'> {
  /** Opens a database that lacks acknowledged or signed entries, under a new key, and records the rollback. */
  acceptRollback?: boolean | undefined;
  /** For an archive that was open before. Throws if another one is in its locked folder. Called before anything is changed. */
  requireKnown?: ((inspected: InspectedFolder) => void) | undefined;
  /** Gives the archive a new key, even if the old one is lost, and records that. */
  renewKey?: boolean | undefined;
}

/** An open archive: its data folder, its key and its checkpoints. */
export interface OpenArchive {
  store: Store;
  key: PublicNodeKey;
  checkpoints: Checkpoints;
  /** The accepted rollback or renewed key that this opening recorded. */
  keyChange: KeyChange | undefined;
}

/**
 * Opens an archive, or creates a new one. This is the only way to write to a data folder. Before anything is changed,
 * the database is compared with the head file, the stored checkpoints and the key.
 *
 * @throws RollbackDetectedError, StoredCheckpointError, HeadFileError unless a rollback is accepted; NodeKeyError; the errors of
 * `openStore`. Nothing was changed then.
 */
export async function openArchive(config: ArchiveConfig): Promise<OpenArchive> {
  const { folder, random = randomBytes } = config;
  const findings: Findings = { rollback: undefined, change: undefined };
  const mustExist = config.requireKnown !== undefined;
  const store = await openStore({ ...config, check: openingCheck(config, random, findings), mustExist });
  try {
    if (isReadOnly(store.read)) return await openReadOnly(folder, store);
    const key = await loadKey(store, random);
    await activateNextKey(folder, key);
    // A checkpoint by an earlier key is replaced by one with the current key.
    const isCurrent = findings.change === undefined;
    const storedSize = isCurrent ? (findings.rollback?.checkpoint?.size ?? -1) : -1;
    const checkpoints = new Checkpoints({ folder, key, storedSize });
    if (storedSize < 0) await storeFirstCheckpoint(config, store, checkpoints);
    const keyChange = findings.change && readKeyChanges(store.read).at(-1);
    return { store, key, checkpoints, keyChange };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Runs the checks of `openArchive` without opening the archive. Changes nothing.
 *
 * @throws MovedFolderError, UnfinishedMoveError, FolderInUseError, DamagedDatabaseError; the errors of `openArchive`
 */
export async function checkOpening(config: ArchiveConfig): Promise<void> {
  const { folder, random = randomBytes } = config;
  requireHere(folder);
  const lock = lockFolder(folder);
  try {
    await inspectFolder(folder, openingCheck(config, random, { rollback: undefined, change: undefined }));
  } finally {
    lock.release();
  }
}

/** The results of the check, for the rest of the opening. */
interface Findings {
  rollback: RollbackCheck | undefined;
  change: NewKeyChange | undefined;
}

function openingCheck(
  { folder, clock, acceptRollback, renewKey, requireKnown }: ArchiveConfig,
  random: Random,
  findings: Findings,
): OpeningCheck {
  return async (inspected): Promise<OpeningDecision> => {
    requireKnown?.(inspected);
    const rollback = await detectRollback(inspected, await readKnownState(folder));
    if (rollback.doubt && !acceptRollback) throw rollback.doubt;
    findings.rollback = rollback;
    const isComplete = rollback.head !== undefined && !rollback.doubt && !rollback.wasRolledBack;
    const replacesKey = rollback.doubt !== undefined || renewKey === true;
    if (!replacesKey) {
      await requireKey(inspected);
      return { isComplete };
    }
    const at = instantOf(Math.max(clock.now(), Date.parse(latestOf(inspected) ?? '1970-01-01')));
    const change = await newKeyChange(inspected, rollback, { at, random });
    findings.change = change;
    return {
      isComplete,
      change: (database) => recordKeyChange(database, change),
    };
  };
}

/** @throws NodeKeyError if the key is not the archive's own. A killed first start may have left an unrecorded key. */
async function requireKey(inspected: InspectedFolder): Promise<void> {
  const known = recordedKey(inspected);
  if (inspected.hasTables && isReadOnly(inspected.read)) return;
  if (known !== undefined) return void (await readNodeKey(inspected.folder, known));
  const found = await readPrivateKey(inspected.folder);
  if (found === undefined) return;
  if (latestOf(inspected) !== undefined)
    throw new NodeKeyError(keyFile(inspected.folder), 'is not recorded in the database');
  if (found === null) throw new NodeKeyError(keyFile(inspected.folder), 'cannot be read as an Ed25519 key');
}

function latestOf({ read, hasTables }: InspectedFolder): string | undefined {
  return hasTables ? lastEntry(read)?.at : undefined;
}

/** Creates a new key, saves what it replaces, and returns the change to record. */
async function newKeyChange(
  inspected: InspectedFolder,
  { head, checkpoint, doubt }: RollbackCheck,
  { at, random }: { at: string; random: Random },
): Promise<NewKeyChange> {
  const { folder, read, hasTables } = inspected;
  const known = recordedKey(inspected);
  const name = known === undefined ? (checkpoint?.origin ?? newNodeName(random)) : keyNameOf(known);
  const privateKey = await readPrivateKey(folder);
  const current = privateKey && nodeKeyOf(name, privateKey);
  if (doubt) await saveRollbackEvidence(folder, at);
  await saveRetiredKey(folder, name);
  const { verifierKey: new_key } = await createNextKey(folder, name, random);
  if (doubt) {
    const last = hasTables ? lastEntry(read) : undefined;
    const seq = last?.seq ?? 0;
    const root = hasTables ? rootAt(read, seq).toString('hex') : null;
    const to = { seq, hash: last?.hash ?? NO_HASH, root };
    const record = { at, from: lastKnownHead(head, checkpoint), to, old_key: known ?? null, new_key };
    return { type: 'ledger.rolled_back', record };
  }
  if (known === undefined) throw new NodeKeyError(keyFile(folder), 'was never used by this archive');
  const signature = current?.verifierKey === known ? signRenewal(current.privateKey, known, new_key) : null;
  return { type: 'key.renewed', record: { at, old_key: known, new_key, signature } };
}

/**
 * Makes an archive that was restored from a copy writable with its old key.
 *
 * @throws NodeKeyError if the key file is missing or another key; the errors of `openStore`
 */
export async function continueWithSameKey(folder: string): Promise<void> {
  const store = await openStore({ folder, clock: systemClock });
  try {
    await readNodeKey(folder, recordedKey({ read: store.read, hasTables: true }) ?? '');
    await store.write((database) => endReadOnly(database));
  } finally {
    await store.close();
  }
}

/** An archive that was restored from a copy has the copy's checkpoint, and signs nothing. */
async function openReadOnly(folder: string, store: Store): Promise<OpenArchive> {
  const verifierKey = recordedKey({ read: store.read, hasTables: true }) ?? '';
  const stored = await readStoredCheckpoint(folder);
  if (!stored) throw new NodeKeyError(keyFile(folder), 'and its checkpoint are missing');
  const { size } = openCheckpoint(stored.note, verifierKey);
  const key = { name: keyNameOf(verifierKey), verifierKey };
  const checkpoints = new Checkpoints({ folder, key, only: { size, note: stored.note } });
  return { store, key, checkpoints, keyChange: undefined };
}

/** Reads the archive's key; creates one for a new archive. */
async function loadKey(store: Store, random: Random): Promise<NodeKey> {
  const known = recordedKey({ read: store.read, hasTables: true });
  if (known !== undefined) return readNodeKey(store.folder, known);
  const name = newNodeName(random);
  // A killed first start may have left a key that has signed nothing. It is used.
  const unused = await readPrivateKey(store.folder);
  const key = unused ? nodeKeyOf(name, unused) : await createNextKey(store.folder, name, random);
  await store.write((database) => writeSetting(database, 'verifier_key', key.verifierKey));
  return key;
}

/** Stores a checkpoint of the current ledger, in place of all others. */
async function storeFirstCheckpoint(
  { folder, warn }: ArchiveConfig,
  { read }: Store,
  checkpoints: Checkpoints,
): Promise<void> {
  try {
    const { seq: size, root } = onSnapshot(read, () => readHead(read));
    await checkpoints.sign({ size, root: Buffer.from(root, 'hex') });
  } catch (error) {
    warn?.({ error, folder }, 'No checkpoint could be saved. None is published until one can be.');
  }
}
