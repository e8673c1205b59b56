import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isMissing } from '../store/blobs/blobStore.ts';
import { writeFileDurably } from '../store/blobs/durableFile.ts';
import { createSession, hasSession, removeSession } from '../store/sqlite/ownerSessions.ts';
import type { Store } from '../store/store.ts';

/**
 * How the owner is known: a token in a file that only the owner's account can read, one-time sign-in codes, and the
 * sessions of browsers that used one. Codes live in memory; sessions are kept as digests only.
 */
export interface OwnerKeys {
  readonly tokenFile: string;
  isToken(text: string): boolean;
  /** A code that signs one browser in, once. */
  createSignInCode(): string;
  /** Spends a code; answers the new session's secret, or undefined where the code is unknown or spent. */
  spendSignInCode(code: string): Promise<string | undefined>;
  isSession(secret: string): boolean;
  endSession(secret: string): Promise<void>;
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
    async spendSignInCode(code) {
      if (!openCodes.delete(code)) return undefined;
      const secret = store.randomHex(64);
      await store.write((database) => createSession(database, digestOf(secret), store.instant()));
      return secret;
    },
    isSession: (secret) => hasSession(store.read, digestOf(secret)),
    endSession: (secret) => store.write((database) => removeSession(database, digestOf(secret))),
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

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Compares digests, so that neither length nor content shows in the time it takes. */
function sameSecret(left: string, right: string): boolean {
  return timingSafeEqual(
    createHash('sha256').update(left).digest(),
    createHash('sha256').update(right).digest(),
  );
}
