import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../shared/problems.ts';
import { orIfMissing, writeFileDurably } from '../../store/files.ts';
import type { SealedContent } from '../../store/sqlite/collection/profiles.ts';
import { countItems, type ProfileContent } from './readProfile.ts';

/** The file of the key with which profiles are encrypted. It is in no dump and no copy. */
export function profileKeyFile(folder: string): string {
  return join(folder, 'profiles.key');
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** Reads the key of the profiles. @throws Problem `profile_key_damaged` */
export async function readProfileKey(folder: string): Promise<Buffer> {
  const file = profileKeyFile(folder);
  const text = await orIfMissing(readFile(file, 'utf8'), undefined);
  if (text === undefined)
    throw damaged(
      `The file ${file} is missing, without which no profile can be read. Put it back from your backup, or delete the profiles and log in again.`,
    );
  if (!/^[0-9a-f]{64}\n?$/.test(text))
    throw damaged(
      `The file ${file} is not the key of the profiles. Put it back from your backup, or delete the profiles and log in again.`,
    );
  return Buffer.from(text.trim(), 'hex');
}

/** Makes a new key, in place of any that nothing is encrypted with. */
export async function makeProfileKey(folder: string): Promise<Buffer> {
  const key = randomBytes(KEY_BYTES);
  await writeFileDurably(profileKeyFile(folder), `${key.toString('hex')}\n`, 0o600);
  return key;
}

/** Encrypts the content of a profile, and says of it what may be shown. */
export function seal(key: Buffer, id: string, content: ProfileContent): SealedContent {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(nameOf(id));
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(content), 'utf8'), cipher.final()]);
  const ends = content.cookies.flatMap(({ expires }) => expires ?? []);
  return {
    sealed: Buffer.concat([nonce, cipher.getAuthTag(), encrypted]),
    cookies: content.cookies.length,
    storage_items: countItems(content),
    expires_at: ends.length === 0 ? null : new Date(Math.min(...ends)).toISOString(),
  };
}

/** Decrypts the content of a profile. @throws Problem `profile_key_damaged` if it was sealed with another key or for another id */
export function unseal(key: Buffer, id: string, sealed: Buffer): ProfileContent {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce).setAAD(nameOf(id)).setAuthTag(tag);
    const encrypted = sealed.subarray(NONCE_BYTES + TAG_BYTES);
    const text = Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8');
    return JSON.parse(text) as ProfileContent;
  } catch (cause) {
    throw damaged(
      'This profile was encrypted with another key, or was altered. Put profiles.key back from your backup, or log in again.',
      cause,
    );
  }
}

/** What is encrypted for one profile cannot be put in the place of another. */
function nameOf(id: string): Buffer {
  return Buffer.from(`strongroom profile ${id}`, 'utf8');
}

function damaged(message: string, cause?: unknown): Problem {
  return new Problem('profile_key_damaged', message, cause === undefined ? {} : { cause });
}
