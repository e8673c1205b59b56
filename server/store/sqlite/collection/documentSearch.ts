import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  type Condition,
  change,
  columnOf,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
  upserts,
  where,
} from '../engine/queries.ts';
import { counter } from '../node/blobs.ts';
import { isReleased, isReleasedSql } from '../node/withheld.ts';

/**
 * Indexes a text; `document` is undefined if there is none, and of bytes that were given up meanwhile there is none. It
 * yields between the statement that splits the text into words and the next one, with which SQLite writes them: either
 * takes long if a long text has many different words.
 */
export function* indexText(
  database: WriteDatabase,
  { key, source_key, sha256 }: PendingText,
  document: { title: string; text: string } | undefined,
): Generator<void, void, void> {
  deleteText(database, key);
  if (document && !isReleased(database, sha256)) insertText(database, { key, ...document });
  yield;
  putIndexed(database, { key, source_key, sha256 });
}

const deleteText = change<[key: number]>('DELETE FROM document_text WHERE rowid = ?');
const insertText = change<[text: { key: number; title: string; text: string }]>(
  'INSERT INTO document_text (rowid, title, text) VALUES ($key, $title, $text)',
);
const putIndexed = change<[text: PendingText]>(
  'INSERT OR REPLACE INTO indexed_texts VALUES ($key, $source_key, $sha256)',
);

/**
 * Returns how often bytes were given up since everything of them was overwritten: their words may still be in the index, in
 * free pages of the database, and in its log.
 */
export function countReleasesToClean(database: ReadDatabase): number {
  return counter(database, 'texts_to_clean');
}

/** Records that everything of so many releases is overwritten. */
export const releasesAreClean = change<[releases: number]>(
  "UPDATE counters SET value = value - ? WHERE name = 'texts_to_clean'",
);

/**
 * Merges a part of the index, so that the words of deleted texts leave it. FTS5's own `secure-delete` has no effect on an
 * index without contents. Returns whether the whole index is merged.
 *
 * @param pages how many are merged. The first call has a negative number
 * (https://sqlite.org/fts5.html#the_merge_command)
 */
export function mergeIndex(database: WriteDatabase, pages: number): boolean {
  const before = totalChanges(database);
  merge(database, pages);
  return totalChanges(database) - before < 2;
}

const totalChanges = selectValue<number>('SELECT total_changes()', 0);
const merge = change<[pages: number]>("INSERT INTO document_text (document_text, rank) VALUES ('merge', ?)");

/** Free pages that are overwritten in one step. */
const OVERWRITTEN_BYTES = 4_194_304;

/** Overwrites the free pages of the database. Earlier versions freed pages with what was in them. */
export function* overwriteFreePages(database: WriteDatabase): Generator<void, void, void> {
  const free = () => database.pragma('freelist_count', { simple: true }) as number;
  if (free() === 0) return;
  database.exec(OVERWRITTEN_TABLE);
  while (free() > 0) {
    overwrite(database, Math.min(OVERWRITTEN_BYTES, free() * PAGE_BYTES));
    yield;
  }
  database.exec('DROP TABLE overwritten');
}
const PAGE_BYTES = 4_096;

/** A table that takes all free pages, and gives them back. */
export const OVERWRITTEN_TABLE = 'CREATE TABLE overwritten (zeros BLOB NOT NULL)';

const overwrite = change<[bytes: number]>('INSERT INTO overwritten VALUES (zeroblob(?))');

/** What a search covers. */
interface TextScope {
  /** The FTS5 expression; null matches every text. */
  match: string | null;
  sources: boolean;
  packs: boolean;
  /** Only this source. Its versions are then not grouped. */
  source: number | null;
  /** Whether texts that are withheld from visitors are left out. */
  forVisitors: boolean;
}

/** A hit: the keys of the texts that match, all versions of one source, or one file. Highest key first. */
export type TextHit = number[];

/**
 * Returns a page of the hits and their total number: sources first, newest source first, then files, newest first. The
 * results are not ranked: ranking would have to read every match first. Only the keys are read, which are grouped by
 * source in their order.
 */
export function searchTexts(
  database: ReadDatabase,
  scope: TextScope,
  { limit, offset }: { limit: number; offset: number },
): { hits: TextHit[]; total: number } {
  const removed = new Set(removedSources(database));
  const hits: TextHit[] = [];
  let total = 0;
  let source = 0;
  let hit: TextHit | undefined;
  const begin = (key: number) => {
    const isOnPage = total >= offset && total < offset + limit;
    hit = isOnPage ? [key] : undefined;
    if (hit) hits.push(hit);
    total += 1;
  };
  for (const key of scope.sources ? versionKeys(database, scope) : []) {
    const of = Math.floor(key / KEYS_PER_SOURCE);
    if (of === source && scope.source === null) {
      hit?.push(key);
      continue;
    }
    if (of !== source && removed.has(of)) continue;
    source = of;
    begin(key);
  }
  if (scope.packs) for (const key of fileKeys(database, scope)) begin(key);
  return { hits, total };
}

function versionKeys(database: ReadDatabase, scope: TextScope): number[] {
  const [from, to] = scope.source === null ? [1, Number.MAX_SAFE_INTEGER] : rangeOf(scope.source);
  return textKeys(database, 'DESC', scope, ['rowid BETWEEN ? AND ?', from, to]);
}

const withheldTextsChanges = selectValue<number>(
  "SELECT value FROM counters WHERE name = 'withheld_texts_changes'",
  0,
);
const allWithheldTexts = selectValues<number>('SELECT key FROM withheld_texts ORDER BY key');

const withheldTextsOf = new WeakMap<ReadDatabase, { changes: number; keys: Float64Array }>();

/**
 * Returns the keys of the texts that are withheld from visitors, ascending. They are read again after a change: to look up
 * each hit of a search would take longer than the search.
 */
function withheldTexts(database: ReadDatabase): Float64Array {
  const changes = withheldTextsChanges(database);
  const known = withheldTextsOf.get(database);
  if (known?.changes === changes) return known.keys;
  const keys = Float64Array.from(allWithheldTexts(database));
  withheldTextsOf.set(database, { changes, keys });
  return keys;
}

/** Returns the keys that are not among `hidden`. Both are sorted: `keys` in this order, `hidden` ascending. */
function without(keys: number[], hidden: Float64Array, order: 'ASC' | 'DESC'): number[] {
  if (hidden.length === 0) return keys;
  const step = order === 'ASC' ? 1 : -1;
  let at = order === 'ASC' ? 0 : hidden.length - 1;
  return keys.filter((key) => {
    while (((hidden[at] ?? Number.NaN) - key) * step < 0) at += step;
    return hidden[at] !== key;
  });
}

function textKeys(
  database: ReadDatabase,
  order: 'ASC' | 'DESC',
  { match, forVisitors }: TextScope,
  keys: Condition,
): number[] {
  const selected = where(match !== null && ['document_text MATCH ?', match], keys);
  const sql = `SELECT rowid FROM document_text ${selected.where} ORDER BY rowid ${order}`;
  const found = columnOf<number>(database, sql, ...selected.values);
  return forVisitors ? without(found, withheldTexts(database), order) : found;
}

const removedSources = selectValues<number>('SELECT key FROM sources WHERE removed = 1');

function rangeOf(source: number): [number, number] {
  return [source * KEYS_PER_SOURCE, (source + 1) * KEYS_PER_SOURCE - 1];
}

/** Newer files have lower keys. */
function fileKeys(database: ReadDatabase, scope: TextScope): number[] {
  return textKeys(database, 'ASC', scope, ['rowid < 0']);
}

/** A found version of a source: when it was last observed as a new version, by whom, and whether it is current. */
interface FoundVersion {
  id: string;
  url: string;
  name: string;
  agency: string;
  tags: string[];
  key: number;
  sha256: string;
  observer: string;
  observed_at: string;
  original_observed_at: string | null;
  is_current: boolean;
  title: string | null;
  tool: string;
  tool_version: string;
  made_at: string;
}

/** The versions of one hit of which the newest is looked for. More are counted only. */
const MAX_COMPARED = 50;

/** Returns the version that stands for a hit: the current one if it is among them, else the one observed last. */
export function foundVersion(database: ReadDatabase, keys: TextHit): FoundVersion | undefined {
  return foundAmong(database, keys.slice(0, MAX_COMPARED));
}

const foundAmong = selectOne<
  Omit<FoundVersion, 'tags' | 'is_current'> & { tags: string; is_current: number },
  [keys: TextHit],
  FoundVersion
>(
  `SELECT s.id, s.url, s.name, s.agency, s.tags, i.key, i.sha256, d.title, d.tool, d.tool_version, d.made_at,
     coalesce(e.observer, 'self') AS observer, coalesce(e.observed_at, s.last_checked_at, s.added_at) AS observed_at,
     e.original_observed_at,
     i.sha256 IS coalesce(s.last_sha256, (SELECT sha256 FROM events INDEXED BY events_by_source
       WHERE source_key = s.key ORDER BY observed_at DESC, id DESC LIMIT 1))
       OR i.sha256 IS (SELECT sha256 FROM events INDEXED BY events_by_capture WHERE source_key = s.key
         AND observer = 'browser' AND original_observed_at IS NOT NULL ORDER BY id DESC LIMIT 1) AS is_current
   FROM json_each(?) j CROSS JOIN indexed_texts i ON i.key = j.value
   JOIN sources s ON s.key = i.source_key
   JOIN derived_documents d ON d.kind = 'text' AND d.subject = i.sha256
   LEFT JOIN events e ON e.id = (SELECT o.id FROM events o WHERE o.sha256 = i.sha256 AND o.source_key = s.key
     AND o.event_type IN ('first_seen', 'changed') ORDER BY o.observer = 'self' DESC, o.id DESC LIMIT 1)
   ORDER BY is_current DESC, e.id DESC LIMIT 1`,
  (row) => ({ ...row, tags: JSON.parse(row.tags) as string[], is_current: row.is_current === 1 }),
);

/** A found file of a pack: the newest pack that has it. */
interface FoundFile {
  sha256: string;
  pack: string;
  pack_title: string;
  path: string;
  /** The number of other places in packs at which the same file is. */
  others: number;
  received_at: string;
  title: string | null;
  tool: string;
  tool_version: string;
  made_at: string;
}

/** Returns the file with a key of the index, unless only parts of sets have it and they are not wanted. */
export const foundFile = selectOne<FoundFile, [values: { key: number; parts: 0 | 1 }]>(`
  SELECT i.sha256, p.id AS pack, f.path,
    (SELECT json_extract(r.record, '$.title') FROM pack_records r WHERE r.ledger_entry = f.pack) AS pack_title, l.at AS received_at, d.title, d.tool, d.tool_version, d.made_at,
    (SELECT count(*) - 1 FROM (SELECT 1 FROM pack_files o WHERE o.sha256 = i.sha256 LIMIT 1000)) AS others
  FROM indexed_texts i JOIN derived_documents d ON d.kind = 'text' AND d.subject = i.sha256
  JOIN pack_files f ON f.sha256 = i.sha256 JOIN packs p ON p.ledger_entry = f.pack
  JOIN ledger l ON l.seq = p.ledger_entry
  WHERE i.key = $key AND ($parts OR p.part_of IS NULL) ORDER BY f.pack DESC, f.path LIMIT 1`);

/** Returns the media type of a pack's file that is no object of a source, and the key of the pack. */
export const packFileOf = selectOne<{ media_type: string; pack: number }, [sha256: string]>(
  'SELECT media_type, pack FROM pack_files WHERE sha256 = ? ORDER BY pack LIMIT 1',
);

/** The kind of a derived document: the text of an object, or the diff of an event. */
type DerivedKind = 'text' | 'diff';

/** A derived document, or the reason why there is none. */
export interface DerivedDocumentRow {
  kind: DerivedKind;
  /** The digest of the object, or the number of the event. */
  subject: string;
  /** The digests of the objects it was derived from. */
  objects: string[];
  tool: string;
  tool_version: string;
  made_at: string;
  /** `made`, or a code for why it could not be derived. */
  outcome: string;
  /** Why it could not be derived, as a sentence. */
  detail: string | null;
  title: string | null;
  /** The document as written by `compressContent`; null if it could not be derived. */
  content: Uint8Array | null;
}

type Stored = Omit<DerivedDocumentRow, 'objects'> & { objects: string };

const COLUMNS = 'kind, subject, objects, tool, tool_version, made_at, outcome, detail, title, content';

/** Returns the derived document of a subject, or its failure, by any version of the tool. */
export const derivedDocument = selectOne<Stored, [kind: DerivedKind, subject: string], DerivedDocumentRow>(
  `SELECT ${COLUMNS} FROM derived_documents WHERE kind = ? AND subject = ?`,
  (row) => ({ ...row, objects: JSON.parse(row.objects) as string[] }),
);

/** Inserts or replaces the derived document of a subject, unless bytes that it was derived from were given up meanwhile. */
export function putDerivedDocument(database: WriteDatabase, document: DerivedDocumentRow): void {
  if (document.objects.some((sha256) => isReleased(database, sha256))) return;
  putDocument(database, { ...document, objects: JSON.stringify(document.objects) });
}

const putDocument = upserts<Stored>('derived_documents', {
  key: 'kind, subject',
  columns: 'objects, tool, tool_version, made_at, outcome, detail, title, content',
});

/** The keys of a source's texts are in a range of this size. */
const KEYS_PER_SOURCE = 1_048_576;

/** A text that is not in the index yet: of a version of a source, or of a pack's file, whose `source_key` is 0. */
export interface PendingText {
  key: number;
  source_key: number;
  sha256: string;
}

/** Returns texts that must be indexed: the newest packs' files, and versions of the newest sources. */
export function pendingTexts(database: ReadDatabase, limit: number): PendingText[] {
  const files = pendingFiles(database, Math.ceil(limit / 2));
  return [...pendingVersions(database, limit - files.length), ...files];
}

const pendingFiles = selectAll<PendingText, [limit: number]>(
  'SELECT * FROM wanted_texts WHERE key < 0 ORDER BY key LIMIT ?',
);
const pendingVersions = selectAll<PendingText, [limit: number]>(
  'SELECT * FROM wanted_texts WHERE key > 0 ORDER BY key DESC LIMIT ?',
);

/** Queues texts again, under the keys that they have in the index. */
export function queueTexts(database: WriteDatabase, texts: readonly PendingText[]): void {
  for (const text of texts) queueText(database, text);
}

const queueText = change<[text: PendingText]>(
  'INSERT OR IGNORE INTO wanted_texts VALUES ($key, $source_key, $sha256)',
);

/** Removes a text from the queue. */
export const dequeueText = change<[values: PendingText]>('DELETE FROM wanted_texts WHERE key = $key');

/**
 * Returns a page of the indexed texts after a key. `isWanted` is true if the text was deleted, or was derived by a tool
 * that is not in `tools` (`<tool> <version>` each). Used when a node starts.
 */
export function outdatedTexts(
  database: ReadDatabase,
  { after, limit, tools }: { after: number; limit: number; tools: readonly string[] },
): (PendingText & { isWanted: boolean })[] {
  return indexedTexts(database, tools, after, limit);
}

const indexedTexts = selectAll<
  PendingText & { wanted: number },
  [tools: readonly string[], after: number, limit: number],
  PendingText & { isWanted: boolean }
>(
  `SELECT i.key, i.source_key, i.sha256, (d.key IS NULL
     OR d.tool || ' ' || d.tool_version NOT IN (SELECT value FROM json_each(?)))
     AND NOT ${isReleasedSql('i.sha256')} AS wanted
   FROM indexed_texts i LEFT JOIN derived_documents d ON d.kind = 'text' AND d.subject = i.sha256
   WHERE i.key > ? ORDER BY i.key LIMIT ?`,
  ({ wanted, ...text }) => ({ ...text, isWanted: wanted === 1 }),
);

/** Returns a page of the sources after a key, with the current version if it is neither indexed nor queued. */
export const sourcesWithoutText = selectAll<
  { source_key: number; sha256: string | null },
  [values: { after: number; limit: number }]
>(`
  SELECT s.key AS source_key, iif(i.key IS NULL AND w.key IS NULL AND NOT ${isReleasedSql('s.last_sha256')},
    s.last_sha256, NULL) AS sha256
  FROM sources s
  LEFT JOIN indexed_texts i ON i.source_key = s.key AND i.sha256 = s.last_sha256
  LEFT JOIN wanted_texts w ON w.source_key = s.key AND w.sha256 = s.last_sha256
  WHERE s.key > $after ORDER BY s.key LIMIT $limit`);

/** Queues a version of a source, unless it is queued. It must not be indexed. */
export function queueVersion(database: WriteDatabase, sourceKey: number, sha256: string): void {
  const [from, to] = [sourceKey * KEYS_PER_SOURCE, (sourceKey + 1) * KEYS_PER_SOURCE - 1];
  queueNewText(database, { sourceKey, sha256, from, to });
}

const queueNewText = change<[values: { sourceKey: number; sha256: string; from: number; to: number }]>(`
  INSERT OR IGNORE INTO wanted_texts SELECT 1 + max(
    coalesce((SELECT max(key) FROM wanted_texts WHERE key BETWEEN $from AND $to), $from),
    coalesce((SELECT max(key) FROM indexed_texts WHERE key BETWEEN $from AND $to), $from)), $sourceKey, $sha256`);
