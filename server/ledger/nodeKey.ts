import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../store/blobs/blobStore.ts';
import { syncFolder, writeFileDurably } from '../store/blobs/durableFile.ts';
import { type NodeKey, nodeKeyOf, privateKeyOfSeed } from './checkpoint.ts';

/** The data folder's key is not the one that its checkpoints were signed with. */
export class NodeKeyError extends Error {
  constructor(file: string, what: string) {
    super(
      `The node's key ${file} ${what}. Put the file back from your backup: checkpoints that others keep name it. If it is lost, “strongroom key --renew” makes a new one and records that.`,
    );
    this.name = 'NodeKeyError';
  }
}

/** Gives that many random bytes. */
export type Random = (bytes: number) => Buffer;

/** Where a node's private key is kept. */
export function keyFile(folder: string): string {
  return join(folder, 'key');
}

/** Where a new key waits until the database names it: a crash between the two leaves one of them in place. */
function nextKeyFile(folder: string): string {
  return join(folder, 'key.next');
}

/** The private key in a data folder: undefined where there is no file, null where it cannot be read as a key. */
export function readPrivateKey(folder: string): Promise<KeyObject | null | undefined> {
  return readKeyIn(keyFile(folder));
}

async function readKeyIn(file: string): Promise<KeyObject | null | undefined> {
  let pem: string;
  try {
    pem = await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? key : null;
  } catch {
    return null;
  }
}

/**
 * The identity that a data folder's database knows.
 *
 * @throws NodeKeyError where its key is missing, unreadable or another.
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
  throw new NodeKeyError(file, 'is another key than the one this archive was made with');
}

/** The name in a verifier key, which is the origin of its checkpoints. */
export function keyNameOf(verifierKey: string): string {
  return verifierKey.split('+', 1)[0] ?? '';
}

/** The hash in a verifier key: eight hex digits. */
export function hashIn(verifierKey: string): string {
  return verifierKey.split('+', 2)[1] ?? '';
}

/**
 * A name for a new node: random, because a machine's own name is nobody's business; no space and no plus sign, as C2SP
 * signed-note asks.
 */
export function newName(random: Random): string {
  return `node-${random(5).toString('hex')}.local/strongroom`;
}

/** Makes a key of this name and keeps it where it waits to be taken into use. */
export async function createNextKey(
  folder: string,
  name: string,
  random: Random = randomBytes,
): Promise<NodeKey> {
  const key = nodeKeyOf(name, privateKeyOfSeed(random(32)));
  await writeFileDurably(nextKeyFile(folder), pemOf(key.privateKey), 0o600);
  return key;
}

/** Takes the waiting key into use where the database names it by now, and forgets one that it does not name. */
export async function activateNextKey(folder: string, { name, verifierKey }: NodeKey): Promise<void> {
  const next = await readKeyIn(nextKeyFile(folder));
  if (next === undefined) return;
  const isNamed = next !== null && nodeKeyOf(name, next).verifierKey === verifierKey;
  if (isNamed) await rename(nextKeyFile(folder), keyFile(folder));
  else await rm(nextKeyFile(folder), { force: true });
  await syncFolder(folder);
}

/** Keeps the key file that is there under another name, for it is about to be replaced. */
export async function saveRetiredKey(folder: string, name: string): Promise<void> {
  const file = keyFile(folder);
  const key = await readKeyIn(file);
  if (key === undefined) return;
  const as = key === null ? 'unreadable' : hashIn(nodeKeyOf(name, key).verifierKey);
  await writeFileDurably(`${file}.retired-${as}`, await readFile(file, 'utf8'), 0o600);
}

function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}
