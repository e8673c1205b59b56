import type {
  DerivedPassage,
  ObjectPassage,
  Passage,
  PassageAnchor,
} from '../../../../shared/findings/finding.ts';
import { Problem } from '../../../../shared/problems.ts';
import type { DerivedDocumentRow } from '../../../store/sqlite/collection/documentSearch.ts';
import { documentWithText } from '../../../store/sqlite/collection/pages.ts';
import type { Store } from '../../../store/store.ts';
import type { Words } from '../../noise/words.ts';
import { TEXT_TIMEOUT_MS } from '../limits.ts';
import { type DeriveOptions, type Deriver, objectToRead } from '../process/deriver.ts';
import {
  type DeriveTask,
  isPermanent,
  NotDerivableError,
  type PassageChange,
  type ResultOf,
  type StoredText,
} from '../process/tasks.ts';

type Priority = NonNullable<DeriveOptions['priority']>;

interface PassagesServices {
  store: Pick<Store, 'read' | 'blobs'>;
  /** Returns the text of an object, which is made if needed. */
  textOf: (sha256: string, priority: Priority) => Promise<DerivedDocumentRow>;
  deriver: Pick<Deriver, 'derive'>;
}

/**
 * Looks for passages and words in the texts of objects. A text may be long, so the derive process looks. All of it throws
 * Problem `derivation_busy`, `shutting_down`, and whatever writing throws.
 */
export class Passages {
  readonly #services: PassagesServices;

  constructor(services: PassagesServices) {
    this.#services = services;
  }

  /**
   * Returns a passage as it is in the text of its object and in the document, or as it was given if the text does not have it
   * at one place. Undefined if the text cannot be searched now.
   */
  async place(passage: ObjectPassage, priority: Priority): Promise<Passage | undefined> {
    const text = await this.#textOf(passage.sha256, priority);
    if (!text) return undefined;
    if (text.content === null) return passage;
    const source = this.#sourceOf(passage.sha256);
    const placed = await this.#look({ task: 'place', passage, text, source }, priority);
    if (!placed?.derived) return placed;
    const { derived } = placed;
    return {
      ...placed,
      derived: { ...derived, ...(await this.#inDocument(passage.sha256, placed, priority)) },
    };
  }

  /** Returns where a placed passage is in the document: of the text of a drawn page, in the document that was drawn. */
  async #inDocument(
    sha256: string,
    passage: Passage,
    priority: Priority,
  ): Promise<Pick<DerivedPassage, 'dom_path' | 'box' | 'document'>> {
    const { store } = this.#services;
    const document = documentWithText(store.read, sha256);
    const object = objectToRead(store, document ?? sha256);
    try {
      const found = await this.#look({ task: 'place_in_document', passage, object }, priority);
      return document !== undefined && found?.dom_path !== undefined ? { ...found, document } : (found ?? {});
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'shutting_down') throw error;
      // The text has the passage. That its document cannot be read now takes nothing from that.
      return {};
    }
  }

  /** Returns where a passage is in the text that is made of its object now. Undefined if its bytes cannot be read now. */
  async anchor(passage: ObjectPassage): Promise<PassageAnchor | undefined> {
    const text = await this.#textOf(passage.sha256, 'low');
    if (!text) return undefined;
    const { tool, version } = text;
    const nowhere = { tool, version, start: null, end: null, page: null };
    if (text.content === null) return { ...nowhere, state: 'no_text' };
    const task = { task: 'anchor', passage, text, source: this.#sourceOf(passage.sha256) } as const;
    // A search that took too long takes too long after the next start, too.
    return (await this.#look(task, 'low')) ?? { ...nowhere, state: 'not_found' };
  }

  /**
   * Returns what became of a passage in a version of its source. Null if that says the same as the version before it, or the
   * quoted words again; `unknown` if the texts cannot be compared now.
   */
  async change(
    passage: ObjectPassage,
    { sha256, previous_sha256 }: { sha256: string; previous_sha256: string | null },
  ): Promise<PassageChange | 'unknown' | null> {
    if (sha256 === passage.sha256) return null;
    const quoted = await this.#textOf(passage.sha256, 'low');
    const now = await this.#textOf(sha256, 'low');
    if (!quoted || !now) return 'unknown';
    const isSecond = previous_sha256 === null || previous_sha256 === passage.sha256;
    const earlier = isSecond ? undefined : await this.#textOf(previous_sha256, 'low');
    const source = this.#sourceOf(sha256);
    const task = { task: 'passage_change', passage, quoted, now, earlier, source } as const;
    const found = await this.#look(task, 'low');
    return found === undefined ? 'unknown' : found;
  }

  /** Whether an evidence file would find the words of a passage in bytes, or could not read them as text. Undefined if looking takes too long. */
  isSeen(passage: ObjectPassage, bytes: Uint8Array, mediaType: string): Promise<boolean | undefined> {
    const source = this.#sourceOf(passage.sha256);
    return this.#look({ task: 'see', passage, bytes, mediaType, source }, 'normal');
  }

  /** Whether the text of an object has one of these words; what has no text has none. Undefined if its bytes cannot be read now. */
  async hasWords(sha256: string, words: Words): Promise<boolean | undefined> {
    const text = await this.#textOf(sha256, 'low');
    if (!text) return undefined;
    if (text.content === null) return false;
    return (await this.#look({ task: 'words', words, content: text.content }, 'low')) ?? false;
  }

  async #textOf(sha256: string, priority: Priority): Promise<StoredText | undefined> {
    const { tool, tool_version, outcome, content } = await this.#services.textOf(sha256, priority);
    return isPermanent(outcome) ? { tool, version: tool_version, content } : undefined;
  }

  /** Returns undefined if it takes too much time or memory. */
  async #look<Task extends DeriveTask>(task: Task, priority: Priority): Promise<ResultOf<Task> | undefined> {
    try {
      return await this.#services.deriver.derive(task, { timeoutMs: TEXT_TIMEOUT_MS, priority });
    } catch (error) {
      if (error instanceof NotDerivableError) return undefined;
      throw error;
    }
  }

  #sourceOf(sha256: string): number | undefined {
    return objectToRead(this.#services.store, sha256).source;
  }
}
