import { createHash, createHmac } from 'node:crypto';
import {
  PAIRED_TOKEN_PREFIX,
  PAIRING_ALPHABET,
  PAIRING_MINUTES,
  type Paired,
  type PairedBrowser,
  type PairingCode,
  type PairProof,
  plainPairingCode,
} from '../../shared/node/pairing.ts';
import { Problem } from '../../shared/problems.ts';
import { instantOf } from '../../shared/values/clock.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { Log } from '../runtime/log.ts';
import { change, inserts, selectOne, selectPage } from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';
import { sameSecret } from './sessions.ts';

const CODE_LENGTH = 8;
/**
 * After this many wrong codes, an address cannot pair with the current code. Each address has its own tries, so that guesses
 * from the network do not spend those of the person at the machine.
 */
const MAX_TRIES = 5;
/** The code is given up after so many wrong ones from all addresses: few among 32^8 codes. */
const MAX_TRIES_OF_ALL = 1_000;
const MINUTE_MS = 60_000;
/** The last use of a token is stored at most this often. */
const USE_UPDATE_INTERVAL_MS = 3_600_000;
/** More browsers than a person has. */
const MAX_BROWSERS = 100;
/** The id of the browser and a MAC. */
const SESSION_TOKEN = new RegExp(`^${PAIRED_TOKEN_PREFIX}(br_[0-9a-f]{20})-([0-9a-f]{64})$`);

interface OpenCode {
  code: string;
  expiresAt: number;
  /** The wrong codes, by address. */
  wrong: Map<string, number>;
  wrongOfAll: number;
}

/**
 * The browsers that are paired with the node, and the one code that pairs another. A code is kept in memory, is used up
 * by pairing, and takes a few wrong ones from each address. Only digests of tokens are stored.
 */
export class Pairings {
  readonly #store: Store;
  readonly #log: Log;
  /** Part of the session tokens of all browsers: they are invalid after a restart. */
  readonly #session: string;
  #open: OpenCode | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#session = store.randomHex(64);
  }

  /** Creates a code that pairs one browser, once. It replaces the one before. @throws Problem `too_many_browsers` */
  createCode(): PairingCode {
    if (this.list({ limit: 1, offset: 0 }).total >= MAX_BROWSERS)
      throw new Problem(
        'too_many_browsers',
        `At most ${MAX_BROWSERS} browsers are paired. Revoke one first.`,
      );
    const code = Array.from(
      // Each byte has five random bits for a character.
      Buffer.from(this.#store.randomHex(2 * CODE_LENGTH), 'hex'),
      (byte) => PAIRING_ALPHABET[byte % PAIRING_ALPHABET.length],
    ).join('');
    const expiresAt = this.#store.clock.now() + PAIRING_MINUTES * MINUTE_MS;
    this.#open = { code, expiresAt, wrong: new Map(), wrongOfAll: 0 };
    return {
      code: `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`,
      expires_at: instantOf(expiresAt),
    };
  }

  /** Uses the code up and pairs a browser. Its token is only in the result. @throws Problem `pairing_refused` */
  async pair(typed: string, name: string, address: string): Promise<Omit<Paired, 'node'>> {
    this.#spend(plainPairingCode(typed), address);
    const id = `br_${this.#store.randomHex(20)}`;
    const token = `${PAIRED_TOKEN_PREFIX}${this.#store.randomHex(64)}`;
    const row = { id, token_sha256: digestOf(token), name: name.trim(), created_at: this.#store.instant() };
    await this.#store.write((database) => insertBrowser(database, row));
    return { id, token };
  }

  /** Who guesses learns nothing but that a code did not pair: not whether there is one, nor how many tries are left. */
  #spend(code: string, address: string): void {
    const open = this.#open;
    const wrong = open?.wrong.get(address) ?? 0;
    if (open && wrong < MAX_TRIES && this.#store.clock.now() < open.expiresAt) {
      if (sameSecret(code, open.code)) {
        this.#open = undefined;
        return;
      }
      open.wrong.set(address, wrong + 1);
      open.wrongOfAll += 1;
      if (open.wrongOfAll === MAX_TRIES_OF_ALL) this.#open = undefined;
    }
    throw new Problem(
      'pairing_refused',
      `This code is wrong, was used, or is older than ${PAIRING_MINUTES} minutes. Show a new one under Settings, Browser extension.`,
    );
  }

  /** Returns the browser with this token or session token, unless it was revoked. */
  find(token: string): PairedBrowser | undefined {
    if (!token.startsWith(PAIRED_TOKEN_PREFIX)) return undefined;
    const [, id, mac] = SESSION_TOKEN.exec(token) ?? [];
    if (!id || !mac) return browserByToken(this.#store.read, digestOf(token));
    const known = digestOfBrowser(this.#store.read, id);
    if (!known || !sameSecret(mac, macOf(known.token_sha256, `session ${this.#session}`))) return undefined;
    return browserByToken(this.#store.read, known.token_sha256);
  }

  /** Stores in the background that a browser was used now, at most once an hour. */
  note({ id, last_used_at }: PairedBrowser): void {
    const now = this.#store.clock.now();
    if (last_used_at !== null && now - Date.parse(last_used_at) < USE_UPDATE_INTERVAL_MS) return;
    const at = this.#store.instant();
    this.#store
      .write((database) => setUsed(database, at, id))
      .catch((error: unknown) =>
        this.#log.warn(
          { error },
          'The use of a paired browser could not be stored; the next request tries again.',
        ),
      );
  }

  /**
   * Proves to a browser, before it sends anything, that this is the node that it was paired with: another program may
   * listen at the address while the node is off. The browser then sends a token that is made with the session. A program
   * that takes the address after the proof gets a token that no node accepts.
   *
   * @throws Problem `not_found` if there is no such browser, or it was revoked
   */
  prove(id: string, challenge: string): PairProof {
    const row = digestOfBrowser(this.#store.read, id) ?? noSuchBrowser();
    return { proof: macOf(row.token_sha256, challenge), session: this.#session };
  }

  /** Returns a page of the paired browsers, newest first. */
  list(place: { limit: number; offset: number }): Slice<PairedBrowser> {
    return browsersPage(this.#store.read, place);
  }

  /** Revokes a browser's token; it is invalid from now on. @throws Problem `not_found` */
  async revoke(id: string): Promise<void> {
    const removed = await this.#store.write((database) => removeBrowser(database, id));
    if (removed === 0) noSuchBrowser();
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** A challenge has no space, so that a proof is never the MAC of a session token. */
function macOf(tokenSha256: string, text: string): string {
  return createHmac('sha256', Buffer.from(tokenSha256, 'hex')).update(text).digest('hex');
}

function noSuchBrowser(): never {
  throw new Problem('not_found', 'There is no such browser; it may have been revoked.');
}

const COLUMNS = 'id, name, created_at, last_used_at';

const insertBrowser = inserts<{ id: string; token_sha256: string; name: string; created_at: string }>(
  'paired_browsers',
  'id, token_sha256, name, created_at',
);

const browserByToken = selectOne<PairedBrowser, [tokenSha256: string]>(
  `SELECT ${COLUMNS} FROM paired_browsers WHERE token_sha256 = ?`,
);

const digestOfBrowser = selectOne<{ token_sha256: string }, [id: string]>(
  'SELECT token_sha256 FROM paired_browsers WHERE id = ?',
);

const browsersPage = selectPage<PairedBrowser>({
  columns: COLUMNS,
  from: 'paired_browsers',
  order: 'number DESC',
});

const setUsed = change<[at: string, id: string]>('UPDATE paired_browsers SET last_used_at = ? WHERE id = ?');

const removeBrowser = change<[id: string]>('DELETE FROM paired_browsers WHERE id = ?');
