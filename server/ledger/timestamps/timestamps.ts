import type { AuthorityState, FailedAuthority, Stamping, Timestamp } from '../../../shared/ledger/ledger.ts';
import { Problem } from '../../../shared/problems.ts';
import { readTimestampReply } from '../../../shared/proof/ledger/timestamp.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { RepeatedWork } from '../../runtime/background.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import {
  insertTimestamp,
  lastEntry,
  newestOfAuthority,
  type StoredTimestamp,
  timestampById,
  timestampsPage,
} from '../../store/sqlite/node/ledger.ts';
import type { Store } from '../../store/store.ts';
import { readHead } from '../appendEntry.ts';
import { AuthorityError, type SendingServices } from '../outgoing.ts';

/** How often the node looks whether a timestamp is due, and how soon it asks again after a failure. */
export const POLL_INTERVAL_MS = 61_000;
const RETRY_AFTER_MS = 900_000;
const MS_PER_HOUR = 3_600_000;
/** How long a reader waits for the timestamp of a text. */
const TEXT_TIMEOUT_MS = 10_000;

/**
 * Has the checkpoints of the ledger timestamped by the authorities in the settings: on schedule while the ledger grows,
 * and on demand. Nothing waits for an authority but the caller of `stampNow`.
 */
export class Timestamps {
  readonly #services: SendingServices;
  readonly #work: RepeatedWork;
  /** The last attempt with each authority since the node started. */
  readonly #attempts = new Map<string, { at: number; error: string | null }>();

  constructor(services: SendingServices) {
    this.#services = services;
    this.#work = new RepeatedWork(services.store.clock);
  }

  /** Asks the authorities when they are due, from now on. */
  startSchedule(): void {
    this.#work.start(
      () => this.#stampDue(),
      POLL_INTERVAL_MS,
      (error) => this.#services.warn({ error }, 'The ledger could not be timestamped.'),
    );
  }

  /** Ends what is running. */
  close(): Promise<void> {
    return this.#work.close();
  }

  /**
   * Asks every authority for a timestamp of the current checkpoint.
   *
   * @throws Problem `no_authority`; `authority_failed` if none gave one; `shutting_down`; the errors of `Checkpoints.sign`
   */
  async stampNow(): Promise<Stamping> {
    const { timestamp_authorities: authorities } = this.#services.settings.current;
    if (authorities.length === 0)
      throw new Problem('no_authority', 'Add the URL of a timestamp authority in the settings first.');
    const result = await this.#work.track(this.#stamp(authorities));
    if (result.items.length > 0) return result;
    if (this.#work.signal.aborted) throw new Problem('shutting_down', 'The node is shutting down.');
    const reasons = result.failed.map(({ authority, error }) => `${authority}: ${error}`);
    throw new Problem('authority_failed', reasons.join(' '), { members: { failed: result.failed } });
  }

  /**
   * Asks the first authority for a timestamp of any text. Returns undefined if there is no authority, or it gives none
   * soon: what is stamped is then sent without.
   *
   * @returns the authority's reply, and the certificates in it as PEM
   */
  async stampText(text: string): Promise<{ reply: Buffer; certificates: string } | undefined> {
    const { store, post, settings } = this.#services;
    const [authority] = settings.current.timestamp_authorities;
    if (authority === undefined) return undefined;
    const { askAuthority } = await import('./timestampReplies.ts');
    const signal = AbortSignal.any([this.#work.signal, AbortSignal.timeout(TEXT_TIMEOUT_MS)]);
    try {
      const asked = { authority, text, nonce: store.randomHex(16), signal };
      const { reply } = await this.#work.track(askAuthority(post, asked));
      const certificates = readTimestampReply(reply).certificates.map(({ encoding }) => pemOf(encoding));
      return { reply, certificates: certificates.join('') };
    } catch (error) {
      if (!signal.aborted && !(error instanceof AuthorityError)) throw error;
      this.#services.warn({ authority, error }, 'An authority returned no timestamp.');
      return undefined;
    }
  }

  /** Returns the state of each authority in the settings. */
  authorities(): AuthorityState[] {
    const { store, settings } = this.#services;
    return settings.current.timestamp_authorities.map((authority) => {
      const attempt = this.#attempts.get(authority);
      const newest = newestOfAuthority(store.read, authority);
      return {
        authority,
        attempted_at: attempt ? instantOf(attempt.at) : null,
        error: attempt?.error ?? null,
        stamped_at: newest?.received_at ?? null,
        size: newest?.size ?? 0,
      };
    });
  }

  async #stampDue(): Promise<void> {
    const due = this.#dueAuthorities();
    if (due.length === 0) return;
    const { failed } = await this.#stamp(due);
    for (const { authority, error } of failed)
      this.#services.warn({ authority, error }, 'An authority returned no timestamp.');
  }

  #dueAuthorities(): string[] {
    const { store, settings } = this.#services;
    const { timestamp_authorities, timestamp_every_hours } = settings.current;
    const size = lastEntry(store.read)?.seq ?? 0;
    const now = store.clock.now();
    return timestamp_authorities.filter((authority) => {
      const newest = newestOfAuthority(store.read, authority);
      if (size <= (newest?.size ?? 0)) return false;
      const attempt = this.#attempts.get(authority);
      if (attempt && attempt.error !== null && now - attempt.at < RETRY_AFTER_MS) return false;
      return !newest || now - Date.parse(newest.received_at) >= timestamp_every_hours * MS_PER_HOUR;
    });
  }

  async #stamp(authorities: readonly string[]): Promise<Stamping> {
    const { store, checkpoints } = this.#services;
    const { seq: size, root } = onSnapshot(store.read, () => readHead(store.read));
    // The checkpoint is on stable storage before anybody else can hold a timestamp of it.
    const note = await checkpoints.sign({ size, root: Buffer.from(root, 'hex') });
    const text = note.slice(0, note.indexOf('\n\n') + 1);
    const results = await Promise.all(
      authorities.map((authority) => this.#ask(authority, { size, root, text })),
    );
    return {
      items: results.filter((result) => 'id' in result),
      failed: results.filter((result) => 'error' in result),
    };
  }

  async #ask(
    authority: string,
    covered: { size: number; root: string; text: string },
  ): Promise<Timestamp | FailedAuthority> {
    const { store, post } = this.#services;
    const { signal } = this.#work;
    const started = store.clock.now();
    try {
      // Loaded with the first request, because most nodes have no authority.
      const { askAuthority } = await import('./timestampReplies.ts');
      const nonce = store.randomHex(16);
      const { at, serial, reply } = await askAuthority(post, {
        authority,
        text: covered.text,
        nonce,
        signal,
      });
      const listed = { id: `ts_${store.randomHex(20)}`, authority, at: instantOf(at), serial };
      const row = { ...covered, ...listed, received_at: store.instant(), reply };
      await store.write((database) => insertTimestamp(database, row));
      this.#attempts.set(authority, { at: started, error: null });
      return { ...listed, size: covered.size, root: covered.root };
    } catch (error) {
      if (!signal.aborted && !(error instanceof AuthorityError)) throw error;
      const words = signal.aborted ? 'The node is shutting down.' : (error as AuthorityError).message;
      this.#attempts.set(authority, { at: started, error: words });
      return { authority, error: words };
    }
  }
}

function pemOf(certificate: Uint8Array): string {
  const lines =
    Buffer.from(certificate)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

/** Returns a page of timestamps, those over most entries first. */
export function listTimestamps(
  { read }: Pick<Store, 'read'>,
  page: { limit: number; offset: number },
): Slice<Timestamp> {
  return timestampsPage(read, page);
}

/** Returns a timestamp with the authority's reply and the text it is of. @throws Problem `not_found` */
export function readTimestamp({ read }: Pick<Store, 'read'>, id: string): StoredTimestamp {
  const found = timestampById(read, id);
  if (!found) throw new Problem('not_found', `There is no timestamp ${id}.`);
  return found;
}
