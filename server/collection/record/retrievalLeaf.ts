import type { RecordedRetrieval } from '../../../shared/collection/retrieval.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { leafHash } from '../../ledger/merkle.ts';
import type { StoredRetrieval } from '../../store/sqlite/collection/retrievalBatches.ts';

/** Returns the leaf hash of a retrieval (RFC 6962): SHA-256 of a zero byte and its canonical JSON. */
export function retrievalLeaf(retrieval: RecordedRetrieval): Buffer {
  return leafHash(canonicalText(retrieval));
}

/**
 * Returns the same hash for a stored row. The JSON is built by hand for speed: each attempt needs a leaf, and
 * verification needs the leaves of all retrievals. A test compares both functions.
 */
export function storedRetrievalLeaf(row: StoredRetrieval): Buffer {
  return leafHash(
    `{"bytes":${textOf(row.bytes)},"capture":${captureText(row)},${connectionMember(row)}"content_type":${textOf(row.content_type)},` +
      `"duration_ms":${textOf(row.duration_ms)},"error":${textOf(row.error)},"final_url":${textOf(row.final_url)},` +
      `"headers":${row.headers},"id":${row.id},"observed_at":${textOf(row.observed_at)},` +
      `"observer":${textOf(row.observer)},"original_observed_at":${textOf(row.original_observed_at)},` +
      `"page_label":${canonicalOf(row.page_label, '{"label":')},` +
      `"redirects":${row.redirects === '[]' ? '[]' : canonicalOf(row.redirects, '[{"status":', '[{"headers":', '[{"connection":')},` +
      `"request":${canonicalOf(row.request, '{"headers":')},"round":${textOf(row.round)},` +
      `"sha256":${textOf(row.sha256)},"source":${textOf(row.source)},"status":${textOf(row.status)},` +
      `"url":${textOf(row.url)}}`,
  );
}

function textOf(value: string | number | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

function captureText({ captured, record_id, payload_digest }: StoredRetrieval): string {
  if (captured === null) return 'null';
  return `{"payload_digest":${textOf(payload_digest)},"record_id":${textOf(record_id)}}`;
}

/** Retrievals of earlier versions have no such member, so that their leaves stay as they were covered. */
function connectionMember({ connection }: StoredRetrieval): string {
  return connection === null ? '' : `"connection":${canonicalOf(connection, '{"address":')},`;
}

/**
 * Returns stored JSON in canonical form. Text that begins with an opening was written by `insertRetrieval` and is
 * canonical already; rows of earlier versions have another order of members. Invalid JSON was written by another
 * program: it is hashed unchanged and matches no leaf.
 */
function canonicalOf(text: string | null, ...openings: string[]): string {
  if (text === null) return 'null';
  if (openings.some((opening) => text.startsWith(opening))) return text;
  try {
    return canonicalText(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
