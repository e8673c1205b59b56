import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { nodeKeyOf } from '../../ledger/checkpoint.ts';
import { keyFile, keyNameOf, NodeKeyError, readNodeKey } from '../../ledger/nodeKey.ts';
import { KEY } from '../copyPaths.ts';
import { CopyError, type CopyTarget, readBytes } from '../targets/target.ts';
import { runAge } from './age.ts';
import { identityIn, withheldKey } from './withheldKey.ts';

const MAX_BYTES = 65_536;

/** The keys that a copy holds: that of the archive as PEM, and the identities that decrypt withheld objects, one on each line. */
export interface KeptKeys {
  key: string;
  /** undefined if an earlier version put the key there. */
  identity: string | undefined;
}

/**
 * Writes the key of an archive, and the owner's key for withheld objects, into a copy, encrypted with a passphrase (age,
 * C2SP), and reads the file back. Returns the recipient of the latter.
 *
 * @throws CopyError, also if the key is not in the data folder
 */
export async function putKey(
  target: CopyTarget,
  archive: { folder: string; verifierKey: string },
  { passphrase, put }: { passphrase: string; put: (bytes: Buffer) => Promise<void> },
): Promise<string> {
  try {
    await readNodeKey(archive.folder, archive.verifierKey);
  } catch (cause) {
    if (cause instanceof NodeKeyError) throw new CopyError(cause.message, { cause });
    throw cause;
  }
  const pem = await readFile(keyFile(archive.folder), 'utf8');
  const { identity, recipient } = await withheldKey(archive.folder);
  const text = `${pem.trimEnd()}\n${identity}\n`;
  const bytes = Buffer.from(await runAge<Uint8Array>({ encrypt: text, passphrase }));
  await put(bytes);
  if (!(await readBytes(target, KEY, MAX_BYTES))?.equals(bytes))
    throw new CopyError(`The key could not be read back from ${target.name}. Try again.`);
  return recipient;
}

/**
 * Reads the keys of an archive from its copy.
 *
 * @throws CopyError if there is none, the passphrase is wrong, or it is another key
 */
export async function readKey(target: CopyTarget, passphrase: string): Promise<KeptKeys> {
  const bytes = await readBytes(target, KEY, MAX_BYTES);
  if (!bytes) throw new CopyError(`The copy in ${target.name} does not hold the key. Restore without --key.`);
  try {
    const text = await runAge<string>({ decrypt: bytes, passphrase });
    const identity = identityIn(text);
    return { key: identity === undefined ? text : text.replace(`${identity}\n`, ''), identity };
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
