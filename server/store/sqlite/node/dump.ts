import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A table whose rows are dumped column by column. */
interface DumpedTable {
  table: string;
  order: string;
  /** The column of the ledger entry that records a row, if rows are not ordered by it. */
  recordedBy?: string;
  columns: readonly string[];
  /** Columns that hold JSON text. */
  json?: readonly string[];
}

/**
 * The tables of the collection; each row becomes one line. A dump has only the names of a source's headers, because
 * the values may be secrets and a dump is public.
 */
const TABLES = {
  source: {
    table: 'sources',
    order: 'key',
    columns: words(
      'key id url name agency tags every_minutes max_object_mb ignore_robots paused removed added_at revision state',
      'failures missing_since consecutive failing_since last_checked_at next_check_at last_status last_error',
      'last_sha256 last_event_type noise_rules rules_digest every time_zone active_hours follow found_in',
    ),
    json: ['tags', 'noise_rules', 'active_hours', 'follow'],
  },
  source_revision: {
    table: 'source_revisions',
    order: 'ledger_entry',
    columns: words('ledger_entry source_key record'),
    json: ['record'],
  },
  round: {
    table: 'rounds',
    order: 'id',
    columns: words(
      'id started_by started_at ended_at completed observer_offline checked unchanged changed failed',
    ),
  },
  retrieval: {
    table: 'retrievals',
    order: 'id',
    columns: words(
      'id source_key round url final_url redirects observer observed_at original_observed_at status error content_type',
      'headers request sha256 bytes duration_ms page_label connection',
    ),
    json: ['redirects', 'headers', 'request', 'page_label', 'connection'],
  },
  /** Only in dumps of format 1. Later formats have it in the line of its retrieval. */
  capture: {
    table: 'captures',
    order: 'retrieval',
    columns: words('retrieval record_id payload_digest'),
  },
  event: {
    table: 'events',
    order: 'id',
    recordedBy: 'ledger_entry',
    columns: words(
      'id source_key retrieval event_type observer observed_at original_observed_at sha256 previous_sha256 reverts_to',
      'page_label ledger_entry',
    ),
    json: ['page_label'],
  },
  event_noise: {
    table: 'event_noise',
    order: 'event',
    columns: words('event is_noise rules_digest'),
  },
  object_damage: {
    table: 'object_damages',
    order: 'ledger_entry',
    columns: words('ledger_entry sha256 bytes problem found at'),
  },
  object_restoration: {
    table: 'object_restorations',
    order: 'ledger_entry',
    columns: words('ledger_entry damage sha256 at'),
  },
  key_change: {
    table: 'key_changes',
    order: 'ledger_entry',
    columns: words('ledger_entry type record'),
    json: ['record'],
  },
  peer_rewrite: {
    table: 'peer_rewrites',
    order: 'ledger_entry',
    columns: words('ledger_entry record'),
    json: ['record'],
  },
  pack_provenance: {
    table: 'pack_provenance',
    order: 'ledger_entry',
    columns: words('ledger_entry record'),
    json: ['record'],
  },
  case: {
    table: 'cases',
    order: 'key',
    columns: words('key id title description items revision created_at changed_at'),
    json: ['items'],
  },
  witnessed_log: {
    table: 'witnessed_logs',
    order: 'origin',
    columns: words('origin key added_at removed_at size root note cosigned_at'),
  },
  witness_refusal: {
    table: 'witness_refusals',
    order: 'id',
    columns: words('id origin at known_size known_note size body request'),
  },
} satisfies Record<string, DumpedTable>;

export type DumpedRowKind = keyof typeof TABLES;

export function isRowKind(kind: string): kind is DumpedRowKind {
  return Object.hasOwn(TABLES, kind);
}

function words(...lines: string[]): string[] {
  return lines.join(' ').split(' ');
}

/** How the lines of one kind are selected: the SQL up to its order, and the column that orders them. */
interface LineQuery {
  select: string;
  /** Whether `select` ends with a WHERE clause. */
  hasWhere?: boolean;
  by: string;
  /** The column that selects lines between two numbers, if it is another. */
  between?: string | undefined;
}

/** Selects the lines of a table as JSON objects beginning with `kind`. SQLite formats them fastest. */
function tableLines(kind: DumpedRowKind): LineQuery {
  const { table, order, recordedBy, columns, json = [] }: DumpedTable = TABLES[kind];
  const members = columns.map(
    (column) => `'${column}', ${json.includes(column) ? `json(${column})` : column}`,
  );
  if (kind === 'source') {
    members.push("'header_names', json((SELECT json_group_array(h.key) FROM json_each(headers) h))");
  }
  return {
    select: `SELECT json_object('kind', '${kind}', ${members.join(', ')}) FROM ${table}`,
    by: order,
    between: recordedBy,
  };
}

/** A retrieval with everything the ledger covers, and the hash of the leaf. */
const RETRIEVAL_LINE = `json_object('kind', 'retrieval', 'id', r.id, 'source', s.id, 'round', r.round, 'url', r.url,
    'final_url', r.final_url, 'redirects', json(r.redirects), 'observer', r.observer, 'observed_at', r.observed_at,
    'original_observed_at', r.original_observed_at, 'status', r.status, 'error', r.error, 'content_type', r.content_type,
    'headers', json(r.headers), 'request', json(r.request), 'sha256', r.sha256, 'bytes', r.bytes, 'duration_ms',
    r.duration_ms, 'page_label', json(r.page_label), 'capture', json(iif(c.retrieval IS NULL, NULL,
      json_object('record_id', c.record_id, 'payload_digest', c.payload_digest))), 'leaf', lower(hex(l.leaf)))`;

const RETRIEVAL_LINES: LineQuery = {
  select: `SELECT iif(r.connection IS NULL, ${RETRIEVAL_LINE},
    json_insert(${RETRIEVAL_LINE}, '$.connection', json(r.connection)))
  FROM retrievals r LEFT JOIN sources s ON s.key = r.source_key LEFT JOIN captures c ON c.retrieval = r.id
  LEFT JOIN retrieval_leaves l ON l.retrieval = r.id`,
  by: 'r.id',
};

/** The lines of a dump by kind, in the order in which they can be restored: a line comes after those it refers to. */
const LINES: Record<string, LineQuery> = {
  timestamp: {
    select: `SELECT json_object('kind', 'timestamp', 'id', id, 'authority', authority, 'at', at, 'received_at',
    received_at, 'size', size, 'root', root, 'serial', serial, 'text', text, 'reply', lower(hex(reply))) FROM timestamps`,
    by: 'id',
  },
  cosignature: {
    select: `SELECT json_object('kind', 'cosignature', 'witness', witness, 'origin', origin, 'size', size, 'root', root,
    'line', line, 'at', at, 'received_at', received_at) FROM cosignatures`,
    by: 'witness, size',
  },
  entry: {
    select: `SELECT json_object('kind', 'entry', 'seq', seq, 'at', at, 'type', type, 'subject', subject, 'digest', digest,
    'prev', prev, 'hash', hash) FROM ledger`,
    by: 'seq',
  },
  node: {
    select: `SELECT json_object('kind', 'node', 'path', path, 'title', title, 'description', description, 'created_at',
    created_at, 'ledger_entry', ledger_entry) FROM nodes`,
    by: 'ledger_entry',
  },
  study: {
    select: `SELECT json_object('kind', 'study', 'id', s.id, 'title', s.title, 'question', s.question, 'description',
    s.description, 'node', s.node, 'status', h.status, 'created_at', s.created_at, 'ledger_entry', s.ledger_entry)
    FROM studies s JOIN study_statuses h ON h.ledger_entry = s.ledger_entry`,
    by: 's.ledger_entry',
  },
  study_status: {
    select: `SELECT json_object('kind', 'study_status', 'study', h.study, 'status', h.status, 'note', h.note, 'at',
    h.at, 'ledger_entry', h.ledger_entry) FROM study_statuses h
    WHERE NOT EXISTS (SELECT 1 FROM studies s WHERE s.ledger_entry = h.ledger_entry)`,
    hasWhere: true,
    by: 'h.ledger_entry',
  },
  pack: {
    select: `SELECT '{"kind":"pack","id":"' || p.id || '","digest":"' || p.digest || '","received_at":"' || l.at ||
    '","ledger_entry":' || p.ledger_entry || ',"record":' || r.record || '}'
    FROM packs p JOIN pack_records r USING (ledger_entry) JOIN ledger l ON l.seq = p.ledger_entry`,
    by: 'p.ledger_entry',
  },
  flag: {
    select: `SELECT json_object('kind', 'flag', 'pack', pack, 'reason', reason, 'note', note, 'at', at, 'ledger_entry',
    ledger_entry) FROM pack_flags`,
    by: 'ledger_entry',
  },
  comment: {
    select: `SELECT json_object('kind', 'comment', 'id', id, 'item', item, 'author', author, 'body', body, 'reply_to',
    reply_to, 'at', at, 'ledger_entry', ledger_entry) FROM comments`,
    by: 'ledger_entry',
  },
  source: tableLines('source'),
  source_revision: tableLines('source_revision'),
  round: tableLines('round'),
  retrieval_batch: {
    select: `SELECT json_object('kind', 'retrieval_batch', 'ledger_entry', ledger_entry, 'first', first, 'last',
    last, 'root', root) FROM retrieval_batches`,
    by: 'ledger_entry',
  },
  retrieval: RETRIEVAL_LINES,
  event: tableLines('event'),
  event_noise: tableLines('event_noise'),
  object_damage: tableLines('object_damage'),
  object_restoration: tableLines('object_restoration'),
  key_change: tableLines('key_change'),
  peer_rewrite: tableLines('peer_rewrite'),
  pack_provenance: tableLines('pack_provenance'),
  finding: {
    select: `SELECT json_object('kind', 'finding', 'id', id, 'at', at, 'target', json_object('kind', target_kind, 'id',
    target_id), 'text', text, 'tags', json(tags), 'passage', json(passage), 'supersedes', supersedes, 'withdrawal',
    withdrawal, 'ledger_entry', ledger_entry) FROM findings`,
    by: 'ledger_entry',
  },
  case: tableLines('case'),
  witnessed_log: tableLines('witnessed_log'),
  witness_refusal: tableLines('witness_refusal'),
};

/** The kinds of lines in a dump, in their order. */
export const DUMP_KINDS = Object.keys(LINES);

/** Iterates over the lines of one kind, without line ends. */
export function iterateDumpLines(database: ReadDatabase, kind: string): IterableIterator<string> {
  const { select, by } = queryOf(kind);
  return database.prepare<[], string>(`${select} ORDER BY ${by}`).pluck().iterate();
}

/** Returns the lines of one kind between two numbers, both included: numbers of ledger entries, or of retrievals. */
export function dumpLinesBetween(
  database: ReadDatabase,
  kind: string,
  first: number,
  last: number,
): string[] {
  const { select, hasWhere, by, between = by } = queryOf(kind);
  const sql = `${select} ${hasWhere ? 'AND' : 'WHERE'} ${between} BETWEEN ? AND ? ORDER BY ${between}`;
  return database.prepare<[number, number], string>(sql).pluck().all(first, last);
}

function queryOf(kind: string): LineQuery {
  const query = LINES[kind];
  if (query === undefined) throw new TypeError(`A dump has no lines of the kind ${kind}.`);
  return query;
}

/** Inserts a dumped row of the collection. The values of a source's headers are empty; the owner must set them again. */
export function restoreRow(database: WriteDatabase, kind: DumpedRowKind, row: Record<string, unknown>): void {
  const { table, columns, json = [] }: DumpedTable = TABLES[kind];
  const values = columns.map((column) => {
    const value = row[column] ?? null;
    return json.includes(column) && value !== null ? JSON.stringify(value) : value;
  });
  const names: string[] = [...columns];
  if (kind === 'source') {
    names.push('headers');
    values.push(JSON.stringify(Object.fromEntries((row.header_names as string[]).map((name) => [name, '']))));
  }
  const placeholders = names.map(() => '?').join(', ');
  statement(database, `INSERT INTO ${table} (${names.join(', ')}) VALUES (${placeholders})`).run(values);
}
