import type { Conditions } from '../../shared/alerts/alert.ts';
import type { Comparison, Hunk, JsonChange, TableRow } from '../../shared/collection/diff.ts';
import type { Event } from '../../shared/collection/event.ts';
import type { Passage } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import type { Passages } from '../collection/derived/passages/passages.ts';
import type { PassageChange } from '../collection/derived/process/tasks.ts';
import type { Diffs } from '../collection/diff/diffs.ts';
import type { Noise } from '../collection/noise/noise.ts';
import { countOccurrences, occursIn, type Words } from '../collection/noise/words.ts';
import { versionsOfPassage } from '../findings/passageAnchors.ts';
import { type Change, changeOf } from '../store/sqlite/collection/timeline/eventNoise.ts';
import type { Store } from '../store/store.ts';

interface ChangeReaderServices {
  store: Pick<Store, 'clock' | 'read'>;
  diffs: Pick<Diffs, 'comparisonOf' | 'comparisonWith'>;
  noise: Pick<Noise, 'check'>;
  passages: Pick<Passages, 'change' | 'hasWords'>;
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
    if (event_type === 'first_seen') {
      const first = changeOf(this.#services.store.read, event);
      return first?.scope.watch
        ? this.changeMeets(first, { appears: words.map(({ folded }) => folded) }, signal)
        : this.#textHas(sha256, words, signal);
    }
    if (event_type !== 'changed') return false;
    const comparison = await this.#compare(id, signal);
    return this.#hasChanged(comparison, [previous_sha256, sha256], words, signal);
  }

  /** Like `hasWords`, for a change up to a later version than its own. */
  async hasWordsUntil(change: Event, later: string, words: Words, signal: AbortSignal): Promise<boolean> {
    const { id, previous_sha256 } = change;
    const comparison = await this.#patiently(() => this.#services.diffs.comparisonWith(id, later), signal);
    return this.#hasChanged(comparison, [previous_sha256, later], words, signal);
  }

  async #hasChanged(
    comparison: Comparison | Unknown | undefined,
    versions: readonly (string | null)[],
    words: Words,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (comparison === UNKNOWN) return true;
    if (!comparison) return false;
    if (isComplete(comparison)) return changesWords(comparison, words);
    // The list of changes is cut, so the words may be anywhere in the texts.
    for (const version of versions) if (await this.#textHas(version, words, signal)) return true;
    return false;
  }

  /**
   * Returns whether a first version or a change meets conditions within what is watched. What cannot be read at the moment
   * counts as a match, and nothing that can never be read does.
   */
  async meets(event: Event, conditions: Conditions, signal: AbortSignal): Promise<boolean> {
    const change = changeOf(this.#services.store.read, event);
    return change !== undefined && this.changeMeets(change, conditions, signal);
  }

  /** Same as `meets`, for any two versions. Changes outside the watched part, or that are noise, meet nothing. */
  async changeMeets(change: Change, conditions: Conditions, signal: AbortSignal): Promise<boolean> {
    const met = await this.#patiently(() => this.#services.noise.check(change, conditions), signal);
    return met === UNKNOWN || met;
  }

  async #textHas(sha256: string | null, words: Words, signal: AbortSignal): Promise<boolean> {
    if (sha256 === null) return false;
    const found = await this.#patiently(() => this.#services.passages.hasWords(sha256, words), signal);
    return found === true || found === UNKNOWN;
  }

  /**
   * Returns what became of a passage in a version of its source. Null if that says the same as the version before it, or the
   * quoted words again; `unknown` if the texts cannot be compared now.
   *
   * @throws Problem `shutting_down`; the signal's reason
   */
  async passageChange(
    passage: Passage,
    event: Event,
    signal: AbortSignal,
  ): Promise<PassageChange | 'unknown' | null> {
    const { sha256, previous_sha256 } = versionsOfPassage(this.#services.store.read, passage, event);
    if (passage.sha256 === null || sha256 === null) return null;
    const [quoted, version] = [
      { ...passage, sha256: passage.sha256 },
      { sha256, previous_sha256 },
    ];
    const found = await this.#patiently(() => this.#services.passages.change(quoted, version), signal);
    return found === UNKNOWN ? 'unknown' : found;
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

/** Whether the list of changes of a comparison is complete. */
function isComplete(comparison: Comparison): boolean {
  if (comparison.truncated) return false;
  switch (comparison.kind) {
    case 'text':
    case 'html':
    case 'xml':
    case 'pdf':
      return comparison.summary.unit !== 'whole';
    case 'json':
      return comparison.changes.every(({ before, after }) => !before?.cut && !after?.cut);
    default:
      return true;
  }
}

/** Returns whether a change added or removed one of the words. Images and other bytes have none. */
function changesWords(comparison: Comparison, words: Words): boolean {
  switch (comparison.kind) {
    case 'text':
    case 'html':
    case 'xml':
    case 'pdf':
      return comparison.hunks.some((hunk) => hunkChangesWords(hunk, words));
    case 'json':
      return comparison.changes.some((change) => occursIn(words, textOfJsonChange(change)));
    case 'csv': {
      const { from, to } = comparison.header;
      const columns = [...from, ...to].filter((name) => from.includes(name) !== to.includes(name));
      return (
        columns.some((name) => occursIn(words, name)) ||
        comparison.rows.some((row) => occursIn(words, textOfRow(row)))
      );
    }
    default:
      return false;
  }
}

/** A change may complete a phrase whose other words stayed, so whole passages are compared too. */
function hunkChangesWords({ parts }: Hunk, words: Words): boolean {
  if (parts.some(({ op, text }) => op !== 'same' && occursIn(words, text))) return true;
  const passage = (without: 'added' | 'removed') =>
    parts
      .filter(({ op }) => op !== without)
      .map(({ text }) => text)
      .join('');
  return countOccurrences(words, passage('added')) !== countOccurrences(words, passage('removed'));
}

function textOfJsonChange({ op, pointer, before, after }: JsonChange): string {
  const name = op === 'changed' ? '' : pointer.replaceAll(/[/~_-]/g, ' ');
  // Escaped line breaks and tabs would be read as letters.
  return `${name} ${before?.json ?? ''} ${after?.json ?? ''}`.replace(/\\[bfnrt]/g, ' ');
}

function textOfRow({ cells }: TableRow): string {
  return cells.map(({ before, after }) => `${before ?? ''} | ${after ?? ''}`).join(' | ');
}
