import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../store/blobs/blobStore.ts';
import { createFolder, writeFileDurably } from '../store/files.ts';
import type { Store } from '../store/store.ts';

/**
 * The owner's first credentials: a token in a file that only the owner's account can read, and one-time sign-in codes,
 * which are kept in memory. A browser that used a code has a session (`OwnerSessions`).
 */
export interface OwnerKeys {
  readonly tokenFile: string;
  isToken(text: string): boolean;
  /** Creates a code that signs one browser in, once. */
  createSignInCode(): string;
  /** Uses a code up; returns false if it is unknown or was used. */
  spendSignInCode(code: string): boolean;
}

/** At most so many unused codes are kept; the oldest are dropped. */
const MAX_OPEN_CODES = 20;

/** Reads the token file, or creates it (mode 0600) with a new token. `signInCode` is a first code that is not used yet. */
export async function openOwnerKeys(
  store: Store,
  tokenFile: string,
  signInCode?: string,
): Promise<OwnerKeys> {
  const token = await readOrCreateToken(store, tokenFile);
  const openCodes = new Set(signInCode === undefined ? [] : [signInCode]);
  return {
    tokenFile,
    isToken: (text) => sameSecret(text, token),
    createSignInCode() {
      const code = store.randomHex(32);
      openCodes.add(code);
      for (const oldest of openCodes) {
        if (openCodes.size <= MAX_OPEN_CODES) break;
        openCodes.delete(oldest);
      }
      return code;
    },
    spendSignInCode: (code) => openCodes.delete(code),
  };
}

async function readOrCreateToken(store: Store, file: string): Promise<string> {
  try {
    const kept = (await readFile(file, 'utf8')).trim();
    if (kept.length >= 32) return kept;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const token = store.randomHex(64);
  // The command line may name another folder.
  await createFolder(dirname(file));
  await writeFileDurably(file, token, 0o600);
  return token;
}

/** Compares digests in constant time, so that the duration reveals neither length nor content. */
export function sameSecret(left: string, right: string): boolean {
  return timingSafeEqual(
    createHash('sha256').update(left).digest(),
    createHash('sha256').update(right).digest(),
  );
}
