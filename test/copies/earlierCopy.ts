import { text } from 'node:stream/consumers';
import { Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import type { CopyServices } from '../../server/copies/claim.ts';
import { CopyFiles } from '../../server/copies/copyFiles.ts';
import { readIdentity, saveIdentity } from '../../server/copies/keys/copyKeys.ts';
import { openTarget, type TargetAddress } from '../../server/copies/targets/openTarget.ts';
import { allCopies } from '../../server/store/sqlite/node/copies.ts';
import { sha256Of } from '../support/archive/packs.ts';

/** Returns the owner's key of a data folder, which gets one if it has none. */
export async function ownKey(folder: string): Promise<string> {
  const known = await readIdentity(folder);
  if (known !== undefined) return known;
  const identity = await generateX25519Identity();
  await saveIdentity(folder, identity);
  return identity;
}

/** Encrypts bytes as versions before 1.0 did. */
export async function encryptedAsEarlier(bytes: string, identity: string): Promise<Buffer> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identity));
  return Buffer.from(await encrypter.encrypt(bytes));
}

/** Puts an object into the copy of an archive as versions before 1.0 did: encrypted, and in the signed list. */
export async function putEncrypted(
  services: CopyServices,
  place: TargetAddress,
  bytes: string,
): Promise<void> {
  const { store } = services;
  const [copy] = allCopies(store.read);
  if (!copy) throw new Error('The archive has no copy.');
  const target = await openTarget(place);
  try {
    const files = new CopyFiles(services, copy.id, target);
    const payload = { bytes: await encryptedAsEarlier(bytes, await ownKey(store.folder)) };
    const path = `withheld/${sha256Of(bytes)}.age`;
    await files.send({ path, payload, type: 'application/octet-stream' });
    const note = await target.read('checkpoint');
    await files.update(note && (await text(note)));
  } finally {
    await target.close();
  }
}
