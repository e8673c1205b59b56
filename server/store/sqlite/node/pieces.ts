import { selectValues } from '../engine/queries.ts';
import { countsForSql, isOwnSql } from './peerOrigins.ts';

/*
 * A page may load a long file in pieces, by range requests. A piece has another digest than the file, and the same words. What
 * tells that it belongs to the file is its address, and the size of the file that its answer states. What a peer got from there
 * says so only of the pages of that peer.
 */

/** What a part of a page says in `Content-Range` of the size of its file: `*` if that is not known, null if it says nothing. */
const totalSql = (part: string) => `
  (SELECT trim(substr(header.value ->> 1, instr(header.value ->> 1, '/') + 1)) FROM json_each(${part}.headers) header
    WHERE lower(header.value ->> 0) = 'content-range' LIMIT 1)`;

/** The condition that a part of a page may be a piece of what a retrieval brought. */
const isPieceSql = (total: string, url: string, whole: string) => `
  ${whole}.status <> 206 AND ${url} IN (${whole}.url, ${whole}.final_url)
  AND coalesce(${total}, '*') IN ('*', CAST(${whole}.bytes AS TEXT))`;

/** The pieces of objects in pages, each with its page. @param named a table of the digests of the objects */
export const piecesSql = (named: string): string => `
  SELECT r.part_of AS page, r.sha256 FROM (
    SELECT DISTINCT w.url, w.final_url, w.status, w.bytes, iif(${isOwnSql('w')}, NULL, w.observer) AS other FROM ${named} CROSS JOIN retrievals w ON w.sha256 = ${named}.sha256
  ) AS whole CROSS JOIN retrievals r ON r.url IN (whole.url, whole.final_url)
  WHERE r.part_of IS NOT NULL AND r.status = 206 AND r.sha256 IS NOT NULL
    AND (whole.other IS NULL OR whole.other = r.observer)
    AND ${isPieceSql(totalSql('r'), 'r.url', 'whole')}`;

/** The objects of which a page has pieces, each with the address of the pieces. @param page an SQL expression of its id */
export const wholesSql = (page: string): string => {
  const pieces = `(SELECT DISTINCT r.url, r.observer, ${totalSql('r')} AS total FROM retrievals r
    WHERE r.part_of = ${page} AND r.status = 206) AS piece`;
  const isWhole = `whole.sha256 IS NOT NULL AND ${countsForSql('whole', 'piece')}
    AND ${isPieceSql('piece.total', 'piece.url', 'whole')}`;
  return `
  SELECT piece.url, whole.sha256 FROM ${pieces} CROSS JOIN retrievals whole ON whole.url = piece.url
  WHERE whole.part_of IS NOT NULL AND whole.status IS NOT NULL AND ${isWhole}
  UNION
  SELECT piece.url, whole.sha256 FROM ${pieces} CROSS JOIN retrievals hop ON hop.part_of = ${page}
  CROSS JOIN sources s ON s.url = hop.url CROSS JOIN retrievals whole ON whole.source_key = s.key
  WHERE whole.part_of IS NULL AND ${isWhole}`;
};

/** Returns the objects of which a page has pieces. Its parts must be there, its record need not. */
export const wholesInPage = selectValues<string, [values: { page: string }]>(
  `SELECT DISTINCT sha256 FROM (${wholesSql('$page')})`,
);
