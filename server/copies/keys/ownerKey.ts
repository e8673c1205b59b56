import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { nodeKeyOf } from '../../ledger/checkpoint.ts';
import { keyFile, keyNameOf, NodeKeyError, readNodeKey } from '../../ledger/nodeKey.ts';
import { runWorker } from '../../runtime/runWorker.ts';
import { workerUrl } from '../../runtime/workerUrl.ts';
import { KEY } from '../copyPaths.ts';
import { readBytes } from '../readBytes.ts';
import { CopyError, type CopyTarget } from '../targets/target.ts';
import type { AgeTask } from './ageKey.worker.ts';

const MAX_BYTES = 65_536;

/**
 * Writes the key of an archive into its copy, encrypted with a passphrase (age, C2SP), and reads it back.
 *
 * @throws CopyError, also if the key is not in the data folder
 */
export async function putKey(
  target: CopyTarget,
  archive: { folder: string; verifierKey: string },
  passphrase: string,
): Promise<void> {
  try {
    await readNodeKey(archive.folder, archive.verifierKey);
  } catch (cause) {
    if (cause instanceof NodeKeyError) throw new CopyError(cause.message, { cause });
    throw cause;
  }
  const pem = await readFile(keyFile(archive.folder), 'utf8');
  const bytes = Buffer.from(await inThread<Uint8Array>({ encrypt: pem, passphrase }));
  await target.put(KEY, { bytes }, { type: 'application/octet-stream' });
  await target.settle();
  if (!(await readBytes(target, KEY, MAX_BYTES))?.equals(bytes))
    throw new CopyError(`The key could not be read back from ${target.name}. Try again.`);
}

/**
 * Reads the key of an archive from its copy. Returns the private key as PEM.
 *
 * @throws CopyError if there is none, the passphrase is wrong, or it is another key
 */
export async function readKey(target: CopyTarget, passphrase: string): Promise<string> {
  const bytes = await readBytes(target, KEY, MAX_BYTES);
  if (!bytes) throw new CopyError(`The copy in ${target.name} does not hold the key. Restore without --key.`);
  try {
    return await inThread<string>({ decrypt: bytes, passphrase });
  } catch (cause) {
    throw new CopyError(`The passphrase is not that of the key in ${target.name}, or the key was altered.`, {
      cause,
    });
  }
}

/** @throws CopyError if a private key is not the one of this verifier key */
export function requireKeyOf(pem: string, verifierKey: string, target: CopyTarget): void {
  try {
    if (nodeKeyOf(keyNameOf(verifierKey), createPrivateKey(pem)).verifierKey === verifierKey) return;
  } catch (cause) {
    throw new CopyError(`The file of the key in ${target.name} does not contain a key.`, { cause });
  }
  throw new CopyError(
    `The key in ${target.name} is not the one that signed the copy: the archive got a new key later. Restore without --key.`,
  );
}

function inThread<Result>(task: AgeTask): Promise<Result> {
  return runWorker<Result>(workerUrl('ageKey', import.meta.url), task);
}
