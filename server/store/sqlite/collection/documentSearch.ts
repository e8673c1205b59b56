import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import { KEYS_PER_SOURCE, type PendingText } from './textQueue.ts';

/** Indexes a text; `document` is undefined if there is none. */
export function indexText(
  database: WriteDatabase,
  { key, source_key, sha256 }: PendingText,
  document: { title: string; text: string } | undefined,
): void {
  statement(database, 'DELETE FROM document_text WHERE rowid = ?').run(key);
  if (document)
    statement(database, 'INSERT INTO document_text (rowid, title, text) VALUES (?, ?, ?)').run(
      key,
      document.title,
      document.text,
    );
  statement(database, 'INSERT OR REPLACE INTO indexed_texts VALUES (?, ?, ?)').run(key, source_key, sha256);
}

/** What a search covers. */
export interface TextScope {
  /** The FTS5 expression; null matches every text. */
  match: string | null;
  sources: boolean;
  packs: boolean;
  /** Only this source. Its versions are then not grouped. */
  source: number | null;
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
  const removed = new Set(
    statement<number>(database, 'SELECT key FROM sources WHERE removed = 1').pluck().all(),
  );
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
  if (scope.packs) for (const key of fileKeys(database, scope.match)) begin(key);
  return { hits, total };
}

function versionKeys(database: ReadDatabase, { match, source }: TextScope): number[] {
  const [from, to] = source === null ? [1, Number.MAX_SAFE_INTEGER] : rangeOf(source);
  const where = match === null ? '' : 'document_text MATCH @match AND';
  return statement<number>(
    database,
    `SELECT rowid FROM document_text WHERE ${where} rowid BETWEEN @from AND @to ORDER BY rowid DESC`,
  )
    .pluck()
    .all({ from, to, ...(match !== null && { match }) });
}

function rangeOf(source: number): [number, number] {
  return [source * KEYS_PER_SOURCE, (source + 1) * KEYS_PER_SOURCE - 1];
}

/** Newer files have lower keys. */
function fileKeys(database: ReadDatabase, match: string | null): number[] {
  const where = match === null ? '' : 'document_text MATCH @match AND';
  return statement<number>(
    database,
    `SELECT rowid FROM document_text WHERE ${where} rowid < 0 ORDER BY rowid`,
  )
    .pluck()
    .all(match === null ? {} : { match });
}

/** A found version of a source: when it was last observed as a new version, by whom, and whether it is current. */
export interface FoundVersion {
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
  const row = statement<Omit<FoundVersion, 'tags' | 'is_current'> & { tags: string; is_current: number }>(
    database,
    `SELECT s.id, s.url, s.name, s.agency, s.tags, i.key, i.sha256, d.title, d.tool, d.tool_version, d.made_at,
       coalesce(e.observer, 'self') AS observer, coalesce(e.observed_at, s.last_checked_at, s.added_at) AS observed_at,
       e.original_observed_at,
       i.sha256 IS coalesce(s.last_sha256, (SELECT sha256 FROM events INDEXED BY events_by_source
         WHERE source_key = s.key ORDER BY observed_at DESC, id DESC LIMIT 1)) AS is_current
     FROM json_each(?) j CROSS JOIN indexed_texts i ON i.key = j.value
     JOIN sources s ON s.key = i.source_key
     JOIN derived_documents d ON d.kind = 'text' AND d.subject = i.sha256
     LEFT JOIN events e ON e.id = (SELECT o.id FROM events o WHERE o.sha256 = i.sha256 AND o.source_key = s.key
       AND o.event_type IN ('first_seen', 'changed') ORDER BY o.observer = 'self' DESC, o.id DESC LIMIT 1)
     ORDER BY is_current DESC, e.id DESC LIMIT 1`,
  ).get(JSON.stringify(keys.slice(0, MAX_COMPARED)));
  return row && { ...row, tags: JSON.parse(row.tags) as string[], is_current: row.is_current === 1 };
}

/** A found file of a pack: the newest pack that has it. */
export interface FoundFile {
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

/** Returns the file with a key of the index. */
export function foundFile(database: ReadDatabase, key: number): FoundFile | undefined {
  return statement<FoundFile>(
    database,
    `SELECT i.sha256, p.id AS pack, f.path,
       (SELECT json_extract(r.record, '$.title') FROM pack_records r WHERE r.ledger_entry = f.pack) AS pack_title, l.at AS received_at, d.title, d.tool, d.tool_version, d.made_at,
       (SELECT count(*) - 1 FROM (SELECT 1 FROM pack_files o WHERE o.sha256 = i.sha256 LIMIT 1000)) AS others
     FROM indexed_texts i JOIN derived_documents d ON d.kind = 'text' AND d.subject = i.sha256
     JOIN pack_files f ON f.sha256 = i.sha256 JOIN packs p ON p.ledger_entry = f.pack
     JOIN ledger l ON l.seq = p.ledger_entry
     WHERE i.key = ? ORDER BY f.pack DESC, f.path LIMIT 1`,
  ).get(key);
}

/** Returns the media type of a pack's file that is no object of a source, and the key of the pack. */
export function packFileOf(
  database: ReadDatabase,
  sha256: string,
): { media_type: string; pack: number } | undefined {
  return statement<{ media_type: string; pack: number }>(
    database,
    'SELECT media_type, pack FROM pack_files WHERE sha256 = ? ORDER BY pack LIMIT 1',
  ).get(sha256);
}
