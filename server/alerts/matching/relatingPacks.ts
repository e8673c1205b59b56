import { normalizeUrl, sourceIdOf } from '../../collection/sources/sources.ts';
import { digestOf } from '../../drift/packDrift.ts';
import { filesOfPack, packById } from '../../store/sqlite/archive/packs.ts';
import { packsAfter } from '../../store/sqlite/archive/relatedPacks.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';

/** The number of packs that are read in one step. */
const PAGE = 200;

/** Which packs relate to a source or to an object. Read when the first rule about drift is applied, and then extended. */
export class RelatingPacks {
  readonly #database: ReadDatabase;
  readonly #packs = new Map<string, Set<string>>();
  #after = 0;

  constructor(database: ReadDatabase) {
    this.#database = database;
  }

  /**
   * Reads the packs that were added since the last reading. Returns the packs that relate to a file of a pack which one of
   * them replaces. Those up to a ledger entry replace nothing that anybody asked about.
   */
  async readNew(sinceEntry: number): Promise<Set<string>> {
    const affected = new Set<string>();
    for (;;) {
      const page = packsAfter(this.#database, this.#after, PAGE);
      for (const { ledger_entry, id, supersedes, related } of page) {
        this.#after = ledger_entry;
        for (const identifier of related) this.#add(identifier, id);
        if (supersedes === null || ledger_entry <= sinceEntry) continue;
        for (const pack of this.#relatingToFilesOf(supersedes)) affected.add(pack);
      }
      if (page.length < PAGE) return affected;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Returns the packs that relate to one of these sources or objects. */
  relatingTo(keys: Iterable<string | null>): string[] {
    const found = new Set<string>();
    for (const key of keys) for (const pack of this.#packs.get(key ?? '') ?? []) found.add(pack);
    return [...found];
  }

  #relatingToFilesOf(pack: string): string[] {
    const row = packById(this.#database, pack);
    if (!row) return [];
    return this.relatingTo(filesOfPack(this.#database, row.ledger_entry).map(({ sha256 }) => sha256));
  }

  #add(identifier: string, pack: string): void {
    const digest = digestOf(identifier);
    const key = digest ?? (URL.canParse(identifier) ? sourceIdOf(normalizeUrl(identifier)) : undefined);
    if (key === undefined) return;
    const packs = this.#packs.get(key) ?? new Set();
    this.#packs.set(key, packs.add(pack));
  }
}
