import type { Comparison } from '../../shared/collection/diff.ts';
import type { Event } from '../../shared/collection/event.ts';
import { Problem } from '../../shared/problems.ts';
import { decompressContent } from '../collection/derived/content.ts';
import type { TextContent } from '../collection/derived/process/tasks.ts';
import type { Texts } from '../collection/derived/texts/texts.ts';
import type { Diffs } from '../collection/diff/diffs.ts';
import type { Store } from '../store/store.ts';
import { changesWords, isComplete } from './matching/changedText.ts';
import { occursIn, type Words } from './matching/words.ts';

export interface ChangeReaderServices {
  store: Pick<Store, 'clock'>;
  diffs: Pick<Diffs, 'comparisonOf'>;
  texts: Pick<Texts, 'textOf'>;
}

/** How often, and after which pause, a text or a comparison is requested again while the document process is busy. */
const BUSY_ATTEMPTS = 12;
const BUSY_DELAY_MS = 5_000;
/** Cached comparisons: several rules may need the same one, and so does the message. */
const MAX_KEPT = 20;

/** Errors that pass: the document process is busy, or the copy with the bytes cannot be reached. */
const UNKNOWN = Symbol('unknown');
type Unknown = typeof UNKNOWN;

/** Compares the versions of a change, with low priority. */
export class ChangeReader {
  readonly #services: ChangeReaderServices;
  readonly #kept = new Map<number, Comparison | undefined>();

  constructor(services: ChangeReaderServices) {
    this.#services = services;
  }

  /** Returns the comparison of a change; undefined if its versions cannot be compared. @throws Problem `shutting_down` */
  async comparisonOf(event: number, signal: AbortSignal): Promise<Comparison | undefined> {
    const comparison = await this.#compare(event, signal);
    return comparison === UNKNOWN ? undefined : comparison;
  }

  async #compare(event: number, signal: AbortSignal): Promise<Comparison | Unknown | undefined> {
    if (this.#kept.has(event)) return this.#kept.get(event);
    const comparison = await this.#patiently(() => this.#services.diffs.comparisonOf(event), signal);
    if (comparison === UNKNOWN) return UNKNOWN;
    this.#kept.set(event, comparison);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return comparison;
  }

  /**
   * Returns whether an event added or removed one of the words. The text of a first version counts as added. A text
   * that cannot be read at the moment counts as a match: an extra alert is better than a missing one.
   */
  async hasWords(event: Event, words: Words, signal: AbortSignal): Promise<boolean> {
    const { id, event_type, sha256, previous_sha256 } = event;
    if (event_type === 'first_seen') return this.#textHas(sha256, words, signal);
    if (event_type !== 'changed') return false;
    const comparison = await this.#compare(id, signal);
    if (comparison === UNKNOWN) return true;
    if (!comparison) return false;
    if (isComplete(comparison)) return changesWords(comparison, words);
    // The list of changes is cut, so the words may be anywhere in the texts.
    return (
      (await this.#textHas(sha256, words, signal)) || (await this.#textHas(previous_sha256, words, signal))
    );
  }

  async #textHas(sha256: string | null, words: Words, signal: AbortSignal): Promise<boolean> {
    if (sha256 === null) return false;
    const document = await this.#patiently(() => this.#services.texts.textOf(sha256, 'low'), signal);
    if (document === UNKNOWN) return true;
    if (!document.content) return false;
    return occursIn(words, decompressContent<TextContent>(document.content).text);
  }

  async #patiently<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | Unknown> {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (error.code === 'copy_unreachable') return UNKNOWN;
        if (error.code !== 'derivation_busy') throw error;
        if (attempt === BUSY_ATTEMPTS) return UNKNOWN;
      }
      await this.#services.store.clock.sleep(BUSY_DELAY_MS, signal);
    }
  }
}
