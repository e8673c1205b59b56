import { BROWSER, SELF } from '../../../../shared/collection/observers.ts';
import { isHandedInSql } from '../collection/handIns.ts';

/*
 * What the owner withholds is covered by what this archive recorded of its own. A record of a peer neither adds to it, among
 * what this archive has of its own, nor takes something out of it.
 */

/** The condition that a retrieval is one of this archive's own: that it was fetched, drawn or handed in here, or imported. */
export const isOwnSql = (retrieval: string): string => `
  (${retrieval}.observer IN ('${SELF}', '${BROWSER}') OR ${isHandedInSql(`${retrieval}.observer`)}
    OR EXISTS (SELECT 1 FROM captures imported WHERE imported.retrieval = ${retrieval}.id))`;

/** The condition that a retrieval counts for a part of a page: what a peer says counts for the pages of that peer only. */
export const countsForSql = (retrieval: string, part: string): string =>
  `(${retrieval}.observer = ${part}.observer OR ${isOwnSql(retrieval)})`;

/**
 * The condition that this archive has an object of its own, and not only in records of peers. Retrievals up to `$known` count,
 * and packs before `$entry`; none if `$known` is negative.
 */
export const isHadSql = (digest: string): string => `
  (EXISTS (SELECT 1 FROM retrievals had WHERE had.sha256 = ${digest} AND had.id <= $known AND ${isOwnSql('had')})
    OR EXISTS (SELECT 1 FROM pack_files f WHERE f.sha256 = ${digest} AND $known >= 0 AND f.pack < $entry
      AND NOT EXISTS (SELECT 1 FROM pack_provenance WHERE pack_provenance.ledger_entry = f.pack)))`;
