import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  certifiedKeyRecord,
  type KeyChange,
  type KeyRenewal,
  keyChangeSchema,
  type LedgerEntry,
  type Rollback,
  renewalText,
} from '../../shared/ledger/ledger.ts';
import { strictBase64 } from '../../shared/proof/crypto/bytes.ts';
import { ifValid, verifyBy } from '../../shared/proof/ledger/signedNote.ts';
import type { Slice } from '../../shared/values/list.ts';
import { isMissing, orIfMissing, syncFolder, writeFileDurably } from '../store/files.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  allKeyChanges,
  entryAt,
  insertKeyChange,
  iterateEntriesOf,
  type KeyChangeRow,
  keyChangesPage,
} from '../store/sqlite/node/ledger.ts';
import { readSetting, writeSetting } from '../store/sqlite/node/owner.ts';
import type { Store } from '../store/store.ts';
import { appendEntry, endReadOnly } from './appendEntry.ts';
import { type NodeKey, nodeCrypto, nodeKeyOf, privateKeyOfSeed } from './checkpoint.ts';
import { fingerprintOf } from './entry.ts';
import type { RecordedSubjects } from './verifyLedger.ts';

/** The key in the data folder is missing, unreadable or not the archive's own. */
export class NodeKeyError extends Error {
  constructor(file: string, what: string) {
    super(
      `The node's key ${file} ${what}. Restore the file from your backup, because checkpoints that others hold refer to it. If it is lost, “strongroom key --renew” creates a new one and records that.`,
    );
    this.name = 'NodeKeyError';
  }
}

/** Returns that many random bytes. */
export type Random = (bytes: number) => Buffer;

/** The path of the node's private key. */
export function keyFile(folder: string): string {
  return join(folder, 'key');
}

/** The path of a new key until the database records it, so that a crash in between leaves a valid key in place. */
function nextKeyFile(folder: string): string {
  return join(folder, 'key.next');
}

/** Reads the private key in a data folder: undefined if there is no file, null if it is not an Ed25519 key. */
export function readPrivateKey(folder: string): Promise<KeyObject | null | undefined> {
  return readKeyIn(keyFile(folder));
}

async function readKeyIn(file: string): Promise<KeyObject | null | undefined> {
  const pem = await orIfMissing(readFile(file, 'utf8'), undefined);
  if (pem === undefined) return undefined;
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : null;
  } catch {
    return null;
  }
}

/**
 * Reads the key pair for the verifier key that the database records.
 *
 * @throws NodeKeyError if the key file is missing, unreadable or another key.
 */
export async function readNodeKey(folder: string, verifierKey: string): Promise<NodeKey> {
  const name = keyNameOf(verifierKey);
  const file = keyFile(folder);
  const privateKey = await readKeyIn(file);
  const key = privateKey && nodeKeyOf(name, privateKey);
  if (key?.verifierKey === verifierKey) return key;
  const next = await readKeyIn(nextKeyFile(folder));
  const nextKey = next && nodeKeyOf(name, next);
  if (nextKey?.verifierKey === verifierKey) return nextKey;
  if (privateKey === undefined) throw new NodeKeyError(file, 'is missing');
  if (privateKey === null) throw new NodeKeyError(file, 'cannot be read as an Ed25519 key');
  throw new NodeKeyError(file, 'is not the key of this archive');
}

/** Returns the name in a verifier key, which is the origin of its checkpoints. */
export function keyNameOf(verifierKey: string): string {
  return verifierKey.split('+', 1)[0] ?? '';
}

/** Returns the hash in a verifier key: eight hex digits. */
function keyHashOf(verifierKey: string): string {
  return verifierKey.split('+', 2)[1] ?? '';
}

/**
 * Returns a random name for a new node; the machine's own name would be private. It has no space and no plus sign, as
 * C2SP signed-note requires.
 */
export function newNodeName(random: Random): string {
  return `node-${random(5).toString('hex')}.local/strongroom`;
}

/** Creates a key with this name and writes it to `key.next`. */
export async function createNextKey(
  folder: string,
  name: string,
  random: Random = randomBytes,
): Promise<NodeKey> {
  const key = nodeKeyOf(name, privateKeyOfSeed(random(32)));
  await writeFileDurably(nextKeyFile(folder), pemOf(key.privateKey), 0o600);
  return key;
}

/** Moves `key.next` to `key` if the database records it as the current key; deletes it otherwise. */
export async function activateNextKey(folder: string, { name, verifierKey }: NodeKey): Promise<void> {
  const next = await readKeyIn(nextKeyFile(folder));
  if (next === undefined) return;
  const isCurrent = next !== null && nodeKeyOf(name, next).verifierKey === verifierKey;
  if (isCurrent) await rename(nextKeyFile(folder), keyFile(folder));
  else await rm(nextKeyFile(folder), { force: true });
  await syncFolder(folder);
}

/** Copies the key file to `key.retired-<hash>` before it is replaced. */
export async function saveRetiredKey(folder: string, name: string): Promise<void> {
  const file = keyFile(folder);
  const key = await readKeyIn(file);
  if (key === undefined) return;
  const suffix = key === null ? 'unreadable' : keyHashOf(nodeKeyOf(name, key).verifierKey);
  await writeFileDurably(`${file}.retired-${suffix}`, await readFile(file, 'utf8'), 0o600);
}

function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** A change of the node's key that is not in the ledger yet. */
export type NewKeyChange =
  | { type: 'key.renewed'; record: KeyRenewal }
  | { type: 'ledger.rolled_back'; record: Rollback };

/** Records a change of the node's key and makes the new key current, inside the caller's transaction. */
export function recordKeyChange(database: WriteDatabase, { type, record }: NewKeyChange): void {
  const { new_key: subject, at } = record;
  endReadOnly(database);
  const { seq } = appendEntry(database, { type, subject, digest: fingerprintOf(record), at });
  insertKeyChange(database, { ledger_entry: seq, type, record });
  writeSetting(database, 'verifier_key', subject);
}

/** Returns a page of the node's key changes, newest first. */
export function listKeyChanges(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): Slice<KeyChange> {
  const { items, total } = keyChangesPage(read, page);
  return { items: items.map(asKeyChange), total };
}

/** Returns all changes of the node's key, in ledger order. */
export function readKeyChanges(database: ReadDatabase): KeyChange[] {
  return allKeyChanges(database).map(asKeyChange);
}

function asKeyChange({ type, ledger_entry, record }: KeyChangeRow): KeyChange {
  return keyChangeSchema.parse({ type, ledger_entry, ...(record as object) });
}

/** Signs the new key with the old one; the signature is in base64. */
export function signRenewal(oldKey: KeyObject, oldVerifierKey: string, newVerifierKey: string): string {
  return sign(null, Buffer.from(renewalText(oldVerifierKey, newVerifierKey)), oldKey).toString('base64');
}

/** Whether the old key signed a renewal. */
export function isSignedRenewal(oldKey: string, newKey: string, signature: string): boolean {
  const text = Buffer.from(renewalText(oldKey, newKey));
  return ifValid(() => verifyBy(oldKey, text, strictBase64(signature), nodeCrypto)) ?? false;
}

/** Recomputes the recorded digests of key changes for the verification of the ledger. */
export const KEY_SUBJECTS: readonly RecordedSubjects[] = (['key.renewed', 'ledger.rolled_back'] as const).map(
  (type) => ({
    types: [type],
    *digests(database) {
      for (const change of allKeyChanges(database))
        if (change.type === type) yield { seq: change.ledger_entry, digest: fingerprintOf(change.record) };
    },
  }),
);

/*
 * A second key of the node, which signs packages for other programs: they verify ECDSA, and not the Ed25519 of the node's
 * own key. An entry of the ledger says that it is the node's. Its subject is the public key itself, so no row is needed.
 */

const CERTIFIED = 'key.certified';
/** The setting that holds the number of the newest such entry, so that it need not be searched for. */
const ENTRY = 'certified_key';
/** The name that OpenSSL gives to P-384. */
const CURVE = 'secp384r1';

/** A key that signs packages. */
interface PackageKey {
  /** In base64, as SubjectPublicKeyInfo. */
  publicKey: string;
  /** The number of the ledger entry that certifies it. */
  entry: number;
  /** Signs a text with ECDSA and SHA-256, as WebCrypto does; in base64. */
  sign: (text: string) => string;
}

/**
 * Returns the key of the node that signs packages. It is made when it is first needed: on stable storage first, then
 * certified by an entry of the ledger. A key that the ledger does not name, as after the restore of a dump, is certified now.
 *
 * @throws Problem `archive_read_only` if the ledger would have to certify it; the errors of `Store.write`
 */
export async function openPackageKey(store: Store): Promise<PackageKey> {
  let opening = opened.get(store);
  if (!opening) {
    opening = open(store);
    opened.set(store, opening);
    // The next caller tries again.
    opening.catch(() => opened.delete(store));
  }
  return opening;
}

/** One key for each open archive, so that two first requests do not make two. */
const opened = new WeakMap<Store, Promise<PackageKey>>();

async function open(store: Store): Promise<PackageKey> {
  const file = join(store.folder, 'wacz-key');
  const privateKey = (await readKey(file)) ?? (await createKey(file));
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).toString('base64');
  const entry = certifyingEntry(store.read, publicKey) ?? (await certify(store, publicKey));
  return {
    publicKey,
    entry,
    sign: (text) =>
      sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64'),
  };
}

/** Returns the number of the entry that certifies a key; undefined if there is none. */
function certifyingEntry(database: ReadDatabase, publicKey: string): number | undefined {
  const seq = readSetting(database, ENTRY);
  const entry = typeof seq === 'number' ? entryAt(database, seq) : undefined;
  return entry?.type === CERTIFIED && entry.subject === publicKey ? entry.seq : undefined;
}

function certify(store: Store, publicKey: string): Promise<number> {
  const digest = certifiedKeyDigest(publicKey);
  const recorded = { type: CERTIFIED, subject: publicKey, digest, at: store.instant() } as const;
  return store.write((database) => {
    const { seq } = appendEntry(database, recorded);
    writeSetting(database, ENTRY, seq);
    return seq;
  });
}

/** Reads the key; undefined if there is none, or it cannot be read as one: then a new one is made and certified. */
async function readKey(file: string): Promise<KeyObject | undefined> {
  let pem: string;
  try {
    pem = await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === CURVE ? key : undefined;
  } catch {
    return undefined;
  }
}

async function createKey(file: string): Promise<KeyObject> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: CURVE });
  await writeFileDurably(file, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), 0o600);
  return privateKey;
}

/** Returns the digest of the entry that certifies a key. */
function certifiedKeyDigest(publicKey: string): string {
  return fingerprintOf(certifiedKeyRecord(publicKey));
}

/** Whether an entry is its own record: nothing else is stored of what it recorded. */
export function isOwnRecord({ type, subject, digest }: LedgerEntry): boolean {
  return type === CERTIFIED && digest === certifiedKeyDigest(subject);
}

/** Recomputes the digests of certified keys from their entries. */
export const CERTIFIED_KEY_SUBJECTS: RecordedSubjects = {
  types: [CERTIFIED],
  *digests(database) {
    for (const { seq, subject } of iterateEntriesOf(database, CERTIFIED))
      yield { seq, digest: certifiedKeyDigest(subject) };
  },
};
