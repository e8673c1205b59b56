import type { Connection } from '../../../../shared/collection/connection.ts';
import type { PageLabel } from '../../../../shared/collection/event.ts';
import type {
  RecordedRetrieval,
  Redirect,
  Retrieval,
  RetrievalError,
  SentRequest,
} from '../../../../shared/collection/retrieval.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import { contentTypeOfCertificate, nameCertificates } from './certificates.ts';
import { COVERING_ENTRY } from './retrievalBatches.ts';

/** A new retrieval: one attempt to fetch a source. */
export interface NewRetrieval {
  source_key: number;
  round: number | null;
  url: string;
  final_url: string;
  redirects: Redirect[];
  observer: string;
  observed_at: string;
  original_observed_at: string | null;
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  headers: [string, string][];
  /** Null or absent if there was no answer, or the request is unknown. */
  request?: SentRequest | null;
  sha256: string | null;
  bytes: number | null;
  duration_ms: number;
  page_label: PageLabel | null;
  /** Absent or null if nothing answered, or it is unknown. Its certificates must be durable. */
  connection?: Connection | null | undefined;
}

/** One more than every existing or covered id, so that the id of a deleted retrieval is not reused. */
const NEXT_ID = `(SELECT 1 + max(coalesce((SELECT max(id) FROM retrievals), 0),
  coalesce((SELECT max(retrieval) FROM retrieval_leaves), 0)))`;

/**
 * Inserts a retrieval and returns its id. JSON columns are written in canonical form, so that the ledger can cover the
 * stored text without parsing it.
 */
export function insertRetrieval(database: WriteDatabase, retrieval: NewRetrieval): number {
  const { redirects, request, page_label, connection } = retrieval;
  nameCertificates(database, retrieval);
  const { lastInsertRowid } = statement(
    database,
    `INSERT INTO retrievals (id, source_key, round, url, final_url, redirects, observer, observed_at,
       original_observed_at, status, error, content_type, headers, request, sha256, bytes, duration_ms, page_label,
       connection)
     VALUES (${NEXT_ID}, @source_key, @round, @url, @final_url, @redirects, @observer, @observed_at,
       @original_observed_at, @status, @error, @content_type, @headers, @request, @sha256, @bytes, @duration_ms,
       @page_label, @connection)`,
  ).run({
    ...retrieval,
    redirects: JSON.stringify(
      redirects.map((hop) => ({
        ...(hop.connection ? { connection: inOrder(hop.connection) } : {}),
        headers: hop.headers,
        status: hop.status,
        url: hop.url,
      })),
    ),
    headers: JSON.stringify(retrieval.headers),
    request: request ? JSON.stringify({ headers: request.headers, method: request.method }) : null,
    page_label: page_label && JSON.stringify({ label: page_label.label, reason: page_label.reason }),
    connection: connection ? JSON.stringify(inOrder(connection)) : null,
  });
  return Number(lastInsertRowid);
}

/** Returns a connection with its members in the order of canonical JSON. */
function inOrder({ address, dns, http, port, tls }: Connection): Connection {
  if (tls === null) return { address, dns, http, port, tls };
  const certificates = tls.certificates.map(({ bytes, sha256 }) => ({ bytes, sha256 }));
  return { address, dns, http, port, tls: { certificates, cipher: tls.cipher, version: tls.version } };
}

type Stored = Omit<
  Retrieval,
  'redirects' | 'headers' | 'request' | 'page_label' | 'capture' | 'connection'
> & {
  redirects: string;
  headers: string;
  request: string | null;
  page_label: string | null;
  connection: string | null;
  captured: number | null;
  record_id: string | null;
  payload_digest: string | null;
};

const SELECT = `SELECT r.id, s.id AS source, r.round, r.url, r.final_url, r.redirects, r.observer, r.observed_at,
    r.original_observed_at, r.status, r.error, r.content_type, r.headers, r.request, r.sha256, r.bytes, r.duration_ms,
    r.page_label, r.connection, c.retrieval AS captured, c.record_id, c.payload_digest, ${COVERING_ENTRY}
  FROM retrievals r JOIN sources s ON s.key = r.source_key LEFT JOIN captures c ON c.retrieval = r.id`;

function fromStored({ captured, record_id, payload_digest, connection, ...row }: Stored): Retrieval {
  return {
    ...row,
    redirects: JSON.parse(row.redirects) as Retrieval['redirects'],
    headers: JSON.parse(row.headers) as Retrieval['headers'],
    request: row.request === null ? null : (JSON.parse(row.request) as SentRequest),
    page_label: row.page_label === null ? null : (JSON.parse(row.page_label) as PageLabel),
    capture: captured === null ? null : { record_id, payload_digest },
    // Left out where there is none, because the leaves of older retrievals have no such member.
    ...(connection === null ? {} : { connection: JSON.parse(connection) as Connection }),
  };
}

/** Returns a retrieval as the ledger covers it, or undefined. */
export function retrievalById(database: ReadDatabase, id: number): RecordedRetrieval | undefined {
  const row = statement<Stored>(database, `${SELECT} WHERE r.id = ?`).get(id);
  if (!row) return undefined;
  const { ledger_entry: _entry, ...retrieval } = fromStored(row);
  return retrieval;
}

/** Returns up to `limit` retrievals from an id on, in the order of their ids; of one source or observer if one is given. */
export function retrievalsFrom(
  database: ReadDatabase,
  { from, limit, source, observer }: { from: number; limit: number; source?: string; observer?: string },
): RecordedRetrieval[] {
  const ofSource =
    source === undefined ? '' : 'AND r.source_key = (SELECT key FROM sources WHERE id = @source)';
  const ofObserver = observer === undefined ? '' : 'AND r.observer = @observer';
  return statement<Stored>(
    database,
    `${SELECT} WHERE r.id >= @from ${ofSource} ${ofObserver} ORDER BY r.id LIMIT @limit`,
  )
    .all({
      from,
      limit,
      ...(source === undefined ? {} : { source }),
      ...(observer === undefined ? {} : { observer }),
    })
    .map((row) => {
      const { ledger_entry: _entry, ...retrieval } = fromStored(row);
      return retrieval;
    });
}

/** Returns a page of a source's retrievals, newest first, and their total number. */
export function retrievalsOfSource(
  database: ReadDatabase,
  sourceKey: number,
  { limit, offset }: { limit: number; offset: number },
): { items: Retrieval[]; total: number } {
  const items = statement<Stored>(
    database,
    `${SELECT} WHERE r.source_key = ? ORDER BY r.id DESC LIMIT ? OFFSET ?`,
  ).all(sourceKey, limit, offset);
  const total = statement<{ count: number }>(
    database,
    'SELECT count(*) AS count FROM retrievals WHERE source_key = ?',
  ).get(sourceKey)?.count;
  return { items: items.map(fromStored), total: total ?? 0 };
}

/** Whether there is any retrieval of a source, by any observer. */
export function hasRetrieval(database: ReadDatabase, sourceKey: number): boolean {
  return (
    statement(database, 'SELECT 1 FROM retrievals WHERE source_key = ? LIMIT 1').get(sourceKey) !== undefined
  );
}

/** Returns the errors of the node's own last checks of a source, oldest first; null for a successful check. */
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

/** The data of a retrieval in the metadata of its object. */
export type ObjectRetrieval = Pick<
  Retrieval,
  'url' | 'observer' | 'observed_at' | 'original_observed_at' | 'status' | 'content_type' | 'headers'
> & { connection: Connection | null };

/** Returns all retrievals of an object, newest first. */
export function retrievalsOfObject(database: ReadDatabase, sha256: string): ObjectRetrieval[] {
  return statement<
    Omit<ObjectRetrieval, 'headers' | 'connection'> & { headers: string; connection: string | null }
  >(
    database,
    `SELECT url, observer, observed_at, original_observed_at, status, content_type, headers, connection FROM retrievals
     WHERE sha256 = ? ORDER BY id DESC`,
  )
    .all(sha256)
    .map((row) => ({
      ...row,
      headers: JSON.parse(row.headers) as [string, string][],
      connection: row.connection === null ? null : (JSON.parse(row.connection) as Connection),
    }));
}

/** Returns the id of the first retrieval that brought an object; undefined if none did. */
export function firstRetrievalOf(database: ReadDatabase, sha256: string): number | undefined {
  return statement<{ id: number }>(
    database,
    'SELECT id FROM retrievals WHERE sha256 = ? ORDER BY id LIMIT 1',
  ).get(sha256)?.id;
}

/** Whether any retrieval has this object. */
export function hasObject(database: ReadDatabase, sha256: string): boolean {
  return statement(database, 'SELECT 1 FROM objects WHERE sha256 = ?').get(sha256) !== undefined;
}

/** Returns the newest content type of an object; undefined if it never had one. */
export function contentTypeOfObject(database: ReadDatabase, sha256: string): string | undefined {
  const row = statement<{ content_type: string }>(
    database,
    'SELECT content_type FROM retrievals WHERE sha256 = ? AND content_type IS NOT NULL ORDER BY id DESC LIMIT 1',
  ).get(sha256);
  return row?.content_type ?? contentTypeOfCertificate(database, sha256);
}

/**
 * Returns the headers of an object's first retrieval, preferring one with a content type. Derived documents use these,
 * so that the result is the same whenever it is derived.
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
