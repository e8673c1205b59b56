import { selectAll, selectValues } from '../engine/queries.ts';

/** A source whose bytes are given up after some days. */
export interface LimitedSource {
  key: number;
  keep_days: number;
  last_sha256: string | null;
  last_page: number | null;
}

export const sourcesWithKeepDays = selectAll<LimitedSource>(`
  SELECT key, keep_days, last_sha256,
    (SELECT max(ledger_entry) FROM page_captures p WHERE p.source_key = s.key) AS last_page
  FROM sources s WHERE keep_days IS NOT NULL ORDER BY key`);

/** A retrieval that brought an object. */
interface ObservedObject {
  id: number;
  sha256: string | null;
  observed_at: string;
}

/** Returns the retrievals of a source after one of them, in the order in which they were recorded. */
export const retrievalsAfter = selectAll<
  ObservedObject,
  [values: { source: number; after: number; limit: number }]
>(`
  SELECT id, sha256, observed_at FROM retrievals INDEXED BY retrievals_by_source
  WHERE source_key = $source AND part_of IS NULL AND id > $after ORDER BY id LIMIT $limit`);

/** The same for the parts of its page captures, and for what those showed. */
export const partsAfter = selectAll<
  ObservedObject,
  [values: { source: number; after: number; limit: number }]
>(`
  SELECT id, sha256, observed_at FROM retrievals INDEXED BY parts_by_source
  WHERE source_key = $source AND part_of IS NOT NULL AND id > $after ORDER BY id LIMIT $limit`);

/**
 * Returns those of some digests whose bytes may be given up for their age: every source that has them keeps bytes for a
 * number of days, which are over since it last saw them, and nothing else needs them. A pack needs its files, and a draft
 * too. A finding needs its object, both versions of its event, the page that the event is about, and what its passage is
 * from, also while it is sealed; a case the same of its events. A source needs the newest version by each observer, and its newest page.
 *
 * @param digests as JSON
 * @param now the time (RFC 3339)
 */
export const agedDigests = selectValues<string, [values: { digests: string; now: string }]>(`
  WITH named_events (id) AS MATERIALIZED (
    SELECT CAST(target_id AS INTEGER) FROM findings WHERE target_kind = 'event'
    UNION SELECT CAST(target_id AS INTEGER) FROM sealed_texts WHERE target_kind = 'event'
    UNION SELECT CAST(item.value ->> 'id' AS INTEGER) FROM cases, json_each(cases.items) item
      WHERE item.value ->> 'kind' = 'event'
  ), named_pages (id) AS MATERIALIZED (
    SELECT page FROM events JOIN named_events USING (id) WHERE page IS NOT NULL
  )
  SELECT j.value FROM json_each($digests) j
  WHERE NOT EXISTS (SELECT 1 FROM releases WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM retrievals r JOIN sources s ON s.key = r.source_key WHERE r.sha256 = j.value
      AND (s.keep_days IS NULL OR r.sha256 IS s.last_sha256
        OR r.observed_at > strftime('%Y-%m-%dT%H:%M:%fZ', $now, '-' || s.keep_days || ' days')))
    AND NOT EXISTS (SELECT 1 FROM pack_files WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM draft_files WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM certificates WHERE sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM findings WHERE target_kind = 'object' AND target_id = j.value)
    AND NOT EXISTS (SELECT 1 FROM findings WHERE passage_sha256 = j.value)
    AND NOT EXISTS (SELECT 1 FROM sealed_texts WHERE passage_sha256 = j.value
      OR (target_kind = 'object' AND target_id = j.value))
    AND NOT EXISTS (SELECT 1 FROM named_events n JOIN events e ON e.id = n.id
      WHERE j.value IN (e.sha256, e.previous_sha256))
    AND NOT EXISTS (SELECT 1 FROM events e WHERE e.sha256 = j.value AND NOT EXISTS (
      SELECT 1 FROM events later WHERE later.source_key = e.source_key AND later.observer = e.observer
        AND later.sha256 IS NOT NULL AND later.id > e.id))
    AND NOT EXISTS (SELECT 1 FROM retrievals r
      JOIN page_captures p ON p.id = r.part_of OR p.retrieval = r.id
      WHERE r.sha256 = j.value AND (p.id IN (SELECT id FROM named_pages) OR p.id = (
        SELECT newest.id FROM page_captures newest WHERE newest.source_key = p.source_key
          AND newest.observer IS p.observer ORDER BY newest.started_at DESC, newest.ledger_entry DESC LIMIT 1)))`);
