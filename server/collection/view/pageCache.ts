import { isHttpUrl } from '../../../shared/values/text.ts';
import type { DamageContext } from '../../fixity/audit.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { mementoBetween, momentBefore, momentsAfter } from '../../store/sqlite/collection/captures.ts';
import { handInById } from '../../store/sqlite/collection/handIns.ts';
import { nearestPart } from '../../store/sqlite/collection/pages.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import { isWithheldForLogin } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import { areReadable, type Reader, unreadableAmong } from '../../withholding/withholding.ts';
import { nearestMoment } from '../captures/memento/mementos.ts';
import { MAX_PASSES, PASS_TIMEOUT_MS } from '../derived/limits.ts';
import { type Deriver, noticeDamagedObjects, objectToRead } from '../derived/process/deriver.ts';
import {
  type HeldCapture,
  isPermanent,
  type MadePage,
  NotDerivableError,
  type PageTask,
} from '../derived/process/tasks.ts';
import { normalizeUrl, sourceIdOf } from '../sources/sources.ts';

/** The archived page to show. */
interface PageToShow {
  sha256: string;
  /** The address that its bytes were retrieved from, for relative links. */
  url: string;
  /** The time for which the nearest captures are chosen. */
  moment: string;
  /** The id of what a person handed in that it belongs to: it is shown with the parts of that file alone. */
  handIn: string | null;
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
  /** The digests that were left out, because the reader may not read them. */
  leftOut: ReadonlySet<string>;
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
    // A page may show any of the captures.
    store.blobs.onRemoved(() => this.#cache.clear());
  }

  /**
   * Returns a page with what the reader may read. Concurrent requests for the same page share one making. A refusal is
   * remembered.
   *
   * @throws NotDerivableError; Problem `derivation_busy`, `shutting_down`.
   */
  async make(page: PageToShow, reader: Reader): Promise<MadePage> {
    const key = `${reader.owner} ${page.sha256} ${page.moment} ${page.handIn} ${page.url}`;
    const cached = this.#cache.get(key);
    if (cached && performance.now() - cached.at < CACHED_MS) {
      const made = await cached.made;
      if (this.#isCurrent(page, made, cached.leftOut, reader)) return made;
    }
    const refused = this.#refused.get(key);
    if (refused && performance.now() - refused.at < REFUSED_MS) throw refused.error;
    const leftOut = new Set<string>();
    const made = this.#make(page, reader, leftOut);
    const entry: Cached = { made, leftOut, bytes: 0, at: performance.now() };
    this.#cache.delete(key);
    this.#cache.set(key, entry);
    try {
      entry.bytes = (await made).html.length;
      this.#evict();
    } catch (error) {
      if (this.#cache.get(key) === entry) this.#cache.delete(key);
      if (error instanceof NotDerivableError && isPermanent(error.reason)) this.#refuse(key, error);
      throw error;
    }
    // It is made again if something in it was withheld meanwhile.
    return this.#isCurrent(page, await made, leftOut, reader) ? made : this.make(page, reader);
  }

  /** Whether what was put into a page may still be read, and what was left out still may not. */
  #isCurrent(page: PageToShow, { used }: MadePage, leftOut: ReadonlySet<string>, reader: Reader): boolean {
    const { read } = this.#store;
    const isUsedReadable = areReadable(
      read,
      used.map(({ sha256 }) => sha256),
      reader,
    );
    return isUsedReadable && this.#hidden(page, [...leftOut], reader).size === leftOut.size;
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

  async #make(page: PageToShow, reader: Reader, leftOut: Set<string>): Promise<MadePage> {
    const captures = new Map<string, HeldCapture | null>();
    const withheld = new Set<string>();
    const object = objectToRead(this.#store, page.sha256);
    const parts = page.handIn === null ? undefined : partsOfHandIn(this.#store, page.handIn);
    const at = Date.parse(page.moment);
    const find = (address: string) =>
      parts ? (parts.get(address) ?? null) : nearestCapture(this.#store, address, at);
    try {
      for (let pass = 1; ; pass += 1) {
        const isLast = pass === MAX_PASSES;
        const task: PageTask = { task: 'page', object, url: page.url, captures: [...captures], isLast };
        const result = await this.#deriver.derive(task, { timeoutMs: PASS_TIMEOUT_MS });
        if ('page' in result) return withReasons(result.page, withheld);
        await this.#lookUp(result.wanted, find, captures);
        const found = result.wanted.flatMap((address) => captures.get(address)?.object.sha256 ?? []);
        const hidden = this.#hidden(page, found, reader);
        for (const address of hidden.size > 0 ? result.wanted : []) {
          const sha256 = captures.get(address)?.object.sha256;
          if (sha256 === undefined || !hidden.has(sha256)) continue;
          captures.set(address, null);
          withheld.add(address);
          leftOut.add(sha256);
        }
      }
    } catch (error) {
      if (error instanceof NotDerivableError) await noticeDamagedObjects(this.#store, error, [page.sha256]);
      throw error;
    }
  }

  /** What was got with a login is shown in pages that were, too, and in no others. */
  #hidden(page: PageToShow, found: readonly string[], reader: Reader): Set<string> {
    const { read } = this.#store;
    const hidden = unreadableAmong(read, found, reader);
    if (isWithheldForLogin(read, { sha256: page.sha256 })) return hidden;
    for (const sha256 of found) if (isWithheldForLogin(read, { sha256 })) hidden.add(sha256);
    return hidden;
  }

  async #lookUp(
    wanted: readonly string[],
    find: (address: string) => HeldCapture | null,
    captures: Map<string, HeldCapture | null>,
  ): Promise<void> {
    let since = performance.now();
    for (const address of wanted) {
      captures.set(address, find(address));
      if (performance.now() - since < YIELD_AFTER_MS) continue;
      await yieldToEventLoop();
      since = performance.now();
    }
  }
}

/** Says of what is missing because the reader may not read it that this is the reason. */
function withReasons(page: MadePage, withheld: ReadonlySet<string>): MadePage {
  const missing = page.missing.map((each) =>
    withheld.has(each.url) ? { ...each, reason: 'withheld' as const } : each,
  );
  return { ...page, missing };
}

/**
 * Returns the parts of what a person handed in, by the addresses that its file claims for them. What the file says of a part
 * counts here, and only here.
 */
function partsOfHandIn(store: Pick<Store, 'read' | 'blobs'>, id: string): Map<string, HeldCapture> {
  const parts = new Map<string, HeldCapture>();
  const handIn = handInById(store.read, id);
  if (!handIn) return parts;
  for (const { name, content_id, content_type, sha256 } of handIn.parts.toReversed()) {
    if (sha256 === null) continue;
    const object = {
      sha256,
      file: store.blobs.fileOf(sha256),
      contentType: content_type,
      contentEncoding: null,
    };
    const capture = { object, source: handIn.source, moment: handIn.seen_at };
    if (content_id !== null) parts.set(`cid:${content_id}`, capture);
    if (name !== null) parts.set(name, capture);
  }
  return parts;
}

/** Sort before and after every moment. */
const BEGINNING = '';
const END = '\uffff';

/**
 * Returns the archive's capture of an address that is nearest in time to an instant, or null if it holds none: a version
 * of a source, or what a drawn page was answered.
 *
 * @param address an absolute URL.
 * @param at in milliseconds.
 */
function nearestCapture(
  store: Pick<Store, 'read' | 'blobs'>,
  address: string,
  at: number,
): HeldCapture | null {
  if (!isHttpUrl(address)) return null;
  const url = normalizeUrl(address);
  const version = nearestVersion(store, url, at);
  const part = nearestPart(store.read, url, at);
  const off = (moment: string) => Math.abs(Date.parse(moment) - at);
  if (!part || (version && off(version.moment) <= off(part.at))) return version;
  return { object: objectToRead(store, part.sha256), source: part.source, moment: part.at };
}

/** Returns the version of a source that is nearest in time. */
function nearestVersion(store: Pick<Store, 'read' | 'blobs'>, url: string, at: number): HeldCapture | null {
  const { read } = store;
  const id = sourceIdOf(url);
  const source = sourceById(read, id);
  if (!source || source.url !== url) return null;
  const [first] = momentsAfter(read, source.key, BEGINNING, 1);
  const last = momentBefore(read, source.key, END);
  if (first === undefined || last === undefined) return null;
  const moment = nearestMoment(store, { key: source.key, url, first, last }, at);
  const found = mementoBetween(read, source.key, moment, moment);
  return found ? { object: objectToRead(store, found.sha256), source: id, moment } : null;
}
