import type { EventType } from '../../../../shared/collection/event.ts';
import { selectAll } from '../engine/queries.ts';

/** What an entry is about: the title of a pack, study or subject, or the name of a source. */
export interface EntryTitleRow {
  seq: number;
  title: string | null;
  /** Only of an event. */
  event_type: EventType | null;
  /** Only of retrievals: how many the entry covers. */
  retrievals: number | null;
}

const PACK_TITLE = `SELECT r.record ->> 'title' FROM packs p JOIN pack_records r USING (ledger_entry) WHERE p.id =`;
const SOURCE_NAME = `SELECT coalesce(nullif(s.name, ''), s.url) FROM sources s WHERE`;

/** Returns the titles of the entries `from` to `from + limit - 1`, in order. A finding has none: it may be sealed or withheld. */
export const titlesFrom = selectAll<EntryTitleRow, [from: number, limit: number]>(
  `SELECT l.seq, e.event_type, b.last - b.first + 1 AS retrievals,
    CASE l.type
      WHEN 'pack.added' THEN (${PACK_TITLE} l.subject)
      WHEN 'pack.flagged' THEN (${PACK_TITLE} l.subject)
      WHEN 'pack.deposited' THEN (${PACK_TITLE} l.subject)
      WHEN 'study.created' THEN (SELECT title FROM studies WHERE id = l.subject)
      WHEN 'study.status' THEN (SELECT title FROM studies WHERE id = l.subject)
      WHEN 'node.created' THEN (SELECT title FROM nodes WHERE path = l.subject)
      WHEN 'comment.added' THEN (SELECT coalesce((${PACK_TITLE} c.item), (SELECT title FROM studies WHERE id = c.item))
        FROM comments c WHERE c.ledger_entry = l.seq)
      WHEN 'source.added' THEN (${SOURCE_NAME} s.id = l.subject)
      WHEN 'source.changed' THEN (${SOURCE_NAME} s.id = l.subject)
      WHEN 'event.recorded' THEN (${SOURCE_NAME} s.key = e.source_key)
      WHEN 'page.captured' THEN (${SOURCE_NAME} s.key = (SELECT source_key FROM page_captures p WHERE p.ledger_entry = l.seq))
      WHEN 'page.handed_in' THEN (${SOURCE_NAME} s.key = (SELECT source_key FROM hand_ins h WHERE h.ledger_entry = l.seq))
    END AS title
  FROM (SELECT * FROM ledger WHERE seq >= ? ORDER BY seq LIMIT ?) l
  LEFT JOIN events e ON l.type = 'event.recorded' AND e.ledger_entry = l.seq
  LEFT JOIN retrieval_batches b ON l.type = 'retrievals.recorded' AND b.ledger_entry = l.seq
  ORDER BY l.seq`,
);
