import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../store/blobs/blobStore.ts';
import { writeFileDurably } from '../store/blobs/durableFile.ts';
import { readSetting, writeSetting } from '../store/sqlite/settings.ts';
import type { Store } from '../store/store.ts';
import { type NodeKey, nodeKeyOf, privateKeyOfSeed } from './checkpoint.ts';

/** The data folder's key is not the one that its checkpoints were signed with. */
export class NodeKeyError extends Error {
  constructor(file: string, what: string) {
    super(
      `The node's key ${file} ${what}. Put the file back from your backup: checkpoints that others keep name it.`,
    );
    this.name = 'NodeKeyError';
  }
}

/**
 * Opens the node's identity: its name (random, because a machine's own name is nobody's business; no space and no
 * plus sign, as C2SP signed-note asks) and its Ed25519 key, both made at first start and never changed.
 *
 * @throws NodeKeyError where the key was made once and is missing, unreadable or another.
 */
export async function openNodeKey(store: Store): Promise<NodeKey> {
  const made = await findNodeKey(store);
  if (made) return made;
  const name = `node-${store.randomHex(10)}.local/strongroom`;
  const privateKey = privateKeyOfSeed(Buffer.from(store.randomHex(64), 'hex'));
  await writeFileDurably(
    keyFile(store),
    privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    0o600,
  );
  const key = nodeKeyOf(name, privateKey);
  await store.write((database) => writeSetting(database, 'verifier_key', key.verifierKey));
  return key;
}

/**
 * The identity that a data folder has, or undefined where it was never opened by a node.
 *
 * @throws NodeKeyError as `openNodeKey`
 */
export async function findNodeKey(store: Pick<Store, 'folder' | 'read'>): Promise<NodeKey | undefined> {
  const known = readSetting(store.read, 'verifier_key');
  return typeof known === 'string' ? readKey(keyFile(store), known) : undefined;
}

function keyFile({ folder }: Pick<Store, 'folder'>): string {
  return join(folder, 'key');
}

async function readKey(file: string, known: string): Promise<NodeKey> {
  const pem = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) throw new NodeKeyError(file, 'is missing');
    throw error;
  });
  let key: NodeKey;
  try {
    key = nodeKeyOf(known.split('+', 1)[0] ?? '', createPrivateKey(pem));
  } catch {
    throw new NodeKeyError(file, 'cannot be read as an Ed25519 key');
  }
  if (key.verifierKey !== known)
    throw new NodeKeyError(file, 'is another key than the one this archive was made with');
  return key;
}
