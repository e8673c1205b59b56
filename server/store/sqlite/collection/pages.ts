import { BROWSER } from '../../../../shared/collection/observers.ts';
import type { ListedPage, PageCapture, RecordedPage } from '../../../../shared/collection/page.ts';
import type { SentRequest } from '../../../../shared/collection/retrieval.ts';
import { canonicalText } from '../../../../shared/values/canonicalJson.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  all,
  count,
  inserts,
  one,
  selectAll,
  selectEach,
  selectOne,
  selectValue,
  where,
} from '../engine/queries.ts';
import { coverPage } from '../node/covered.ts';
import { isWithheldForLoginSql } from '../node/withheld.ts';
import { isHandedInSql } from './handIns.ts';

/** The columns of `page_captures`; the others are generated. */
interface PageRow {
  ledger_entry: number;
  source_key: number;
  /** The canonical JSON of the record without its requests. */
  record: string;
  requests: string;
}

/**
 * Inserts a page capture, after its ledger entry and its parts. A page that is drawn from an object which is withheld shows
 * what is in it, so it is withheld, too.
 */
export function insertPage(
  database: WriteDatabase,
  { source_key, ledger_entry, ...page }: RecordedPage & { source_key: number; ledger_entry: number },
): void {
  const { requests, ...record } = page;
  const row = { ledger_entry, source_key, record: canonicalText(record), requests: canonicalText(requests) };
  insertRow(database, row);
  coverPage(database, ledger_entry);
}

/** Returns the record of a page capture as the ledger covers it. */
export function recordOfPage({ record, requests }: Pick<PageRow, 'record' | 'requests'>): RecordedPage {
  return { ...JSON.parse(record), requests: JSON.parse(requests) } as RecordedPage;
}

function captureOfRow(row: PageRow): PageCapture {
  return { ...recordOfPage(row), ledger_entry: row.ledger_entry };
}

const COLUMNS = 'ledger_entry, source_key, record, requests';

const insertRow = inserts<PageRow>('page_captures', COLUMNS);

export const pageById = selectOne<PageRow, [id: string], PageCapture>(
  `SELECT ${COLUMNS} FROM page_captures WHERE id = ?`,
  captureOfRow,
);

/** Returns the newest page capture of a source that this node made itself. */
export const newestPage = selectOne<PageRow, [sourceKey: number], PageCapture>(
  `SELECT ${COLUMNS} FROM page_captures INDEXED BY page_captures_by_source
   WHERE source_key = ? AND observer IS NULL ORDER BY started_at DESC, ledger_entry DESC LIMIT 1`,
  captureOfRow,
);

/** Returns the document of the first page capture that showed a text; undefined if the object is no text of a page. */
export const documentWithText = selectValue<string, [sha256: string]>(`
  SELECT p.record ->> 'document' AS document FROM retrievals r INDEXED BY retrievals_by_object
  JOIN page_captures p ON p.id = r.part_of AND p.record ->> 'text' = r.sha256
  WHERE r.sha256 = ? ORDER BY r.id LIMIT 1`);

/** Returns the picture of the page in the last event of a source that this node's browser saw. */
export const pictureOfLastEvent = selectValue<string, [sourceKey: number]>(`
  SELECT (SELECT json_extract(record, '$.picture') FROM page_captures WHERE id = e.page) AS picture
  FROM events e INDEXED BY events_by_capture
  WHERE source_key = ? AND observer = '${BROWSER}' AND original_observed_at IS NOT NULL ORDER BY e.id DESC LIMIT 1`);

/** Returns the id of the newest page capture of a source, by any observer. */
export const newestPageId = selectValue<string, [sourceKey: number]>(`
  SELECT id FROM page_captures INDEXED BY page_captures_by_source
  WHERE source_key = ? ORDER BY started_at DESC, ledger_entry DESC LIMIT 1`);

/** Which page captures a list has: `before` is an instant or the id of one; `size` is that of the ledger, if it is given. */
interface PageSelection {
  source?: string | undefined;
  before?: string | undefined;
  size?: number;
}

/** Lists page captures, newest first. */
export function listPages(
  database: ReadDatabase,
  { limit, offset = 0, ...selection }: PageSelection & { limit: number; offset?: number },
): ListedPage[] {
  const conditions = selected(selection);
  return all<{ ledger_entry: number; record: string; request_count: number; missing: number }>(
    database,
    `SELECT ledger_entry, record, request_count, missing FROM page_captures ${conditions.where}
     ORDER BY started_at DESC, ledger_entry DESC LIMIT ? OFFSET ?`,
    ...conditions.values,
    limit,
    offset,
  ).map(({ record, ...row }) => ({ ...(JSON.parse(record) as Omit<RecordedPage, 'requests'>), ...row }));
}

/** Returns how many page captures `listPages` has in all. */
export function countPages(database: ReadDatabase, selection: PageSelection): number {
  const conditions = selected(selection);
  return count(database, `page_captures ${conditions.where}`, ...conditions.values);
}

function selected({ source, before, size }: PageSelection): ReturnType<typeof where> {
  return where(
    source !== undefined && ['source_key = (SELECT key FROM sources WHERE id = ?)', source],
    before !== undefined &&
      (before.startsWith('pg_')
        ? [
            '(started_at, ledger_entry) < (SELECT started_at, ledger_entry FROM page_captures WHERE id = ?)',
            before,
          ]
        : ['started_at < ?', before]),
    size !== undefined && ['ledger_entry <= ?', size],
  );
}

/** Iterates over all page captures with the id of the source that their row names, in ledger order. */
export const iteratePages = selectEach<PageRow & { source: string | null }>(`
  SELECT p.ledger_entry, p.source_key, p.record, p.requests, s.id AS source
  FROM page_captures p LEFT JOIN sources s ON s.key = p.source_key ORDER BY p.ledger_entry`);

/** An answer that the archive holds: a part of a page, a version of a source, or a redirect or failure of one. */
export interface HeldAnswer {
  id: number;
  /** The id of the source that it belongs to. */
  source: string;
  url: string;
  final_url: string;
  redirects: { url: string; status: number; headers?: [string, string][] | undefined }[];
  method: string;
  /** When it was retrieved, or captured by others. */
  at: string;
  status: number | null;
  headers: [string, string][];
  content_type: string | null;
  sha256: string | null;
}

type Stored = Omit<HeldAnswer, 'redirects' | 'headers' | 'method'> & {
  source_key: number;
  redirects: string;
  headers: string;
  request: string | null;
};

const MOMENT = 'coalesce(original_observed_at, observed_at)';
const ANSWER = `SELECT r.id, r.source_key, s.id AS source, r.url, r.final_url, r.redirects, r.request, r.status,
    coalesce(r.original_observed_at, r.observed_at) AS at, r.headers, r.content_type, r.sha256
  FROM retrievals r JOIN sources s ON s.key = r.source_key`;

/** A 304 says that an object is unchanged; what the object came with is what the page gets. */
function fromStored(database: ReadDatabase, row: Stored): HeldAnswer {
  const { source_key, ...answer } = row;
  const full =
    row.status === 304 ? answerWithBody(database, { sha256: row.sha256, source_key, id: row.id }) : undefined;
  const { status, content_type, headers } = full ?? row;
  const request = row.request === null ? null : (JSON.parse(row.request) as SentRequest);
  return {
    ...answer,
    status: status === 304 ? 200 : status,
    content_type,
    headers: JSON.parse(headers) as HeldAnswer['headers'],
    redirects: JSON.parse(row.redirects) as HeldAnswer['redirects'],
    method: request?.method ?? 'GET',
  };
}

const answerWithBody = selectOne<Stored, [row: Pick<Stored, 'sha256' | 'source_key' | 'id'>]>(`
  ${ANSWER} WHERE r.sha256 = $sha256 AND r.source_key = $source_key AND r.id < $id AND r.status IS NOT 304
    AND r.part_of IS NULL AND NOT ${isHandedInSql('r.observer')}
  ORDER BY r.id DESC LIMIT 1`);

const answerById = selectOne<Stored, [id: number]>(`${ANSWER} WHERE r.id = ?`);

/** Returns what a page was answered when it was captured, in order: first its document, then its parts. */
export function partsOfPage(database: ReadDatabase, id: string): HeldAnswer[] {
  return answersOfPage(database, { id }).map((row) => fromStored(database, row));
}

const answersOfPage = selectAll<Stored, [{ id: string }]>(`
  ${ANSWER} WHERE r.id = (SELECT retrieval FROM page_captures WHERE id = $id)
  UNION ALL SELECT * FROM (${ANSWER} WHERE r.part_of = $id AND r.status IS NOT NULL ORDER BY r.id)`);

/** Returns the part of a page with this address that is nearest in time, if it brought an object. */
export function nearestPart(
  database: ReadDatabase,
  url: string,
  at: number,
): { source: string; sha256: string; at: string } | undefined {
  const parameters = { url, at: new Date(at).toISOString() };
  const found = NEAREST_PART.map((select) => select(database, parameters)).filter(
    (part) => part !== undefined,
  );
  return found.sort((left, right) => secondsOff(left.at, at) - secondsOff(right.at, at))[0];
}

function secondsOff(moment: string, at: number): number {
  return Math.abs(Date.parse(moment) - at);
}

const NEAREST_PART = [
  ['<=', 'DESC'],
  ['>', 'ASC'],
].map(([compared, order]) =>
  selectOne<{ source: string; sha256: string; at: string }, [{ url: string; at: string }]>(
    `SELECT s.id AS source, r.sha256, coalesce(r.original_observed_at, r.observed_at) AS at
     FROM retrievals r INDEXED BY parts_by_url JOIN sources s ON s.key = r.source_key
     WHERE r.url = $url AND r.part_of IS NOT NULL AND r.status IS NOT NULL AND r.error IS NULL
       AND r.sha256 IS NOT NULL AND coalesce(r.original_observed_at, r.observed_at) ${compared} $at
     ORDER BY coalesce(r.original_observed_at, r.observed_at) ${order} LIMIT 1`,
  ),
);

/** A request of a page that is drawn from the archive. */
export interface AskedAnswer {
  url: string;
  /** The id that the source of this address has, if there is one. */
  source: string;
  method: string;
  /** The digest of its body; null if it has none. */
  body: string | null;
  /** Whether a part of an object is asked for. Nothing else is answered with one. */
  isRange: boolean;
  /** Whether an answer may be one that was got with a login: no other page gets it. */
  withLogin: boolean;
  /** The time of the page, in milliseconds since the epoch. */
  at: number;
}

/**
 * Where answers are found by their moment: an index, and the condition that names its rows. What a person handed in is no
 * answer: a file may claim any address.
 */
const PLACES = {
  parts: `retrievals INDEXED BY parts_by_url WHERE url = $url AND part_of IS NOT NULL AND status IS NOT NULL`,
  versions: `retrievals INDEXED BY observations_by_moment
    WHERE source_key = (SELECT key FROM sources WHERE id = $source)
      AND sha256 IS NOT NULL AND error IS NULL AND part_of IS NULL AND NOT ${isHandedInSql('observer')}`,
  failures: `retrievals INDEXED BY failures_by_moment
    WHERE source_key = (SELECT key FROM sources WHERE id = $source)
      AND part_of IS NULL AND error IS NOT NULL AND status IS NOT NULL`,
};
/** What was received without its body, such as one that was too large, is no answer. */
const IS_ANSWER = '((sha256 IS NOT NULL AND (status IS NOT 206 OR $isRange)) OR status >= 300)';
const HAS_METHOD = "coalesce(request ->> 'method', 'GET') = $method";
const HAS_BODY = "(request -> 'body' ->> 'sha256') IS $body";

/**
 * Returns the answer to a request that is nearest in time, by any observer; undefined if the archive holds none. A
 * request with another method than GET prefers an answer to one with the same body.
 */
export function answerNearest(database: ReadDatabase, asked: AskedAnswer): HeldAnswer | undefined {
  const conditions = asked.method === 'GET' ? [HAS_METHOD] : [`${HAS_METHOD} AND ${HAS_BODY}`, HAS_METHOD];
  for (const condition of conditions) {
    const found = nearest(database, asked, `${IS_ANSWER} AND ${condition}`);
    if (found !== undefined) return fromStored(database, answerById(database, found) as Stored);
  }
  return undefined;
}

/** Returns the id of the nearest answer in any place, before or after the time of the page. */
function nearest(database: ReadDatabase, asked: AskedAnswer, condition: string): number | undefined {
  const { withLogin, isRange, ...named } = asked;
  const parameters = { ...named, isRange: Number(isRange), at: new Date(asked.at).toISOString() };
  const shared = withLogin ? '' : `AND NOT ${isWithheldForLoginSql('retrievals.sha256')}`;
  let best: { id: number; off: number } | undefined;
  for (const place of Object.values(PLACES))
    for (const [compared, order] of [
      ['<=', 'DESC'],
      ['>', 'ASC'],
    ]) {
      const row = one<{ id: number; at: string }>(
        database,
        `SELECT id, ${MOMENT} AS at FROM ${place} AND ${MOMENT} ${compared} $at AND ${condition} ${shared}
         ORDER BY ${MOMENT} ${order} LIMIT 1`,
        parameters,
      );
      const off = row && Math.abs(Date.parse(row.at) - asked.at);
      if (row && off !== undefined && (best === undefined || off < best.off)) best = { id: row.id, off };
    }
  return best?.id;
}
