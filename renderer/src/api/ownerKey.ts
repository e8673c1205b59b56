import { hexToBytes } from '@noble/hashes/utils.js';
import { concat, toBase64, utf8 } from '../../../shared/proof/crypto/bytes.ts';

/**
 * The key with which this browser proves to a node that its owner signed in here. WebCrypto makes it so that no script
 * can read it. It is bytes where WebCrypto is missing: over plain HTTP from another machine.
 */
export interface OwnerKey {
  /** SubjectPublicKeyInfo in DER, in base64. */
  publicKey: string;
  privateKey: CryptoKey | Uint8Array<ArrayBuffer>;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const;
/** What precedes the uncompressed point of a public key on P-256 (RFC 5480). */
const P256_PREFIX = hexToBytes('3059301306072a8648ce3d020106082a8648ce3d030107034200');

/** Makes a key. It is not stored. */
export async function createKey(): Promise<OwnerKey> {
  if (!window.isSecureContext) {
    const { p256 } = await import('@noble/curves/nist.js');
    const privateKey = p256.utils.randomSecretKey();
    const point = p256.getPublicKey(privateKey, false);
    return { publicKey: toBase64(concat(P256_PREFIX, point)), privateKey: new Uint8Array(privateKey) };
  }
  const { publicKey, privateKey } = await crypto.subtle.generateKey(ALGORITHM, false, ['sign']);
  const spki = await crypto.subtle.exportKey('spki', publicKey);
  return { publicKey: toBase64(new Uint8Array(spki)), privateKey };
}

/** Returns the signature of a text as r and s, in base64. */
export async function signText({ privateKey }: OwnerKey, text: string): Promise<string> {
  if (privateKey instanceof Uint8Array) {
    const { p256 } = await import('@noble/curves/nist.js');
    return toBase64(p256.sign(utf8(text), privateKey));
  }
  const signature = await crypto.subtle.sign(SIGNATURE, privateKey, new Uint8Array(utf8(text)));
  return toBase64(new Uint8Array(signature));
}

/** Browsers keep a database for each scheme, host and port on its own. */
const DATABASE = 'strongroom-owner';
/** One key for each node by its name: nodes may follow each other at one address. */
const KEYS = 'keys';

/** Returns the names of the nodes of which this browser has a key. None if it stores nothing, as some private windows. */
export async function namesOfKeys(): Promise<string[]> {
  return (await inStore('readonly', (keys) => keys.getAllKeys(), [])).map(String);
}

export async function readKey(node: string): Promise<OwnerKey | undefined> {
  return inStore<OwnerKey | undefined>('readonly', (keys) => keys.get(node), undefined);
}

/** Stores a key. A browser that stores nothing is signed in until the page is loaded again. */
export async function storeKey(node: string, key: OwnerKey): Promise<void> {
  await inStore<IDBValidKey>('readwrite', (keys) => keys.put(key, node), node);
}

async function inStore<Result>(
  mode: IDBTransactionMode,
  act: (keys: IDBObjectStore) => IDBRequest<Result>,
  withoutStorage: Result,
): Promise<Result> {
  try {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(KEYS);
    const database = await resultOf(opening);
    try {
      return await resultOf(act(database.transaction(KEYS, mode).objectStore(KEYS)));
    } finally {
      database.close();
    }
  } catch {
    // Some browsers store nothing in private windows. The page works without.
    return withoutStorage;
  }
}

function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('The database of this browser failed.'));
  });
}
