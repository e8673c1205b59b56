import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isMissing } from '../store/blobs/blobStore.ts';
import { writeFileDurably } from '../store/blobs/durableFile.ts';
import type { Store } from '../store/store.ts';

/**
 * How the owner is known at first: a token in a file that only the owner's account can read, and one-time sign-in codes,
 * which live in memory. A browser that used one has a session (`OwnerSessions`).
 */
export interface OwnerKeys {
  readonly tokenFile: string;
  isToken(text: string): boolean;
  /** A code that signs one browser in, once. */
  createSignInCode(): string;
  /** Spends a code; false where it is unknown or spent. */
  spendSignInCode(code: string): boolean;
}

/** Codes that nobody used are forgotten, oldest first, beyond this many. */
const MAX_OPEN_CODES = 20;

/** Opens the token file, or makes it with a fresh token; mode 0600. */
export async function openOwnerKeys(store: Store, tokenFile: string): Promise<OwnerKeys> {
  const token = await readOrCreateToken(store, tokenFile);
  const openCodes = new Set<string>();
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
  await writeFileDurably(file, token, 0o600);
  return token;
}

/** Compares digests, so that neither length nor content shows in the time it takes. */
function sameSecret(left: string, right: string): boolean {
  return timingSafeEqual(
    createHash('sha256').update(left).digest(),
    createHash('sha256').update(right).digest(),
  );
}
