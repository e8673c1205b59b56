import type { DamageContext } from '../../../fixity/confirmDamage.ts';
import {
  type DerivedDocumentRow,
  derivedDocument,
  putDerivedDocument,
} from '../../../store/sqlite/collection/derivedDocuments.ts';
import type { Store } from '../../../store/store.ts';
import { objectToRead } from '../body/objectToRead.ts';
import { CURRENT_TEXT_TOOLS, NO_TEXT_TOOL } from '../extract/textTools.ts';
import { TEXT_TIMEOUT_MS } from '../limits.ts';
import { isPermanent, NotDerivableError } from '../notDerivable.ts';
import { noticeDamagedObjects } from '../noticeDamagedObjects.ts';
import type { DeriveOptions, Deriver } from '../process/deriver.ts';

/** The texts of archived objects. A text is extracted on the first request and then stored. */
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
   * Returns the text of an archived object, or the reason why it has none. Extracts and stores it if needed. Concurrent
   * requests for the same text share one extraction.
   *
   * @throws Problem `derivation_busy`, `shutting_down`; whatever writing throws.
   */
  async textOf(sha256: string, priority: DeriveOptions['priority'] = 'normal'): Promise<DerivedDocumentRow> {
    const stored = derivedDocument(this.#store.read, 'text', sha256);
    if (stored && CURRENT_TEXT_TOOLS.includes(`${stored.tool} ${stored.tool_version}`)) return stored;
    // A request does not share the extraction of a background task, which may have to wait longer.
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
    if (isPermanent(document.outcome))
      await this.#write((database) => putDerivedDocument(database, document), {
        batched: priority === 'low',
      });
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
