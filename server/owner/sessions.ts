import { createHash } from 'node:crypto';
import { instantOf } from '../../shared/clock.ts';
import type { Slice } from '../../shared/list.ts';
import { Problem } from '../../shared/problems.ts';
import { type OwnerSession, SESSION_DAYS } from '../../shared/session.ts';
import type { Log } from '../runtime/log.ts';
import {
  insertSession,
  recordSessionUse,
  removeSession,
  removeSessionById,
  removeSessionsUsedBefore,
  sessionByToken,
  sessionsUsedSince,
} from '../store/sqlite/node/ownerSessions.ts';
import type { Store } from '../store/store.ts';

const DAY_MS = 86_400_000;
export const SESSION_MS = SESSION_DAYS * DAY_MS;
/** The use of a session is noted once in this time, so that what is read costs no write. */
const NOTED_EVERY_MS = 3_600_000;

/** A session that holds, as a request shows it. */
export interface ActiveSession {
  id: string;
  /** Whether its last use was noted so long ago that it is to be noted anew. */
  needsUseUpdate: boolean;
}

/**
 * The browsers that are signed in as the owner. A session ends when it was not used for 30 days, or is ended. Of its
 * secret the node keeps the digest alone.
 */
export class OwnerSessions {
  readonly #store: Store;
  readonly #log: Log;
  readonly #noting = new Set<string>();

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Signs a browser in; answers with its session's secret.
   *
   * @param replaced the secret of the session that the browser had until now: a browser has one.
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

  /** The session of this secret, where there is one that has not ended. */
  find(secret: string): ActiveSession | undefined {
    const row = sessionByToken(this.#store.read, digestOf(secret));
    if (!row) return undefined;
    const unused = this.#store.clock.now() - Date.parse(row.last_used_at);
    return unused > SESSION_MS ? undefined : { id: row.id, needsUseUpdate: unused >= NOTED_EVERY_MS };
  }

  /** Notes that a session was used now. Nobody waits for it: what is lost with a crash is an hour of its life. */
  note(secret: string): void {
    const digest = digestOf(secret);
    if (this.#noting.has(digest)) return;
    this.#noting.add(digest);
    const at = this.#store.instant();
    this.#store
      .write((database) => recordSessionUse(database, digest, at))
      .catch((error: unknown) =>
        this.#log.warn({ error }, 'The use of a session could not be noted; it is tried again.'),
      )
      .finally(() => this.#noting.delete(digest));
  }

  /** Those that hold, the last used first; `current` is the one of this secret. */
  list(page: { limit: number; offset: number }, secret: string | undefined): Slice<OwnerSession> {
    const current = secret === undefined ? undefined : this.find(secret)?.id;
    const { items, total } = sessionsUsedSince(this.#store.read, this.#oldest(), page);
    return { items: items.map((item) => ({ ...item, current: item.id === current })), total };
  }

  /** Signs out the browser that shows this secret. */
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
