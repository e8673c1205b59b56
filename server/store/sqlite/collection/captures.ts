import type { PageLabel } from '../../../../shared/collection/event.ts';
import type { RetrievalError } from '../../../../shared/collection/retrieval.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** The id of a WARC record and the digest of its payload as `<algorithm>:<hex>`. */
export interface CaptureIdentity {
  record_id: string | null;
  payload_digest: string | null;
}

/** Identifies a capture. */
export interface CaptureKey {
  source_key: number;
  observer: string;
  original_observed_at: string;
  sha256: string;
}

/** The data that a revisit copies from the capture it refers to. */
export interface ReferredCapture {
  sha256: string;
  bytes: number;
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  page_label: PageLabel | null;
  payload_digest: string | null;
}

/** Whether this capture is recorded already. */
export function hasCapture(database: ReadDatabase, capture: CaptureKey): boolean {
  return (
    statement(
      database,
      `SELECT 1 FROM retrievals WHERE source_key = @source_key AND original_observed_at = @original_observed_at
       AND observer = @observer AND sha256 = @sha256 LIMIT 1`,
    ).get(capture) !== undefined
  );
}

/** Whether any capture of this moment is recorded, so that it need not be fetched again. */
export function hasCaptureAt(
  database: ReadDatabase,
  capture: { source: string; observer: string; at: string },
): boolean {
  return (
    statement(
      database,
      `SELECT 1 FROM retrievals WHERE source_key = (SELECT key FROM sources WHERE id = @source)
       AND original_observed_at = @at AND observer = @observer LIMIT 1`,
    ).get(capture) !== undefined
  );
}

/** Stores the identity of a WARC record for its retrieval. */
export function insertCapture(
  database: WriteDatabase,
  capture: CaptureIdentity & { retrieval: number },
): void {
  statement(
    database,
    'INSERT INTO captures (retrieval, record_id, payload_digest) VALUES (@retrieval, @record_id, @payload_digest)',
  ).run(capture);
}

type Stored = Omit<ReferredCapture, 'page_label'> & { page_label: string | null };

const REFERRED = `SELECT r.sha256, b.bytes, r.status, r.error, r.content_type, r.page_label, c.payload_digest
  FROM retrievals r JOIN blobs b ON b.sha256 = r.sha256`;

function fromStored(row: Stored | undefined): ReferredCapture | undefined {
  if (!row) return undefined;
  return { ...row, page_label: row.page_label === null ? null : (JSON.parse(row.page_label) as PageLabel) };
}

/** Returns the capture with a record id (WARC-Refers-To). */
export function captureByRecord(database: ReadDatabase, recordId: string): ReferredCapture | undefined {
  return fromStored(
    statement<Stored>(
      database,
      `${REFERRED} JOIN captures c ON c.retrieval = r.id WHERE c.record_id = ? ORDER BY r.id LIMIT 1`,
    ).get(recordId),
  );
}

/** Returns the capture of an address at a moment (WARC-Refers-To-Target-URI, WARC-Refers-To-Date), by any observer. */
export function captureByMoment(
  database: ReadDatabase,
  sourceId: string,
  at: string,
): ReferredCapture | undefined {
  return fromStored(
    statement<Stored>(
      database,
      `${REFERRED} LEFT JOIN captures c ON c.retrieval = r.id
       WHERE r.source_key = (SELECT key FROM sources WHERE id = ?) AND r.original_observed_at = ?
       ORDER BY r.id LIMIT 1`,
    ).get(sourceId, at),
  );
}

/** Returns the first capture whose payload has this digest, at one address or at any. Prefers observations. */
export function captureByPayload(
  database: ReadDatabase,
  digest: string,
  sourceId: string | null = null,
): ReferredCapture | undefined {
  return fromStored(
    statement<Stored>(
      database,
      `${REFERRED} JOIN captures c ON c.retrieval = r.id
       WHERE c.payload_digest = @digest
         AND (@sourceId IS NULL OR r.source_key = (SELECT key FROM sources WHERE id = @sourceId))
       ORDER BY r.error IS NOT NULL, r.id LIMIT 1`,
    ).get({ digest, sourceId }),
  );
}

/** Returns the first retrieval of an object by any observer, this node included. Prefers observations. */
export function captureOfObject(database: ReadDatabase, sha256: string): ReferredCapture | undefined {
  return fromStored(
    statement<Stored>(
      database,
      `${REFERRED} LEFT JOIN captures c ON c.retrieval = r.id
       WHERE r.sha256 = ? ORDER BY r.error IS NOT NULL, r.id LIMIT 1`,
    ).get(sha256),
  );
}

/** Returns the digest of the version that was last recorded for a source and observer. */
export function lastCapturedVersion(
  database: ReadDatabase,
  sourceKey: number,
  observer: string,
): string | undefined {
  return statement<{ sha256: string }>(
    database,
    `SELECT sha256 FROM events INDEXED BY events_by_capture
     WHERE source_key = ? AND observer = ? AND original_observed_at IS NOT NULL ORDER BY id DESC LIMIT 1`,
  ).get(sourceKey, observer)?.sha256;
}

/** Returns the other observers who captured the same object as a version of the same source. */
export function otherObserversOf(
  database: ReadDatabase,
  event: { source: string; sha256: string; observer: string },
): string[] {
  return statement<{ observer: string }>(
    database,
    `SELECT DISTINCT observer FROM events WHERE sha256 = @sha256
       AND source_key = (SELECT key FROM sources WHERE id = @source)
       AND event_type IN ('first_seen', 'changed') AND observer <> @observer ORDER BY observer`,
  )
    .all(event)
    .map(({ observer }) => observer);
}

/** Returns who retrieved an object from a source, earliest first, with the first and last time of each observer. */
export function observersOf(
  database: ReadDatabase,
  event: { source: string; sha256: string },
): { observer: string; first: string; last: string; retrievals: number }[] {
  return statement<{ observer: string; first: string; last: string; retrievals: number }>(
    database,
    `SELECT observer, min(coalesce(original_observed_at, observed_at)) AS first,
       max(coalesce(original_observed_at, observed_at)) AS last, count(*) AS retrievals
     FROM retrievals WHERE sha256 = @sha256 AND source_key = (SELECT key FROM sources WHERE id = @source)
     GROUP BY observer ORDER BY first, observer`,
  ).all(event);
}
