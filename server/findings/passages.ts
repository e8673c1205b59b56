import { createHash } from 'node:crypto';
import { anchorPassage, locatePassage } from '../../shared/findings/anchor.ts';
import type { NewFinding, Passage, PassageAnchor } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import type { Log } from '../runtime/log.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { all, change } from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';
import { OWNER, unreadable } from '../withholding/withholding.ts';

/** The words of an object with the tool that made the text; undefined if its bytes cannot be read now. */
export interface ObjectWords {
  tool: string;
  version: string;
  text: string | null;
  pages: number | null;
}
export type ReadWords = (sha256: string, priority: 'normal' | 'low') => Promise<ObjectWords | undefined>;

/**
 * Returns a passage as it is in the text of its object: the exact words, what surrounds them, the position, and the tool that
 * made the text. A passage that the text does not have at one place is returned as it was entered.
 */
export function placedPassage(passage: Passage, words: ObjectWords): Passage {
  const { tool, version, text, pages } = words;
  const located = text === null ? undefined : locatePassage(text, passage, pages !== null);
  if (text === null || !located) return passage;
  const { words_once, context_once, ...place } = located;
  const derived = { tool, version, text: digestOf(text), words_once, context_once };
  return { sha256: passage.sha256, ...place, derived };
}

/** Places the passage of a new finding. If its text cannot be made now, the passage stays as it was entered. */
export async function withPlace(added: NewFinding, readWords: ReadWords): Promise<NewFinding> {
  const { passage } = added;
  if (!passage?.sha256) return added;
  try {
    const words = await readWords(passage.sha256, 'normal');
    return words ? { ...added, passage: placedPassage(passage, words) } : added;
  } catch (error) {
    if (isPassing(error)) return added;
    throw error;
  }
}

/** The process that makes texts is busy, or the copy with the bytes cannot be reached. */
export function isPassing(error: unknown): boolean {
  return error instanceof Problem && (error.code === 'derivation_busy' || error.code === 'copy_unreachable');
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Where a passage is in the text that is made of its object now. */
function anchorOf(passage: Passage, words: ObjectWords): PassageAnchor {
  const { tool, version, text, pages } = words;
  const nowhere = { tool, version, start: null, end: null, page: null };
  if (text === null) return { ...nowhere, state: 'no_text' };
  // The same text, of another version of the tool: the position is as good as it was.
  const isSame = passage.derived?.text === digestOf(text);
  const found =
    passage.derived && !isSame ? anchorPassage(text, passage) : locatePassage(text, passage, false);
  // The bytes are the same, so other words at its place are not the passage.
  if (typeof found !== 'object' || ('same_words' in found && !found.same_words))
    return { ...nowhere, state: 'not_found' };
  const { start, end } = found;
  const page = pages === null ? null : Array.from(text).slice(0, start).join('').split('\f').length;
  return { tool, version, state: 'found', start, end, page };
}

interface AnchorServices {
  store: Pick<Store, 'read' | 'write' | 'clock'>;
  readWords: ReadWords;
  /** The tools that make texts now, each as `tool version`. */
  tools: readonly string[];
  log: Log;
}

/** The pause before a text is asked for again. */
const RETRY_MS = 5_000;
const PAGE = 50;

/**
 * Anchors passages anew whose text another version of a tool made. The versions change only with the program, so this is done
 * once after each start.
 */
export class PassageAnchors {
  readonly #services: AnchorServices;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(services: AnchorServices) {
    this.#services = services;
  }

  start(): void {
    const { log } = this.#services;
    this.#running = this.anchorAll().catch((error: unknown) => {
      if (!this.#closing.signal.aborted) log.error({ error }, 'Passages could not be anchored anew.');
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** Anchors all passages that need it. @throws Problem `shutting_down`; the reason of `close` */
  async anchorAll(): Promise<void> {
    const { store, tools } = this.#services;
    for (let after = 0; ; ) {
      const page = outdatedPassages(store.read, { after, tools, limit: PAGE });
      for (const { ledger_entry, passage } of page) {
        this.#closing.signal.throwIfAborted();
        await this.#anchor(ledger_entry, JSON.parse(passage) as Passage & { sha256: string });
      }
      after = page.at(-1)?.ledger_entry ?? 0;
      if (page.length < PAGE) return;
      await yieldToEventLoop();
    }
  }

  async #anchor(ledger_entry: number, passage: Passage & { sha256: string }): Promise<void> {
    const { store } = this.#services;
    if (unreadable(store.read, passage.sha256, OWNER)) return;
    const words = await this.#wordsOf(passage.sha256);
    if (!words) return;
    const anchor = anchorOf(passage, words);
    const tool = `${anchor.tool} ${anchor.version}`;
    await store.write((database) =>
      putAnchor(database, { ledger_entry, tool, anchor: JSON.stringify(anchor) }),
    );
  }

  async #wordsOf(sha256: string): Promise<ObjectWords | undefined> {
    const { store, readWords } = this.#services;
    const { signal } = this.#closing;
    for (;;) {
      signal.throwIfAborted();
      try {
        return await readWords(sha256, 'low');
      } catch (error) {
        if (!isPassing(error)) throw error;
        if ((error as Problem).code === 'copy_unreachable') return undefined;
      }
      await store.clock.sleep(RETRY_MS, signal);
    }
  }
}

/** Returns current findings whose passage is placed in a text that no tool makes now, in the order of the ledger. */
function outdatedPassages(
  database: ReadDatabase,
  { after, tools, limit }: { after: number; tools: readonly string[]; limit: number },
): { ledger_entry: number; passage: string }[] {
  const sql = `SELECT f.ledger_entry, f.passage FROM current_findings c JOIN findings f USING (ledger_entry)
    WHERE f.ledger_entry > ? AND f.passage_sha256 IS NOT NULL
    AND coalesce((f.passage ->> '$.derived.tool') || ' ' || (f.passage ->> '$.derived.version'), '')
      NOT IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM passage_anchors a WHERE a.ledger_entry = f.ledger_entry
      AND a.tool IN (SELECT value FROM json_each(?)))
    ORDER BY f.ledger_entry LIMIT ?`;
  const current = JSON.stringify(tools);
  return all(database, sql, after, current, current, limit);
}

const putAnchor = change<[row: { ledger_entry: number; tool: string; anchor: string }]>(`
  INSERT OR REPLACE INTO passage_anchors (ledger_entry, tool, anchor) VALUES (@ledger_entry, @tool, @anchor)`);
