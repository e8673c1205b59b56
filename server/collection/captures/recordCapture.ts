import { hasCapture, insertCapture, lastCapturedVersion } from '../../store/sqlite/collection/captures.ts';
import { insertRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import { firstEventWith } from '../../store/sqlite/collection/timeline/events.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../store/sqlite/node/blobs.ts';
import { recordEvent } from '../record/recordEvent.ts';
import { findOrAddPausedSource, sourceIdOf } from '../sources/sources.ts';
import type { Capture } from './capture.ts';

/** The result of recording a capture: whether it was already held, and the event if it brought a new version. */
export interface RecordedCapture {
  held: boolean;
  event: number | null;
}

/**
 * Records one capture inside the caller's transaction: the row of its object, the retrieval under the observer's name,
 * and an event in that observer's own sequence of versions. The state of the source itself does not change. The bytes
 * must already be on stable storage.
 *
 * @param now the time of the import by the server's clock; becomes `observed_at`.
 */
export function recordCapture(
  database: WriteDatabase,
  now: string,
  observer: string,
  capture: Capture,
): RecordedCapture {
  const { record_id, payload_digest, ...retrieved } = capture;
  const { sha256, bytes, original_observed_at, page_label } = capture;
  const source = findOrAddPausedSource(database, sourceIdOf(capture.url), capture.url, now);
  const key = { source_key: source.key, observer, original_observed_at, sha256 };
  if (!source.isNew && hasCapture(database, key)) return { held: true, event: null };
  createBlobRowIfAbsent(database, { sha256, bytes, stored_at: now });
  const common = {
    source_key: source.key,
    observer,
    observed_at: now,
    original_observed_at,
    sha256,
    page_label,
  };
  const retrieval = insertRetrieval(database, { ...retrieved, ...common, round: null });
  if (record_id !== null || payload_digest !== null)
    insertCapture(database, { retrieval, record_id, payload_digest });
  if (capture.error !== null) return { held: false, event: null };
  const previous = source.isNew ? null : (lastCapturedVersion(database, source.key, observer) ?? null);
  if (previous === sha256) return { held: false, event: null };
  const isFirst = previous === null;
  const event = recordEvent(database, now, source, {
    ...common,
    retrieval,
    event_type: isFirst ? 'first_seen' : 'changed',
    previous_sha256: previous,
    reverts_to: isFirst ? null : (firstEventWith(database, key) ?? null),
  });
  return { held: false, event };
}
