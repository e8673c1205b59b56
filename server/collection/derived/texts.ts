import type { DamageContext } from '../../fixity/confirmDamage.ts';
import {
  type DerivedDocumentRow,
  derivedDocument,
  putDerivedDocument,
} from '../../store/sqlite/collection/derivedDocuments.ts';
import type { Store } from '../../store/store.ts';
import type { DeriveOptions, Deriver } from './deriver.ts';
import { TEXT_TIMEOUT_MS } from './limits.ts';
import { isKept, NotDerivableError } from './notDerivable.ts';
import { noticeDamagedObjects } from './noticeDamagedObjects.ts';
import { objectToRead } from './objectToRead.ts';
import { CURRENT_TEXT_TOOLS, NO_TEXT_TOOL } from './tools.ts';

/** The texts of archived objects: kept ones, and those made on first asking. */
export class Texts {
  readonly #store: DamageContext;
  readonly #deriver: Deriver;
  readonly #write: Store['write'];
  readonly #making = new Map<string, Promise<DerivedDocumentRow>>();

  constructor(services: {
    store: DamageContext;
    deriver: Deriver;
    write: Store['write'];
  }) {
    this.#store = services.store;
    this.#deriver = services.deriver;
    this.#write = services.write;
  }

  /**
   * The text of an object that the archive holds, or why it has none: kept, or made and kept now. Whoever asks for one
   * that is being made waits for the same.
   *
   * @throws Problem `derivation_busy`, `shutting_down`, and what writing throws.
   */
  async textOf(sha256: string, priority: DeriveOptions['priority'] = 'asked'): Promise<DerivedDocumentRow> {
    const kept = derivedDocument(this.#store.read, 'text', sha256);
    if (kept && CURRENT_TEXT_TOOLS.includes(`${kept.tool} ${kept.tool_version}`)) return kept;
    // Whoever asks does not wait where work that nobody asked for waits.
    const key = `${priority} ${sha256}`;
    const making = this.#making.get(key) ?? this.#make(sha256, priority);
    this.#making.set(key, making);
    return making.finally(() => this.#making.delete(key));
  }

  async #make(sha256: string, priority: DeriveOptions['priority']): Promise<DerivedDocumentRow> {
    const outcome = await this.#derive(sha256, priority);
    const document: DerivedDocumentRow = {
      kind: 'text',
      subject: sha256,
      objects: [sha256],
      made_at: this.#store.instant(),
      ...outcome,
    };
    if (isKept(document.outcome)) await this.#write((database) => putDerivedDocument(database, document));
    return document;
  }

  async #derive(sha256: string, priority: DeriveOptions['priority']) {
    try {
      const { tool, toolVersion, title, content } = await this.#deriver.derive(
        { task: 'text', object: objectToRead(this.#store, sha256) },
        { timeoutMs: TEXT_TIMEOUT_MS, priority },
      );
      return { tool, tool_version: toolVersion, outcome: 'made', detail: null, title, content };
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      await noticeDamagedObjects(this.#store, error, [sha256]);
      const { tool, toolVersion } = NO_TEXT_TOOL;
      const detail = error.message;
      return { tool, tool_version: toolVersion, outcome: error.reason, detail, title: null, content: null };
    }
  }
}
