import type { PageLabel } from '../../../shared/event.ts';
import type { Retrieval, RetrievalError } from '../../../shared/source.ts';
import { type ReadDatabase, statement, type WriteDatabase } from './open.ts';

/** What was sent, as far as it is nobody's secret: the values of the owner's own headers are null. */
export interface SentRequest {
  method: string;
  headers: [name: string, value: string | null][];
}

/** One attempt, as it is about to be kept. */
export interface NewRetrieval {
  source_key: number;
  round: number | null;
  url: string;
  final_url: string;
  redirects: { url: string; status: number }[];
  observer: string;
  observed_at: string;
  original_observed_at: string | null;
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  /** Null or absent where nothing was answered, or nothing is known of it. */
  request?: SentRequest | null;
  sha256: string | null;
  bytes: number | null;
  duration_ms: number;
  page_label: PageLabel | null;
}

/** Keeps an attempt and gives back its number. */
export function insertRetrieval(database: WriteDatabase, retrieval: NewRetrieval): number {
  const { lastInsertRowid } = statement(
    database,
    `INSERT INTO retrievals (source_key, round, url, final_url, redirects, observer, observed_at, original_observed_at,
       status, error, content_type, headers, request, sha256, bytes, duration_ms, page_label)
     VALUES (@source_key, @round, @url, @final_url, @redirects, @observer, @observed_at, @original_observed_at,
       @status, @error, @content_type, @headers, @request, @sha256, @bytes, @duration_ms, @page_label)`,
  ).run({
    ...retrieval,
    redirects: JSON.stringify(retrieval.redirects),
    headers: JSON.stringify(retrieval.headers),
    request: retrieval.request ? JSON.stringify(retrieval.request) : null,
    page_label: retrieval.page_label && JSON.stringify(retrieval.page_label),
  });
  return Number(lastInsertRowid);
}

type Stored = Omit<Retrieval, 'redirects' | 'headers' | 'page_label'> & {
  redirects: string;
  headers: string;
  page_label: string | null;
};

const COLUMNS = `r.id, s.id AS source, r.url, r.final_url, r.redirects, r.observer, r.observed_at, r.original_observed_at,
  r.status, r.error, r.content_type, r.headers, r.sha256, r.bytes, r.duration_ms, r.page_label`;

function fromStored(row: Stored): Retrieval {
  return {
    ...row,
    redirects: JSON.parse(row.redirects) as Retrieval['redirects'],
    headers: JSON.parse(row.headers) as Retrieval['headers'],
    page_label: row.page_label === null ? null : (JSON.parse(row.page_label) as PageLabel),
  };
}

/** One page of the attempts on a source, newest first, and how many there are. */
export function retrievalsOfSource(
  database: ReadDatabase,
  sourceKey: number,
  { limit, offset }: { limit: number; offset: number },
): { items: Retrieval[]; total: number } {
  const items = statement<Stored>(
    database,
    `SELECT ${COLUMNS} FROM retrievals r JOIN sources s ON s.key = r.source_key
     WHERE r.source_key = ? ORDER BY r.id DESC LIMIT ? OFFSET ?`,
  ).all(sourceKey, limit, offset);
  const total = statement<{ count: number }>(
    database,
    'SELECT count(*) AS count FROM retrievals WHERE source_key = ?',
  ).get(sourceKey)?.count;
  return { items: items.map(fromStored), total: total ?? 0 };
}

/** What the node's own last attempts on a source met, oldest first: null where an object came, or why none did. */
export function recentChecks(
  database: ReadDatabase,
  sourceKey: number,
  limit: number,
): (RetrievalError | null)[] {
  return statement<{ error: RetrievalError | null }>(
    database,
    "SELECT error FROM retrievals WHERE source_key = ? AND observer = 'self' ORDER BY id DESC LIMIT ?",
  )
    .all(sourceKey, limit)
    .map(({ error }) => error)
    .reverse();
}

/** Every attempt that brought an object, newest first. */
export function retrievalsOfObject(database: ReadDatabase, sha256: string): Retrieval[] {
  return statement<Stored>(
    database,
    `SELECT ${COLUMNS} FROM retrievals r JOIN sources s ON s.key = r.source_key WHERE r.sha256 = ? ORDER BY r.id DESC`,
  )
    .all(sha256)
    .map(fromStored);
}

/** Whether any attempt brought this object. */
export function hasObject(database: ReadDatabase, sha256: string): boolean {
  return statement(database, 'SELECT 1 FROM objects WHERE sha256 = ?').get(sha256) !== undefined;
}

/** The content type that an object came with, newest first; undefined where it never came with one. */
export function contentTypeOfObject(database: ReadDatabase, sha256: string): string | undefined {
  return statement<{ content_type: string }>(
    database,
    'SELECT content_type FROM retrievals WHERE sha256 = ? AND content_type IS NOT NULL ORDER BY id DESC LIMIT 1',
  ).get(sha256)?.content_type;
}

/**
 * How an object came the first time that its type was told: what is derived from it goes by that, so that it is the same
 * whenever it is made.
 */
export function firstHeadersOfObject(
  database: ReadDatabase,
  sha256: string,
): { source_key: number; content_type: string | null; headers: [string, string][] } | undefined {
  const row = statement<{ source_key: number; content_type: string | null; headers: string }>(
    database,
    'SELECT source_key, content_type, headers FROM retrievals WHERE sha256 = ? ORDER BY content_type IS NULL, id LIMIT 1',
  ).get(sha256);
  return row && { ...row, headers: JSON.parse(row.headers) as [string, string][] };
}
