import { randomBytes } from 'node:crypto';
import { instantOf } from '../../shared/clock.ts';
import type { KeyChange } from '../../shared/keyChange.ts';
import { NO_HASH } from '../../shared/ledger.ts';
import { lockFolder } from '../store/opening/folderLock.ts';
import {
  type InspectedFolder,
  inspectFolder,
  type Judge,
  type Verdict,
} from '../store/opening/inspectFolder.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { writeSetting } from '../store/sqlite/node/settings.ts';
import { openStore, type Store, type StoreConfig } from '../store/store.ts';
import { readHead } from './appendEntry.ts';
import { type NodeKey, nodeKeyOf } from './checkpoint.ts';
import { Checkpoints } from './checkpoints.ts';
import { detectRollback, furthest, type Kept, readKnownState, recordedKey } from './detectRollback.ts';
import { saveRollbackEvidence } from './evidence.ts';
import { type NewKeyChange, readKeyChanges, recordKeyChange, signRenewal } from './keyChanges.ts';
import {
  activateNextKey,
  createNextKey,
  keyFile,
  keyNameOf,
  NodeKeyError,
  newName,
  type Random,
  readNodeKey,
  readPrivateKey,
  saveRetiredKey,
} from './nodeKey.ts';
import { rootAt } from './tree.ts';

export interface ArchiveConfig extends Omit<StoreConfig, 'judge'> {
  /** Goes on with a database that is behind what was acknowledged or signed: with a new key, and an entry that says so. */
  acceptRollback?: boolean | undefined;
  /** Gives the archive a new key, whatever became of the old one, with an entry that says so. */
  renewKey?: boolean | undefined;
}

/** An archive that is open: its rows and blobs, its key, and what signs its checkpoints. */
export interface OpenArchive {
  store: Store;
  key: NodeKey;
  checkpoints: Checkpoints;
  /** What was recorded of a rollback that was accepted, or a key that was renewed, by this opening. */
  keyChange: KeyChange | undefined;
}

/**
 * Opens an archive, or makes a new one: the one way to write to a data folder. Before anything there is changed, the
 * database is compared with the head and the checkpoint that were kept beside it, and with the key.
 *
 * @throws RollbackDetectedError, StoredCheckpointError, HeadFileError unless a rollback is accepted; NodeKeyError; what
 * `openStore` throws. Nothing was changed then.
 */
export async function openArchive(config: ArchiveConfig): Promise<OpenArchive> {
  const { folder, random = randomBytes } = config;
  const judged: Judged = { kept: undefined, change: undefined };
  const store = await openStore({ ...config, judge: judgeOf(config, random, judged) });
  try {
    const key = await takeKey(store, random);
    await activateNextKey(folder, key);
    // One by a key of before, or beside a node, is no reason not to keep one by this key in its place.
    const isKept = judged.change === undefined && judged.kept?.hasMore === false;
    const storedSize = isKept ? (judged.kept?.checkpoint?.size ?? -1) : -1;
    const checkpoints = new Checkpoints({ folder, key, storedSize });
    if (storedSize < 0) await keepFirst(config, store, checkpoints);
    const keyChange = judged.change && readKeyChanges(store.read).at(-1);
    return { store, key, checkpoints, keyChange };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Judges an archive as opening it would, and changes nothing.
 *
 * @throws FolderInUseError, DamagedDatabaseError; what `openArchive` refuses it with
 */
export async function checkOpening(config: ArchiveConfig): Promise<void> {
  const { folder, random = randomBytes } = config;
  const lock = lockFolder(folder);
  try {
    await inspectFolder(folder, judgeOf(config, random, { kept: undefined, change: undefined }));
  } finally {
    lock.release();
  }
}

/** What the judge found, for those who open. */
interface Judged {
  kept: Kept | undefined;
  change: NewKeyChange | undefined;
}

function judgeOf(
  { folder, clock, acceptRollback, renewKey }: ArchiveConfig,
  random: Random,
  judged: Judged,
): Judge {
  return async (examined): Promise<Verdict> => {
    const kept = await detectRollback(examined, await readKnownState(folder));
    if (kept.doubt && !acceptRollback) throw kept.doubt;
    judged.kept = kept;
    const isWhole = kept.head !== undefined && !kept.doubt && !kept.hasLost;
    const isReplaced = kept.doubt !== undefined || renewKey === true;
    if (!isReplaced) {
      await requireKey(examined);
      return { isWhole };
    }
    const at = instantOf(Math.max(clock.now(), Date.parse(latestOf(examined) ?? '1970-01-01')));
    judged.change = await newKeyChange(examined, kept, { at, random });
    const { change } = judged;
    return {
      isWhole,
      change: (database) => recordKeyChange(database, change),
    };
  };
}

/** @throws NodeKeyError where the key is not the archive's own; a first start that was killed may have left one. */
async function requireKey(examined: InspectedFolder): Promise<void> {
  const known = recordedKey(examined);
  if (known !== undefined) return void (await readNodeKey(examined.folder, known));
  const found = await readPrivateKey(examined.folder);
  if (found === undefined) return;
  if (latestOf(examined) !== undefined)
    throw new NodeKeyError(keyFile(examined.folder), 'is one that the database knows nothing of');
  if (found === null) throw new NodeKeyError(keyFile(examined.folder), 'cannot be read as an Ed25519 key');
}

function latestOf({ read, hasTables }: InspectedFolder): string | undefined {
  return hasTables ? lastEntry(read)?.at : undefined;
}

/** Makes a new key, keeps what it replaces, and says what is to be recorded of that. */
async function newKeyChange(
  examined: InspectedFolder,
  { head, checkpoint, doubt }: Kept,
  { at, random }: { at: string; random: Random },
): Promise<NewKeyChange> {
  const { folder, read, hasTables } = examined;
  const known = recordedKey(examined);
  const name = known === undefined ? (checkpoint?.origin ?? newName(random)) : keyNameOf(known);
  const privateKey = await readPrivateKey(folder);
  const present = privateKey && nodeKeyOf(name, privateKey);
  if (doubt) await saveRollbackEvidence(folder, at);
  await saveRetiredKey(folder, name);
  const { verifierKey: new_key } = await createNextKey(folder, name, random);
  if (doubt) {
    const last = hasTables ? lastEntry(read) : undefined;
    const seq = last?.seq ?? 0;
    const root = hasTables ? rootAt(read, seq).toString('hex') : null;
    const to = { seq, hash: last?.hash ?? NO_HASH, root };
    const record = { at, from: furthest(head, checkpoint), to, old_key: known ?? null, new_key };
    return { type: 'ledger.rolled_back', record };
  }
  if (known === undefined) throw new NodeKeyError(keyFile(folder), 'was never used by this archive');
  const signature = present?.verifierKey === known ? signRenewal(present.privateKey, known, new_key) : null;
  return { type: 'key.renewed', record: { at, old_key: known, new_key, signature } };
}

/** The archive's key; made where it has none. */
async function takeKey(store: Store, random: Random): Promise<NodeKey> {
  const known = recordedKey({ read: store.read, hasTables: true });
  if (known !== undefined) return readNodeKey(store.folder, known);
  const name = newName(random);
  // A first start that was killed may have left a key that nothing was signed with; it is taken into use.
  const left = await readPrivateKey(store.folder);
  const key = left ? nodeKeyOf(name, left) : await createNextKey(store.folder, name, random);
  await store.write((database) => writeSetting(database, 'verifier_key', key.verifierKey));
  return key;
}

/** Keeps a checkpoint of the ledger as it stands, in the place of all others. */
async function keepFirst(
  { folder, warn }: ArchiveConfig,
  { read }: Store,
  checkpoints: Checkpoints,
): Promise<void> {
  try {
    const { seq: size, root } = read.transaction(() => readHead(read)).deferred();
    await checkpoints.sign({ size, root: Buffer.from(root, 'hex') });
    await checkpoints.removeSecondaryCheckpoints();
  } catch (error) {
    warn?.({ error, folder }, 'No checkpoint could be kept; none is given out until one can be.');
  }
}
