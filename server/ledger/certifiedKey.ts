import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { certifiedKeyRecord, type LedgerEntry } from '../../shared/ledger/ledger.ts';
import { isMissing, writeFileDurably } from '../store/files.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { entryAt, iterateEntriesOf } from '../store/sqlite/node/ledger.ts';
import { readSetting, writeSetting } from '../store/sqlite/node/owner.ts';
import type { Store } from '../store/store.ts';
import { appendEntry } from './appendEntry.ts';
import { fingerprintOf } from './entry.ts';
import type { RecordedSubjects } from './verifyLedger.ts';

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
export interface PackageKey {
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
export function certifiedKeyDigest(publicKey: string): string {
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
