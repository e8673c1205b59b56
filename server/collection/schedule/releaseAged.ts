import { RepeatedWork, yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import {
  agedDigests,
  type LimitedSource,
  partsAfter,
  retrievalsAfter,
  sourcesWithKeepDays,
} from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { releaseNow, removeReleased } from '../../withholding/release.ts';

const DAY_MS = 86_400_000;
/** Retrievals that are looked at in one turn. */
const PAGE = 200;
/** Objects that are given up in one transaction. */
const BATCH = 50;

/** What is scanned of a source: its retrievals, and the parts of its page captures. */
const SCANS = [retrievalsAfter, partsAfter] as const;

/** How far the retrievals of a source were looked at since the last complete look. It holds for one state of the source. */
interface Position {
  state: string;
  after: [number, number];
}

/**
 * Gives up the bytes of sources with `keep_days` when their time is over. After each round only what came of age since
 * the last look is examined, and sources with a new version or other days; once a day everything is, because what
 * needed an object may need it no more.
 */
export class AgeRule {
  readonly #store: Store;
  readonly #log: Log;
  readonly #work: RepeatedWork;
  readonly #positions = new Map<number, Position>();
  #limits = '';
  #last: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#work = new RepeatedWork(store.clock);
  }

  /** Begins to look at everything once a day. */
  start(): void {
    const look = () => {
      this.#positions.clear();
      return this.#request();
    };
    this.#work.start(look, DAY_MS, (error) => this.#report(error));
  }

  /** Looks at what came of age, in the background. */
  soon(): void {
    if (this.#work.signal.aborted || sourcesWithKeepDays(this.#store.read).length === 0) return;
    this.#work.track(this.#request()).catch((error: unknown) => this.#report(error));
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  #report(error: unknown): void {
    if (!this.#work.signal.aborted)
      this.#log.error({ error }, 'Bytes that are older than their source keeps them could not be released');
  }

  /** One look at a time; requests that come meanwhile share the next one. */
  #request(): Promise<void> {
    this.#waiting ??= this.#last
      .catch(() => {})
      .then(() => {
        this.#waiting = undefined;
        this.#last = this.#look();
        return this.#last;
      });
    return this.#waiting;
  }

  async #look(): Promise<void> {
    const sources = sourcesWithKeepDays(this.#store.read);
    // What one source keeps, another one cannot give up.
    const limits = JSON.stringify(sources.map(({ key, keep_days }) => [key, keep_days]));
    if (limits !== this.#limits) this.#positions.clear();
    this.#limits = limits;
    for (const source of sources) {
      if (this.#work.signal.aborted) return;
      const objects = await this.#releaseOf(source);
      if (objects > 0) this.#log.info({ source: source.key, objects }, 'Bytes were released for their age');
    }
  }

  /** Returns how many objects were released. */
  async #releaseOf({ key, keep_days, last_sha256, last_page }: LimitedSource): Promise<number> {
    const { read, clock } = this.#store;
    const known = this.#positions.get(key);
    // The newest version is kept until there is another one.
    const state = `${keep_days} ${last_sha256} ${last_page}`;
    const position: Position = known?.state === state ? known : { state, after: [0, 0] };
    this.#positions.set(key, position);
    const cutoff = new Date(clock.now() - keep_days * DAY_MS).toISOString();
    let released = 0;
    for (const [index, scan] of SCANS.entries()) {
      for (let isEnd = false; !isEnd && !this.#work.signal.aborted; ) {
        const page = scan(read, { source: key, after: position.after[index] ?? 0, limit: PAGE });
        const old = page.filter(({ observed_at }) => observed_at <= cutoff);
        const digests = [...new Set(old.flatMap(({ sha256 }) => sha256 ?? []))];
        released += await this.#release(this.#aged(read, digests));
        position.after[index] = old.at(-1)?.id ?? position.after[index] ?? 0;
        isEnd = old.length < PAGE;
        await yieldToEventLoop();
      }
    }
    return released;
  }

  #aged(database: Store['read'], digests: readonly string[]): string[] {
    if (digests.length === 0) return [];
    const now = new Date(this.#store.clock.now()).toISOString();
    return agedDigests(database, { digests: JSON.stringify(digests), now });
  }

  async #release(digests: readonly string[]): Promise<number> {
    let count = 0;
    for (let first = 0; first < digests.length; first += BATCH) {
      const batch = digests.slice(first, first + BATCH);
      const released = await this.#store.write((database) => {
        // Something may need them since they were looked at.
        const aged = this.#aged(database, batch);
        for (const sha256 of aged)
          releaseNow(database, { sha256, reason: 'age', note: null }, this.#store.instant());
        return aged;
      });
      await removeReleased(this.#store, released);
      count += released.length;
    }
    return count;
  }
}
