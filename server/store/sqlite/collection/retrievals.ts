import type { PageLabel } from '../../../../shared/collection/event.ts';
import {
  type Connection,
  certificatesOf,
  type RecordedRetrieval,
  type Redirect,
  type Retrieval,
  type RetrievalError,
  type SentRequest,
} from '../../../../shared/collection/retrieval.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  all,
  change,
  hasRow,
  inserts,
  selectAll,
  selectOne,
  selectPage,
  selectValue,
  selectValues,
  upserts,
  where,
} from '../engine/queries.ts';
import { createBlobRowIfAbsent } from '../node/blobs.ts';
import { isHandedInSql } from './handIns.ts';
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
  /** The page capture that it belongs to, if any. Then it is no check or version of its source. */
  part_of?: string | null;
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
  const { redirects, request, page_label, part_of, connection } = retrieval;
  nameCertificates(database, retrieval);
  nameRequestBody(database, retrieval);
  return insertRow(database, {
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
    request: request ? JSON.stringify(requestInOrder(request)) : null,
    page_label: page_label && JSON.stringify({ label: page_label.label, reason: page_label.reason }),
    part_of: part_of ?? null,
    connection: connection ? JSON.stringify(inOrder(connection)) : null,
  }) as number;
}

const insertRow = selectValue<number, [row: Omit<NewRetrieval, keyof RetrievalTexts> & RetrievalTexts]>(`
  INSERT INTO retrievals (id, source_key, round, url, final_url, redirects, observer, observed_at,
    original_observed_at, status, error, content_type, headers, request, sha256, bytes, duration_ms, page_label,
    part_of, connection)
  VALUES (${NEXT_ID}, $source_key, $round, $url, $final_url, $redirects, $observer, $observed_at,
    $original_observed_at, $status, $error, $content_type, $headers, $request, $sha256, $bytes, $duration_ms,
    $page_label, $part_of, $connection)
  RETURNING id`);

function requestInOrder({ body, headers, method }: SentRequest): SentRequest {
  return { ...(body && { body: { bytes: body.bytes, sha256: body.sha256 } }), headers, method };
}

/** Returns a connection with its members in the order of canonical JSON. */
function inOrder({ address, dns, http, port, tls }: Connection): Connection {
  if (tls === null) return { address, dns, http, port, tls };
  const certificates = tls.certificates.map(({ bytes, sha256 }) => ({ bytes, sha256 }));
  return { address, dns, http, port, tls: { certificates, cipher: tls.cipher, version: tls.version } };
}

type Stored = Omit<Retrieval, keyof RetrievalTexts | 'capture'> &
  RetrievalTexts & {
    captured: number | null;
    record_id: string | null;
    payload_digest: string | null;
  };

const COLUMNS = `r.id, s.id AS source, r.round, r.url, r.final_url, r.redirects, r.observer, r.observed_at,
    r.original_observed_at, r.status, r.error, r.content_type, r.headers, r.request, r.sha256, r.bytes, r.duration_ms,
    r.page_label, r.part_of, r.connection, c.retrieval AS captured, c.record_id, c.payload_digest, ${COVERING_ENTRY}`;
const ROWS = 'retrievals r JOIN sources s ON s.key = r.source_key LEFT JOIN captures c ON c.retrieval = r.id';
const SELECT = `SELECT ${COLUMNS} FROM ${ROWS}`;

/** The columns of a retrieval that hold JSON. */
export interface RetrievalTexts {
  redirects: string;
  headers: string;
  request: string | null;
  page_label: string | null;
  part_of: string | null;
  connection: string | null;
}

/** Parses the columns of a retrieval that hold JSON. */
export function parseRetrieval<Row extends RetrievalTexts>(row: Row) {
  return {
    ...row,
    redirects: JSON.parse(row.redirects) as Redirect[],
    headers: JSON.parse(row.headers) as [string, string][],
    request: row.request === null ? null : (JSON.parse(row.request) as SentRequest),
    page_label: parsePageLabel(row.page_label),
    connection: parseConnection(row.connection),
  };
}

export function parseConnection(connection: string | null): Connection | null {
  return connection === null ? null : (JSON.parse(connection) as Connection);
}

function fromStored(row: Stored): Retrieval {
  const { captured, record_id, payload_digest, part_of, connection, ...retrieval } = parseRetrieval(row);
  return {
    ...retrieval,
    capture: captured === null ? null : { record_id, payload_digest },
    // Left out where there is none, because the leaves of older retrievals have no such member.
    ...(part_of !== null && { part_of }),
    ...(connection && { connection }),
  };
}

/** Returns a retrieval as the ledger covers it, or undefined. */
export const retrievalById = selectOne<Stored, [id: number], RecordedRetrieval>(
  `${SELECT} WHERE r.id = ?`,
  asRecorded,
);

function asRecorded(row: Stored): RecordedRetrieval {
  const { ledger_entry: _entry, ...retrieval } = fromStored(row);
  return retrieval;
}

/**
 * Returns up to `limit` retrievals from an id on, in the order of their ids; of one source or observer if one is given.
 * The parts of a page are listed only by the id of their page capture.
 */
export function retrievalsFrom(
  database: ReadDatabase,
  {
    from,
    limit,
    source,
    observer,
    part_of,
  }: {
    from: number;
    limit: number;
    source?: string | undefined;
    observer?: string | undefined;
    part_of?: string | undefined;
  },
): RecordedRetrieval[] {
  const selected = where(
    ['r.id >= ?', from],
    part_of === undefined ? ['r.part_of IS NULL'] : ['r.part_of = ?', part_of],
    source !== undefined && ['r.source_key = (SELECT key FROM sources WHERE id = ?)', source],
    observer !== undefined && ['r.observer = ?', observer],
  );
  const sql = `${SELECT} ${selected.where} ORDER BY r.id LIMIT ?`;
  return all<Stored>(database, sql, ...selected.values, limit).map(asRecorded);
}

/** Returns a page of a source's retrievals, newest first, and their total number. The parts of pages are not among them. */
export const retrievalsOfSource = selectPage<Stored, [sourceKey: number], Retrieval>(
  { columns: COLUMNS, from: `${ROWS} WHERE r.source_key = ? AND r.part_of IS NULL`, order: 'r.id DESC' },
  fromStored,
);

/** Whether there is any retrieval of a source, by any observer. */
export const hasRetrieval = hasRow<[sourceKey: number]>(
  'SELECT 1 FROM retrievals WHERE source_key = ? AND part_of IS NULL LIMIT 1',
);

/** Returns the errors of the node's own last checks of a source, oldest first; null for a successful check. */
export function recentChecks(
  database: ReadDatabase,
  sourceKey: number,
  limit: number,
): (RetrievalError | null)[] {
  return newestChecks(database, sourceKey, limit).reverse();
}

const newestChecks = selectValues<RetrievalError | null, [sourceKey: number, limit: number]>(
  `SELECT error FROM retrievals WHERE source_key = ? AND part_of IS NULL AND observer = 'self'
   ORDER BY id DESC LIMIT ?`,
);

/** The data of a retrieval in the metadata of its object. */
type ObjectRetrieval = Pick<
  Retrieval,
  'url' | 'observer' | 'observed_at' | 'original_observed_at' | 'status' | 'content_type' | 'headers'
> & { part_of: string | null; connection: Connection | null };

/** Returns all retrievals of an object, newest first. */
export const retrievalsOfObject = selectAll<
  Omit<ObjectRetrieval, 'headers' | 'connection'> & { headers: string; connection: string | null },
  [sha256: string],
  ObjectRetrieval
>(
  `SELECT url, observer, observed_at, original_observed_at, status, content_type, headers, part_of, connection
     FROM retrievals WHERE sha256 = ? ORDER BY id DESC`,
  (row) => ({
    ...row,
    headers: JSON.parse(row.headers) as [string, string][],
    connection: parseConnection(row.connection),
  }),
);

/** Returns the id of the first retrieval that brought an object; undefined if none did. */
export const firstRetrievalOf = selectValue<number, [sha256: string]>(
  'SELECT id FROM retrievals WHERE sha256 = ? ORDER BY id LIMIT 1',
);

/** Whether any retrieval has this object. */
export const hasObject = hasRow<[sha256: string]>('SELECT 1 FROM objects WHERE sha256 = ?');

/**
 * Returns the newest content type of an object (RFC 2585 for a certificate); undefined if it never had one. What a file that
 * was handed in claims counts only if nobody else said anything.
 */
export function contentTypeOfObject(database: ReadDatabase, sha256: string): string | undefined {
  return (
    newestContentType(database, sha256) ??
    claimedContentType(database, sha256) ??
    (isCertificate(database, sha256) ? 'application/pkix-cert' : undefined)
  );
}

const newestContentType = selectValue<string, [sha256: string]>(
  `SELECT content_type FROM retrievals WHERE sha256 = ? AND content_type IS NOT NULL
     AND NOT ${isHandedInSql('observer')} ORDER BY id DESC LIMIT 1`,
);
const claimedContentType = selectValue<string, [sha256: string]>(
  'SELECT content_type FROM retrievals WHERE sha256 = ? AND content_type IS NOT NULL ORDER BY id DESC LIMIT 1',
);

/**
 * Returns the headers of an object's first retrieval, preferring one that was not handed in and has a content type.
 * Derived documents use these, so that the result is the same whenever it is derived.
 */
export const firstHeadersOfObject = selectOne<
  { source_key: number; content_type: string | null; headers: string },
  [sha256: string],
  { source_key: number; content_type: string | null; headers: [string, string][] }
>(
  `SELECT source_key, content_type, headers FROM retrievals WHERE sha256 = ?
   ORDER BY ${isHandedInSql('observer')}, content_type IS NULL, id LIMIT 1`,
  (row) => ({ ...row, headers: JSON.parse(row.headers) as [string, string][] }),
);

/** Parses a stored page label. */
export function parsePageLabel(label: string | null): PageLabel | null {
  return label === null ? null : (JSON.parse(label) as PageLabel);
}

/** Inserts the rows of the certificates that a new retrieval names, which makes them objects of the archive. */
export function nameCertificates(
  database: WriteDatabase,
  retrieval: {
    connection?: Connection | null | undefined;
    redirects: readonly { connection?: Connection | undefined }[];
    observed_at: string;
  },
): void {
  for (const { sha256, bytes } of certificatesOf(retrieval)) {
    if (isCertificate(database, sha256)) continue;
    createBlobRowIfAbsent(database, { sha256, bytes, stored_at: retrieval.observed_at });
    insertCertificate(database, { sha256 });
  }
}

/** Inserts the rows of the body that a new retrieval sent, if it sent one, which makes it an object of the archive. */
export function nameRequestBody(
  database: WriteDatabase,
  { request, observed_at }: { request?: SentRequest | null | undefined; observed_at: string },
): void {
  if (!request?.body) return;
  createBlobRowIfAbsent(database, { ...request.body, stored_at: observed_at });
  insertObject(database, request.body.sha256);
}

const insertCertificate = inserts<{ sha256: string }>('certificates', 'sha256');
const insertObject = change<[sha256: string]>(
  'INSERT INTO objects (sha256) VALUES (?) ON CONFLICT DO NOTHING',
);

const isCertificate = hasRow<[sha256: string]>('SELECT 1 FROM certificates WHERE sha256 = ?');

/** The HTTP validators of a response, for conditional requests. */
export interface Validators {
  url: string;
  etag: string | null;
  last_modified: string | null;
  sha256: string;
  content_type: string | null;
}

/** Returns the validators of the last response for a source. */
export const validatorsOf = selectOne<Validators, [sourceKey: number]>(
  'SELECT url, etag, last_modified, sha256, content_type FROM validators WHERE source_key = ?',
);

/** Replaces the validators of a source; `undefined` deletes them. */
export function replaceValidators(
  database: WriteDatabase,
  sourceKey: number,
  validators: Validators | undefined,
): void {
  if (validators === undefined) deleteValidators(database, sourceKey);
  else putValidators(database, { ...validators, source_key: sourceKey });
}

const deleteValidators = change<[sourceKey: number]>('DELETE FROM validators WHERE source_key = ?');
const putValidators = upserts<Validators & { source_key: number }>('validators', {
  key: 'source_key',
  columns: 'url, etag, last_modified, sha256, content_type',
});
