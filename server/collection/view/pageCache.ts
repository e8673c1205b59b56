import type { DamageContext } from '../../fixity/confirmDamage.ts';
import { objectToRead } from '../derived/body/objectToRead.ts';
import { isPermanent, NotDerivableError } from '../derived/notDerivable.ts';
import { noticeDamagedObjects } from '../derived/noticeDamagedObjects.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import type { HeldCapture, MadePage, PageTask } from '../derived/process/tasks.ts';
import { MAX_PASSES, PASS_TIMEOUT_MS } from './limits.ts';
import { nearestCapture } from './nearestCapture.ts';

/** The archived page to show. */
export interface PageToShow {
  sha256: string;
  /** The address that its bytes were retrieved from, for relative links. */
  url: string;
  /** The time for which the nearest captures are chosen. */
  moment: string;
}

/** Pages in memory, so that a page and the list of what it uses come from one making. */
const MAX_CACHED = 8;
const MAX_CACHED_BYTES = 67_108_864;
/** A page is made again after this long, because captures may have been added. */
const CACHED_MS = 60_000;
/**
 * Refused pages in memory, and how long. What a page is refused for lies in its own bytes, but captures that were added
 * may shorten it.
 */
const MAX_REFUSED = 500;
const REFUSED_MS = 600_000;
/** While addresses are looked up, the event loop gets a turn after this long. */
const YIELD_AFTER_MS = 10;

interface Cached {
  made: Promise<MadePage>;
  bytes: number;
  at: number;
}

/** Archived pages as they are shown: without scripts, with what the archive holds of their images and styles. */
export class PageCache {
  readonly #store: DamageContext;
  readonly #deriver: Deriver;
  readonly #cache = new Map<string, Cached>();
  readonly #refused = new Map<string, { error: NotDerivableError; at: number }>();

  constructor(store: DamageContext, deriver: Deriver) {
    this.#store = store;
    this.#deriver = deriver;
  }

  /**
   * Returns a page. Concurrent requests for the same page share one making. A refusal is remembered.
   *
   * @throws NotDerivableError; Problem `derivation_busy`, `shutting_down`.
   */
  async make(page: PageToShow): Promise<MadePage> {
    const key = `${page.sha256} ${page.moment} ${page.url}`;
    const cached = this.#cache.get(key);
    if (cached && performance.now() - cached.at < CACHED_MS) return cached.made;
    const refused = this.#refused.get(key);
    if (refused && performance.now() - refused.at < REFUSED_MS) throw refused.error;
    const made = this.#make(page);
    const entry: Cached = { made, bytes: 0, at: performance.now() };
    this.#cache.delete(key);
    this.#cache.set(key, entry);
    try {
      entry.bytes = (await made).html.length;
      this.#evict();
      return await made;
    } catch (error) {
      if (this.#cache.get(key) === entry) this.#cache.delete(key);
      if (error instanceof NotDerivableError && isPermanent(error.reason)) this.#refuse(key, error);
      throw error;
    }
  }

  #refuse(key: string, error: NotDerivableError): void {
    this.#refused.delete(key);
    this.#refused.set(key, { error, at: performance.now() });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
  }

  #evict(): void {
    let bytes = 0;
    for (const cached of this.#cache.values()) bytes += cached.bytes;
    for (const [key, cached] of this.#cache) {
      if (this.#cache.size <= MAX_CACHED && bytes <= MAX_CACHED_BYTES) return;
      bytes -= cached.bytes;
      this.#cache.delete(key);
    }
  }

  async #make(page: PageToShow): Promise<MadePage> {
    const captures = new Map<string, HeldCapture | null>();
    const object = objectToRead(this.#store, page.sha256);
    try {
      for (let pass = 1; ; pass += 1) {
        const isLast = pass === MAX_PASSES;
        const task: PageTask = { task: 'page', object, url: page.url, captures: [...captures], isLast };
        const result = await this.#deriver.derive(task, { timeoutMs: PASS_TIMEOUT_MS });
        if ('page' in result) return result.page;
        await this.#lookUp(result.wanted, Date.parse(page.moment), captures);
      }
    } catch (error) {
      if (error instanceof NotDerivableError) await noticeDamagedObjects(this.#store, error, [page.sha256]);
      throw error;
    }
  }

  async #lookUp(
    wanted: readonly string[],
    at: number,
    captures: Map<string, HeldCapture | null>,
  ): Promise<void> {
    let since = performance.now();
    for (const address of wanted) {
      captures.set(address, nearestCapture(this.#store, address, at));
      if (performance.now() - since < YIELD_AFTER_MS) continue;
      await new Promise((resolve) => setImmediate(resolve));
      since = performance.now();
    }
  }
}
