import { MAX_PREVIEWED_USES, type ReleasePreview } from '../../../../shared/node/withheld.ts';
import type { ReadDatabase } from '../engine/open.ts';
import { all, count } from '../engine/queries.ts';

/** The events of which a digest is a version. */
const EVENTS =
  'SELECT id FROM events WHERE sha256 = $sha256 UNION SELECT id FROM events WHERE previous_sha256 = $sha256';

/** Whether a row `f` is about the object, or about something with it. */
const IS_ABOUT = `(f.target_kind = 'object' AND f.target_id = $sha256) OR f.passage_sha256 = $sha256
    OR (f.target_kind = 'event' AND f.target_id IN (SELECT CAST(id AS TEXT) FROM (${EVENTS})))
    OR (f.target_kind = 'pack' AND f.target_id IN (
      SELECT p.id FROM pack_files u JOIN packs p ON p.ledger_entry = u.pack WHERE u.sha256 = $sha256))`;

const FINDINGS = `SELECT f.id FROM findings f JOIN current_findings USING (ledger_entry) WHERE ${IS_ABOUT}`;

/** Of each kind of use, the columns that name one, and where they are from. */
const USES = {
  packs: [
    "p.id, (SELECT r.record ->> 'title' FROM pack_records r WHERE r.ledger_entry = p.ledger_entry) AS title, f.path",
    'pack_files f JOIN packs p ON p.ledger_entry = f.pack WHERE f.sha256 = $sha256',
    'f.pack DESC, f.path',
  ],
  sources: [
    's.id, s.url, r.retrievals',
    `(SELECT source_key, count(*) AS retrievals FROM retrievals WHERE sha256 = $sha256 GROUP BY source_key) r
      JOIN sources s ON s.key = r.source_key`,
    'r.retrievals DESC, s.key',
  ],
  events: [
    'e.id, s.url, e.observed_at',
    `(${EVENTS}) of_object JOIN events e USING (id) JOIN sources s ON s.key = e.source_key`,
    'e.id DESC',
  ],
  pages: [
    "p.id, p.record ->> 'url' AS url",
    `(SELECT p.ledger_entry FROM retrievals r JOIN page_captures p ON p.id = r.part_of WHERE r.sha256 = $sha256
      UNION SELECT p.ledger_entry FROM retrievals r JOIN page_captures p ON p.retrieval = r.id
        WHERE r.sha256 = $sha256) of_object JOIN page_captures p USING (ledger_entry)`,
    'p.ledger_entry DESC',
  ],
  findings: [
    'u.id, u.text',
    `(SELECT f.ledger_entry, f.id, f.text FROM findings f WHERE f.id IN (${FINDINGS})
      UNION ALL SELECT s.ledger_entry, s.id, f.record ->> 'text' FROM sealed_texts f
        JOIN sealed_findings s USING (ledger_entry) WHERE ${IS_ABOUT}) u`,
    'u.ledger_entry DESC',
  ],
  cases: [
    'c.id, c.title',
    `cases c WHERE EXISTS (SELECT 1 FROM json_each(c.items) item WHERE
      (item.value ->> 'kind' = 'event' AND CAST(item.value ->> 'id' AS INTEGER) IN (${EVENTS}))
      OR (item.value ->> 'kind' = 'finding' AND item.value ->> 'id' IN (${FINDINGS}))
      OR (item.value ->> 'kind' = 'pack' AND item.value ->> 'id' IN (
        SELECT p.id FROM pack_files u JOIN packs p ON p.ledger_entry = u.pack WHERE u.sha256 = $sha256)))`,
    'c.key DESC',
  ],
  copies: [
    'c.id, c.target',
    'copied_objects o JOIN copies c ON c.id = o.copy WHERE o.sha256 = $sha256',
    'c.added_at, c.id',
  ],
} as const;

type Uses = Pick<ReleasePreview, keyof typeof USES>;

/** Returns what uses an object and which copies hold it: the first of each kind, and how many there are. */
export function usesOfObject(database: ReadDatabase, sha256: string): Uses {
  const used = Object.entries(USES).map(([kind, [columns, from, order]]) => {
    const sql = `SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ${MAX_PREVIEWED_USES}`;
    const items = all<object>(database, sql, { sha256 });
    const total = items.length < MAX_PREVIEWED_USES ? items.length : count(database, from, { sha256 });
    return [kind, { total, items }];
  });
  return Object.fromEntries(used) as Uses;
}
