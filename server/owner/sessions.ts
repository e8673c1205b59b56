import {
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type OwnerSession,
  type RunToken,
  SESSION_DAYS,
  type SessionProof,
} from '../../shared/node/owner.ts';
import { MAX_TICKET_MS, RUN_TOKEN_PREFIX, signedText, ticketText } from '../../shared/node/session.ts';
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
  removeSessionByKey,
  removeSessionsElsewhere,
  removeSessionsUsedBefore,
  type SessionPlace,
  sessionById,
  sessionByKey,
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
  /** Uses the code of a link up, for a code that the page exchanges with its key; undefined if it is unknown or was used. */
  spendSignInCode(code: string): string | undefined;
  isPageCode(code: string): boolean;
  /** Uses the code of a page up; returns false if it is unknown or was used. */
  spendPageCode(code: string): boolean;
  /**
   * What a browser on another machine sends to get the program of the interface while the node is not shared. It opens
   * nothing else, so that nothing is lost if others read it.
   */
  readonly door: string;
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
  const pageCodes = new Set<string>();
  const createCode = (codes: Set<string>) => {
    const code = store.randomHex(32);
    addBounded(codes, code, MAX_OPEN_CODES);
    return code;
  };
  return {
    tokenFile,
    isToken: (text) => sameSecret(text, token),
    createSignInCode: () => createCode(openCodes),
    spendSignInCode: (code) => (openCodes.delete(code) ? createCode(pageCodes) : undefined),
    isPageCode: (code) => pageCodes.has(code),
    spendPageCode: (code) => pageCodes.delete(code),
    door: createHmac('sha256', token).update('interface').digest('hex'),
  };
}

/** Adds an item, and drops the oldest ones beyond a number. */
function addBounded(items: Set<string>, item: string, most: number): void {
  items.add(item);
  for (const oldest of items) {
    if (items.size <= most) break;
    items.delete(oldest);
  }
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

export type { SessionPlace };

const DAY_MS = 86_400_000;
const SESSION_MS = SESSION_DAYS * DAY_MS;
/** The last use of a session is stored at most this often, so that reading rarely writes. */
const USE_UPDATE_INTERVAL_MS = 3_600_000;
/** A page signs its challenge at once, so that visitors cannot displace it by asking for others. */
const MAX_CHALLENGES = 10_000;
const RUN_TOKEN = new RegExp(`^${RUN_TOKEN_PREFIX}(se_[0-9a-f]{20})-([0-9a-f]{64})$`);

/** A session that has not ended. */
interface ActiveSession {
  id: string;
  /** Whether the stored time of its last use should be updated. */
  needsUseUpdate: boolean;
}

/** A ticket, and the path and query that it was sent with. */
export interface SentTicket {
  session: string;
  expires: number;
  mac: string;
  target: string;
}

/**
 * The sessions of pages that are signed in as the owner. A page proves with its key that it has a session, for a token
 * that is valid until the node stops: what an impostor of a stopped node is sent is worth nothing afterwards. A session
 * expires when it is not used for 30 days. The node keeps no secret of it.
 */
export class OwnerSessions {
  readonly #store: Store;
  readonly #log: Log;
  readonly #updating = new Set<string>();
  readonly #challenges = new Set<string>();
  /** What stops each response that is being sent to a session. */
  readonly #stops = new Map<string, Set<() => void>>();
  /** Part of the tokens of all sessions: they are invalid after a restart. */
  readonly #run: string;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#run = store.randomHex(64);
  }

  /** Returns what a page has to sign, once. */
  createChallenge(): string {
    const challenge = this.#store.randomHex(64);
    addBounded(this.#challenges, challenge, MAX_CHALLENGES);
    return challenge;
  }

  /**
   * Signs a page in. A session that its key had before ends.
   *
   * @throws Problem `sign_in_refused` without using the code up
   */
  async begin(
    proof: SessionProof & { code: string },
    { keys, place, label }: { keys: OwnerKeys; place: SessionPlace; label: string },
  ): Promise<RunToken> {
    const publicKey = keys.isPageCode(proof.code) ? this.#verify(proof, place.origin) : undefined;
    if (publicKey === undefined || !keys.spendPageCode(proof.code)) throw signInRefused();
    const id = `se_${this.#store.randomHex(20)}`;
    const at = this.#store.instant();
    await this.#store.write((database) => {
      removeSessionByKey(database, publicKey);
      removeSessionsUsedBefore(database, this.#oldest());
      // The app listens at another port after each start, unless one is chosen. No page is there again.
      if (place.port !== 0) removeSessionsElsewhere(database, place.port);
      insertSession(database, {
        id,
        public_key: publicKey,
        ...place,
        created_at: at,
        last_used_at: at,
        label,
      });
    });
    return this.#runToken(id);
  }

  /** Returns the token of this run for a page whose key was signed in at this place. @throws Problem `owner_required` */
  open(proof: SessionProof, { origin, port }: SessionPlace): RunToken {
    const publicKey = this.#verify(proof, origin);
    const row = publicKey === undefined ? undefined : sessionByKey(this.#store.read, publicKey);
    if (!row || row.origin !== origin || row.port !== port || !this.#active(row))
      throw new Problem('owner_required', 'This browser is not signed in, or its session has ended.');
    return this.#runToken(row.id);
  }

  /** Returns the session with this token of this run, unless it has ended. */
  find(token: string): ActiveSession | undefined {
    const [, id, mac] = RUN_TOKEN.exec(token) ?? [];
    if (id === undefined || mac === undefined || !sameSecret(mac, this.#macOf('token', id))) return undefined;
    return this.#active(sessionById(this.#store.read, id));
  }

  /** Returns the session that made this ticket in this run, unless either has ended. */
  findByTicket({ session, expires, mac, target }: SentTicket): ActiveSession | undefined {
    const left = expires - this.#store.clock.now();
    if (left <= 0 || left > MAX_TICKET_MS) return undefined;
    const key = Buffer.from(this.#macOf('ticket', session), 'hex');
    const expected = createHmac('sha256', key).update(ticketText(target, expires)).digest('hex');
    return sameSecret(mac, expected) ? this.#active(sessionById(this.#store.read, session)) : undefined;
  }

  /** Stores that a session was used now, in the background. A crash can only shorten the session by an hour. */
  note(id: string): void {
    if (this.#updating.has(id)) return;
    this.#updating.add(id);
    const at = this.#store.instant();
    this.#store
      .write((database) => recordSessionUse(database, { id, last_used_at: at }))
      .catch((error: unknown) =>
        this.#log.warn({ error }, 'The use of a session could not be stored; the next request tries again.'),
      )
      .finally(() => this.#updating.delete(id));
  }

  /** Returns a page of the sessions, last used first. `current` marks the one with this id. */
  list(page: { limit: number; offset: number }, current: string | undefined): Slice<OwnerSession> {
    const { items, total } = sessionsUsedSince(this.#store.read, page, this.#oldest());
    return { items: items.map((item) => ({ ...item, current: item.id === current })), total };
  }

  /** Has the end of a session stop a response too. A stream of events would otherwise go on for as long as it is read. */
  follow(id: string, response: Pick<EventEmitter, 'once'>, stop: () => void): void {
    const stops = this.#stops.get(id) ?? new Set();
    this.#stops.set(id, stops.add(stop));
    response.once('close', () => {
      stops.delete(stop);
      if (stops.size === 0 && this.#stops.get(id) === stops) this.#stops.delete(id);
    });
  }

  /** Ends a session; its tokens are invalid from now on, and what is being sent to it stops. @throws Problem `not_found` */
  async end(id: string): Promise<void> {
    if (!(await this.#store.write((database) => removeSession(database, id))))
      throw new Problem('not_found', 'There is no such session; it may have ended.');
    for (const stop of this.#stops.get(id) ?? []) stop();
  }

  /** Uses the challenge up, and returns the public key if the signature is its own. */
  #verify({ public_key, challenge, signature }: SessionProof, origin: string): string | undefined {
    if (!this.#challenges.delete(challenge)) return undefined;
    const key = keyOf(public_key);
    if (!key) return undefined;
    const isOwn = verify(
      'sha256',
      Buffer.from(signedText({ origin, challenge })),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64'),
    );
    return isOwn ? key.export({ format: 'der', type: 'spki' }).toString('base64') : undefined;
  }

  #active(row: { id: string; last_used_at: string } | undefined): ActiveSession | undefined {
    if (!row) return undefined;
    // Not the machine's own clock: one that is wrongly ahead would sign the owner out, who must confirm or correct it.
    const unused = Date.parse(this.#store.instant()) - Date.parse(row.last_used_at);
    return unused > SESSION_MS ? undefined : { id: row.id, needsUseUpdate: unused >= USE_UPDATE_INTERVAL_MS };
  }

  #runToken(id: string): RunToken {
    return {
      token: `${RUN_TOKEN_PREFIX}${id}-${this.#macOf('token', id)}`,
      ticket_key: this.#macOf('ticket', id),
      time: this.#store.instant(),
    };
  }

  #macOf(purpose: 'token' | 'ticket', id: string): string {
    return createHmac('sha256', Buffer.from(this.#run, 'hex')).update(`${purpose} ${id}`).digest('hex');
  }

  #oldest(): string {
    return instantOf(Date.parse(this.#store.instant()) - SESSION_MS);
  }
}

export function signInRefused(): Problem {
  return new Problem(
    'sign_in_refused',
    'This sign-in link was already used, or is not from this node. Restart the node or run “strongroom sign-in” to get a new one.',
  );
}

/** Returns a public key on P-256; undefined for anything else. */
function keyOf(base64: string): KeyObject | undefined {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
  } catch {
    // OpenSSL throws errors of many kinds for what is no key.
    return undefined;
  }
  return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
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
