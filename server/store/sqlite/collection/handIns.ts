import type {
  HandIn,
  HandInPart,
  ListedHandIn,
  RecordedHandIn,
} from '../../../../shared/collection/handedIn.ts';
import { HANDED_IN, HANDED_IN_WORDS } from '../../../../shared/collection/observers.ts';
import type { WithheldReason } from '../../../../shared/node/withheld.ts';
import { canonicalText } from '../../../../shared/values/canonicalJson.ts';
import type { WriteDatabase } from '../engine/open.ts';
import { inserts, selectEach, selectOne, selectPage, selectValue } from '../engine/queries.ts';

/**
 * The condition that a retrieval was handed in. What a file claims of an address must not take the place of what this node
 * fetched from it.
 */
export const isHandedInSql = (observer: string) =>
  `substr(${observer}, 1, ${HANDED_IN.length}) = '${HANDED_IN}'`;

/** Inserts what was handed in, after its ledger entry and its retrievals. */
export function insertHandIn(
  database: WriteDatabase,
  { source_key, ledger_entry, ...handIn }: RecordedHandIn & { source_key: number; ledger_entry: number },
): void {
  const { parts, ...record } = handIn;
  insertRow(database, {
    ledger_entry,
    source_key,
    record: canonicalText(record),
    parts: canonicalText(parts),
  });
}

const insertRow = inserts<Stored & { source_key: number }>(
  'hand_ins',
  'ledger_entry, source_key, record, parts',
);

interface Stored {
  ledger_entry: number;
  record: string;
  parts: string;
}

/** Returns the record as the ledger covers it. */
export function recordOfHandIn({ record, parts }: Pick<Stored, 'record' | 'parts'>): RecordedHandIn {
  return {
    ...(JSON.parse(record) as Omit<RecordedHandIn, 'parts'>),
    parts: JSON.parse(parts) as HandInPart[],
  };
}

/** The oldest withholding in force that covers the document, if that was not given up. */
const WITHHELD = `LEFT JOIN withholdings w ON w.ledger_entry =
  (SELECT min(withholding) FROM withheld_objects o WHERE o.sha256 = h.record ->> 'document'
    AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.sha256 = o.sha256))`;
const COLUMNS = 'h.ledger_entry, h.record, w.reason, w.at';

type Withheld = { reason: WithheldReason | null; at: string | null };

function markOf({ reason, at }: Withheld): Pick<HandIn, 'label' | 'withheld'> {
  const withheld = reason !== null && at !== null ? { reason, since: at } : null;
  return { label: HANDED_IN_WORDS, withheld };
}

function handInOf(row: Stored & Withheld): HandIn {
  return { ...recordOfHandIn(row), ledger_entry: row.ledger_entry, ...markOf(row) };
}

export const handInById = selectOne<Stored & Withheld, [id: string], HandIn>(
  `SELECT ${COLUMNS}, h.parts FROM hand_ins h ${WITHHELD} WHERE h.id = ?`,
  handInOf,
);

/** Returns what was handed in with the same file, address, time and observer. */
export const sameHandIn = selectOne<
  Stored & Withheld,
  [same: { file: string; url: string; seen_at: string; observer: string }],
  HandIn
>(
  `SELECT ${COLUMNS}, h.parts FROM hand_ins h ${WITHHELD} WHERE h.file = $file AND h.record ->> 'url' = $url
     AND h.record ->> 'seen_at' = $seen_at AND h.record ->> 'observer' = $observer LIMIT 1`,
  handInOf,
);

/** Returns a page of what was handed in, newest first. */
export const handInsPage = selectPage<
  Omit<Stored, 'parts'> & Withheld & { part_count: number },
  [],
  ListedHandIn
>(
  {
    columns: `${COLUMNS}, json_array_length(h.parts) AS part_count`,
    from: `hand_ins h ${WITHHELD}`,
    order: 'h.ledger_entry DESC',
  },
  ({ record, part_count, ...row }) => ({
    ...(JSON.parse(record) as Omit<RecordedHandIn, 'parts'>),
    ledger_entry: row.ledger_entry,
    part_count,
    ...markOf(row),
  }),
);

/** Iterates over the records of all that was handed in, with the source that each row names, in ledger order. */
export const iterateHandIns = selectEach<Stored & { source: string | null }>(`
  SELECT h.ledger_entry, h.record, h.parts, s.id AS source
  FROM hand_ins h LEFT JOIN sources s ON s.key = h.source_key ORDER BY h.ledger_entry`);

/** Returns the id of what was handed in whose document a retrieval is. */
export const handInOfRetrieval = selectValue<string, [retrieval: number]>(
  'SELECT id FROM hand_ins WHERE retrieval = ?',
);
