import { type Event } from '../../shared/collection/event.ts';
import { BROWSER } from '../../shared/collection/observers.ts';
import type {
  FindingTarget,
  NewFinding,
  ObjectPassage,
  Passage,
  PassageAnchor,
  PlacedFinding,
} from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import type { Log } from '../runtime/log.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { change, selectAll, selectOne, selectValue } from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';
import { OWNER, unreadable } from '../withholding/withholding.ts';

/** Finds passages in the texts of their objects. Each returns undefined if the text cannot be searched now. */
export interface FindsPassages {
  /** Returns the passage as it is in the text, or as it was given if the text does not have it at one place. */
  place(passage: ObjectPassage, priority: 'normal' | 'low'): Promise<Passage | undefined>;
  /** Returns where the passage is in the text that is made of its object now. */
  anchor(passage: ObjectPassage): Promise<PassageAnchor | undefined>;
}

/**
 * Places the passage of a new finding. If no object is named, it is that of the target. If its text cannot be searched now,
 * the passage stays as it was entered.
 */
export async function withPlace(
  database: ReadDatabase,
  added: NewFinding,
  passages: Pick<FindsPassages, 'place'>,
): Promise<PlacedFinding> {
  const { passage: entered } = added;
  if (entered === null) return { ...added, passage: null };
  const { sha256 = objectOf(database, added.target) } = entered;
  const passage = { ...entered, sha256 };
  if (sha256 === null) return { ...added, passage };
  try {
    const placed = await passages.place({ ...passage, sha256 }, 'normal');
    return { ...added, passage: placed ?? passage };
  } catch (error) {
    if (isPassing(error)) return { ...added, passage };
    throw error;
  }
}

/** Returns the object that a target is, or that its event found; null if there is none. */
function objectOf(database: ReadDatabase, { kind, id }: FindingTarget): string | null {
  if (kind === 'object') return id;
  if (kind === 'pack') return null;
  return objectOfEvent(database, id) ?? null;
}

const objectOfEvent = selectValue<string, [id: string]>(
  'SELECT sha256 FROM events WHERE id = CAST(? AS INTEGER)',
);

/** The process that makes texts is busy, or the copy with the bytes cannot be reached. */
function isPassing(error: unknown): error is Problem {
  return error instanceof Problem && (error.code === 'derivation_busy' || error.code === 'copy_unreachable');
}

interface AnchorServices {
  store: Pick<Store, 'read' | 'write' | 'clock'>;
  passages: Pick<FindsPassages, 'anchor'>;
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
      const page = outdatedPassages(store.read, { after, tools: JSON.stringify(tools), limit: PAGE });
      for (const { ledger_entry, passage } of page) {
        this.#closing.signal.throwIfAborted();
        await this.#anchor(ledger_entry, JSON.parse(passage) as ObjectPassage);
      }
      after = page.at(-1)?.ledger_entry ?? 0;
      if (page.length < PAGE) return;
      await yieldToEventLoop();
    }
  }

  async #anchor(ledger_entry: number, passage: ObjectPassage): Promise<void> {
    const { store } = this.#services;
    if (unreadable(store.read, passage.sha256, OWNER)) return;
    const anchor = await this.#find(passage);
    if (!anchor) return;
    const tool = `${anchor.tool} ${anchor.version}`;
    await store.write((database) =>
      putAnchor(database, { ledger_entry, tool, anchor: JSON.stringify(anchor) }),
    );
  }

  async #find(passage: ObjectPassage): Promise<PassageAnchor | undefined> {
    const { store, passages } = this.#services;
    const { signal } = this.#closing;
    for (;;) {
      signal.throwIfAborted();
      try {
        return await passages.anchor(passage);
      } catch (error) {
        if (!isPassing(error)) throw error;
        if (error.code === 'copy_unreachable') return undefined;
      }
      await store.clock.sleep(RETRY_MS, signal);
    }
  }
}

/** Returns current findings whose passage is placed in a text that no tool makes now, in the order of the ledger. */
const outdatedPassages = selectAll<
  { ledger_entry: number; passage: string },
  [values: { after: number; tools: string; limit: number }]
>(`
  SELECT f.ledger_entry, f.passage FROM current_findings c JOIN findings f USING (ledger_entry)
  WHERE f.ledger_entry > $after AND f.passage_sha256 IS NOT NULL
  AND coalesce((f.passage ->> '$.derived.tool') || ' ' || (f.passage ->> '$.derived.version'), '')
    NOT IN (SELECT value FROM json_each($tools))
  AND NOT EXISTS (SELECT 1 FROM passage_anchors a WHERE a.ledger_entry = f.ledger_entry
    AND a.tool IN (SELECT value FROM json_each($tools)))
  ORDER BY f.ledger_entry LIMIT $limit`);

const putAnchor = change<[row: { ledger_entry: number; tool: string; anchor: string }]>(`
  INSERT OR REPLACE INTO passage_anchors (ledger_entry, tool, anchor) VALUES ($ledger_entry, $tool, $anchor)`);

/**
 * The captures `p` whose document is an object, of the same source as the capture `own`, as SQL. The object leads to them: a
 * source may have thousands of captures.
 */
function captureWithDocument(sha256: string, page: string): string {
  return `SELECT 1 FROM page_captures own JOIN retrievals r INDEXED BY retrievals_by_object
      ON r.sha256 = ${sha256} AND r.source_key = own.source_key
    JOIN page_captures p ON p.id = r.part_of AND p.record ->> 'document' = r.sha256
    WHERE own.id = ${page}`;
}

/**
 * Returns the current findings that quote a version of the source of an event which the same observer saw before. Versions
 * of a drawn page are its text, and the document of its capture.
 */
export const passagesBefore = selectAll<
  { id: string; passage: string },
  [event: Pick<Event, 'id' | 'observer'>],
  { id: string; passage: ObjectPassage }
>(
  `SELECT f.id, f.passage FROM current_findings c JOIN findings f USING (ledger_entry)
   WHERE f.passage_sha256 IS NOT NULL AND (EXISTS (SELECT 1 FROM events e WHERE e.sha256 = f.passage_sha256
       AND e.source_key = (SELECT source_key FROM events WHERE id = $id) AND e.observer = $observer AND e.id < $id)
     OR EXISTS (${captureWithDocument('f.passage_sha256', '(SELECT page FROM events WHERE id = $id)')}
       AND p.ledger_entry < own.ledger_entry AND p.observer IS NULL))
   ORDER BY f.ledger_entry`,
  ({ id, passage }) => ({ id, passage: JSON.parse(passage) as ObjectPassage }),
);

/** Returns the versions that an event tells apart, in which a passage is looked for: of a drawn page, the documents if it quotes one. */
export function versionsOfPassage(
  database: ReadDatabase,
  { sha256: quoted }: Pick<Passage, 'sha256'>,
  { id, page, sha256, previous_sha256 }: Event,
): Pick<Event, 'sha256' | 'previous_sha256'> {
  return documentsOf(database, { id, page, previous_sha256, quoted }) ?? { sha256, previous_sha256 };
}

const documentsOf = selectOne<
  Pick<Event, 'sha256' | 'previous_sha256'>,
  [values: Pick<Event, 'id' | 'page' | 'previous_sha256'> & { quoted: string | null }]
>(`
  SELECT own.record ->> 'document' AS sha256, (SELECT p.record ->> 'document' FROM events e
    JOIN page_captures p ON p.id = e.page WHERE e.sha256 = $previous_sha256 AND e.source_key = own.source_key
      AND e.observer = '${BROWSER}' AND e.id < $id
    ORDER BY e.id DESC LIMIT 1) AS previous_sha256
  FROM page_captures own WHERE own.id = $page AND EXISTS (${captureWithDocument('$quoted', '$page')})`);
