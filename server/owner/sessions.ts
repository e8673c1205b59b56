import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type OwnerSession, SESSION_DAYS } from '../../shared/node/owner.ts';
import { Problem } from '../../shared/problems.ts';
import { instantOf } from '../../shared/values/clock.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { Log } from '../runtime/log.ts';
import { isMissing } from '../store/blobs/blobStore.ts';
import { createFolder, writeFileDurably } from '../store/files.ts';
import {
  insertSession,
  recordSessionUse,
  removeSession,
  removeSessionById,
  removeSessionsUsedBefore,
  sessionByToken,
  sessionsUsedSince,
} from '../store/sqlite/node/owner.ts';
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

const DAY_MS = 86_400_000;
export const SESSION_MS = SESSION_DAYS * DAY_MS;
/** The last use of a session is stored at most this often, so that reading rarely writes. */
const USE_UPDATE_INTERVAL_MS = 3_600_000;

/** A session that has not ended. */
interface ActiveSession {
  id: string;
  /** Whether the stored time of its last use should be updated. */
  needsUseUpdate: boolean;
}

/**
 * The sessions of browsers that are signed in as the owner. A session expires when it is not used for 30 days. Only the
 * digest of its secret is stored.
 */
export class OwnerSessions {
  readonly #store: Store;
  readonly #log: Log;
  readonly #updating = new Set<string>();

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Signs a browser in and returns the secret of its new session.
   *
   * @param replaced the secret of the browser's former session, which ends
   */
  async begin(label: string, replaced?: string): Promise<string> {
    const secret = this.#store.randomHex(64);
    const session = {
      id: `se_${this.#store.randomHex(20)}`,
      tokenSha256: digestOf(secret),
      at: this.#store.instant(),
      label,
    };
    await this.#store.write((database) => {
      if (replaced !== undefined) removeSession(database, digestOf(replaced));
      removeSessionsUsedBefore(database, this.#oldest());
      insertSession(database, session);
    });
    return secret;
  }

  /** Returns the session with this secret, unless it has ended. */
  find(secret: string): ActiveSession | undefined {
    const row = sessionByToken(this.#store.read, digestOf(secret));
    if (!row) return undefined;
    const unused = this.#store.clock.now() - Date.parse(row.last_used_at);
    return unused > SESSION_MS ? undefined : { id: row.id, needsUseUpdate: unused >= USE_UPDATE_INTERVAL_MS };
  }

  /** Stores that a session was used now, in the background. A crash can only shorten the session by an hour. */
  note(secret: string): void {
    const digest = digestOf(secret);
    if (this.#updating.has(digest)) return;
    this.#updating.add(digest);
    const at = this.#store.instant();
    this.#store
      .write((database) => recordSessionUse(database, digest, at))
      .catch((error: unknown) =>
        this.#log.warn({ error }, 'The use of a session could not be stored; the next request tries again.'),
      )
      .finally(() => this.#updating.delete(digest));
  }

  /** Returns a page of the sessions, last used first. `current` marks the one with this secret. */
  list(page: { limit: number; offset: number }, secret: string | undefined): Slice<OwnerSession> {
    const current = secret === undefined ? undefined : this.find(secret)?.id;
    const { items, total } = sessionsUsedSince(this.#store.read, this.#oldest(), page);
    return { items: items.map((item) => ({ ...item, current: item.id === current })), total };
  }

  /** Ends the session with this secret. */
  async end(secret: string): Promise<void> {
    await this.#store.write((database) => removeSession(database, digestOf(secret)));
  }

  /** @throws Problem `not_found` */
  async endById(id: string): Promise<void> {
    if (await this.#store.write((database) => removeSessionById(database, id))) return;
    throw new Problem('not_found', 'There is no such session; it may have ended.');
  }

  #oldest(): string {
    return instantOf(this.#store.clock.now() - SESSION_MS);
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Patterns for `User-Agent`, most specific first: most browsers also name the ones that they are based on. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bElectron\//, 'Strongroom’s window'],
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrom(e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];
const MAX_LENGTH = 60;

/** Returns a short name for a browser, such as “Firefox on Linux”; else the beginning of its `User-Agent`. */
export function browserName(userAgent = ''): string {
  const nameIn = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)];
  if (browser !== undefined && system !== undefined) return `${browser} on ${system}`;
  return browser ?? userAgent.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_LENGTH);
}
