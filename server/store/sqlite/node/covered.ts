import type { RecordedWithholding } from '../../../../shared/node/withheld.ts';
import { isHandedInSql } from '../collection/handIns.ts';
import { lastCoveredBy } from '../collection/retrievalBatches.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { change, hasRow, selectValues } from '../engine/queries.ts';
import { countsForSql, isHadSql, isOwnSql } from './peerOrigins.ts';
import { piecesSql, wholesSql } from './pieces.ts';

/*
 * Which digests a withholding covers. It is a function of what the ledger had recorded when the withholding was appended,
 * and of the pages that were drawn since from what it covers, or handed in since with it. Nothing else that comes later
 * changes it. What is given up stays covered: its bytes may come again within others. So a restored archive, which has all
 * records before anything is withheld, covers the same; or more, if a set became known after something that has its files
 * was handed in or drawn.
 */

type Target = Pick<RecordedWithholding, 'sha256' | 'retrieval' | 'pack' | 'page'>;

/** The digests that a target names itself, by the SQL expression of its member. */
const NAMED = {
  sha256: (digest: string) => `SELECT ${digest} AS sha256`,
  retrieval: (id: string) => `SELECT sha256 FROM retrievals WHERE id = ${id} AND sha256 IS NOT NULL`,
  pack: (id: string) =>
    `SELECT f.sha256 FROM packs p JOIN pack_files f ON f.pack = p.ledger_entry WHERE p.id = ${id}`,
  page: (id: string) =>
    `SELECT sha256 FROM retrievals WHERE part_of = ${id} AND status IS NULL AND sha256 IS NOT NULL`,
};

/** The kinds of targets, in the order of their columns. */
const TARGETS = ['sha256', 'retrieval', 'pack', 'page'] as const;

function kindOf(row: Target): (typeof TARGETS)[number] {
  return TARGETS.find((name) => row[name] !== null) ?? 'sha256';
}

/**
 * The condition that a part of a page is withheld with the page: what it showed, which has no status, and what no other
 * source has. A font of another source is not. Of the other sources, only retrievals up to `$known` count, and those of peers
 * only for their own pages.
 */
const isOfPageSql = (part: string) => `
  ${part}.sha256 IS NOT NULL AND (${part}.status IS NULL OR NOT EXISTS (SELECT 1 FROM retrievals other
    WHERE other.sha256 = ${part}.sha256 AND other.source_key <> ${part}.source_key AND other.id <= $known
    AND ${countsForSql('other', part)}))`;

/** The digest of what a part of a page has sent. */
const sentBy = (part: string) => `${part}.request -> 'body' ->> 'sha256'`;

/** The condition that what a part of a page has sent is withheld with the page: that no other source brought the same. */
const isSentByPageSql = (part: string) => `
  ${part}.request IS NOT NULL AND ${sentBy(part)} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM retrievals other
    WHERE other.sha256 = ${sentBy(part)} AND other.source_key <> ${part}.source_key AND other.id <= $known
      AND ${countsForSql('other', part)})`;

/**
 * The condition that a withholding `w` was recorded for an object of a page that was drawn with a login, in the transaction
 * that recorded the page: after it, with its time, and with nothing but withholdings between. The document of such a page
 * was withheld for a login before. Each object of the page has such a withholding, also the pictures of its site, which
 * would hide all other pages. What the owner withholds for this reason is no such.
 */
const isOfDrawnWithLoginSql = `(w.reason = 'login' AND EXISTS (
    SELECT 1 FROM page_captures p CROSS JOIN ledger drawn ON drawn.seq = p.ledger_entry
      CROSS JOIN retrievals document ON document.id = p.retrieval
      CROSS JOIN retrievals same ON same.sha256 = document.sha256 AND same.source_key = p.source_key
      CROSS JOIN withholdings birth ON birth.retrieval = same.id
    WHERE p.ledger_entry = (SELECT max(ledger_entry) FROM page_captures WHERE ledger_entry < w.ledger_entry)
      AND drawn.at = w.at AND birth.reason = 'login' AND birth.ledger_entry < p.ledger_entry
      AND (w.page = p.id OR EXISTS (SELECT 1 FROM retrievals part WHERE part.part_of = p.id
        AND (part.sha256 = w.sha256 OR ${sentBy('part')} = w.sha256)))
      AND NOT EXISTS (SELECT 1 FROM ledger other WHERE other.seq > p.ledger_entry
        AND other.seq < w.ledger_entry AND other.type <> 'object.withheld')))`;

/** The condition that the withholding with this entry is not one of those. */
const isNotForLogin = `NOT EXISTS (SELECT 1 FROM withholdings w WHERE w.ledger_entry = $entry AND ${isOfDrawnWithLoginSql})`;

/** What a part may be that a page does not show as it is. */
const NOT_SHOWN: readonly string[] = ['font', 'stylesheet'];

/**
 * The condition that a page may show the bytes of one of its parts: that it asked for them as something else than a font or
 * a style, which one withholds for itself.
 */
const showsSql = (digest: string) => `
  EXISTS (SELECT 1 FROM json_each(p.requests) asked WHERE asked.value ->> 'sha256' = ${digest}
    AND asked.value ->> 'type' NOT IN (${NOT_SHOWN.map((type) => `'${type}'`).join()}))`;

/** The same, of one part. */
export const isShownInPage = ({ type }: { type: string }): boolean => !NOT_SHOWN.includes(type);

/** The digests that hold what was handed in whole: its file, and the picture of what was visible. */
const wholeOfHandInsSql = (handIns: string) => `
  SELECT id, file AS sha256 FROM ${handIns} UNION ALL
  SELECT id, record -> 'picture' ->> 'sha256' FROM ${handIns} WHERE record -> 'picture' IS NOT NULL`;

/** The digests of what was handed in: its file, its document, and its parts except those that others observed, too. */
const allOfHandInsSql = (handIns: string) => `
  SELECT id, file AS sha256 FROM ${handIns} UNION
  SELECT given.id, r.sha256 FROM ${handIns} given CROSS JOIN retrievals r ON r.id = given.retrieval UNION
  SELECT given.id, r.sha256 FROM ${handIns} given CROSS JOIN retrievals r ON r.part_of = given.id
  WHERE r.sha256 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM retrievals other
    WHERE other.sha256 = r.sha256 AND other.id <= $known AND NOT ${isHandedInSql('other.observer')}
      AND ${isOwnSql('other')})`;

/** The condition that there are bytes of a digest. A set names the digest of a file that is only there in parts. */
const isBlobSql = (digest: string) => `EXISTS (SELECT 1 FROM blobs WHERE blobs.sha256 = ${digest})`;

/** The condition that a file of `joined_files j` is withheld with its part. */
const IS_WITH_PARTS = "j.ties IN ('both', 'claimed')";

/**
 * Adds files that a set has in parts: a file with its parts, and the parts with it. Without it, the same bytes would be shown in
 * the other way. Two sets can have one file in other parts, so a file counts also if it is only there in parts. `joinFiles` says
 * what is tied to what.
 */
const joinedSql = (digests: string) => `
  WITH RECURSIVE joined (sha256) AS (
    ${digests}
    UNION SELECT j.part FROM joined JOIN joined_files j ON j.sha256 = joined.sha256 AND j.ties <> 'none'
    UNION SELECT j.sha256 FROM joined JOIN joined_files j ON j.part = joined.sha256 AND ${IS_WITH_PARTS}
  )
  SELECT sha256 FROM joined`;

/**
 * The digests of a target and what belongs to them: a file of a set is covered with its parts. A file that was handed in is
 * covered with its document. A page is covered with the object that it was drawn from, with what it showed, with its parts
 * and what they have sent, except what other sources have. So is every other page that was drawn from that object, unless
 * the page was withheld as it was drawn, with a login. Of a page that had it as a part, only what the page showed is
 * covered, and nothing if it is withheld with another page that was drawn with a login: then each object of that page is
 * withheld for itself, unless the owner has shown it. A page that loaded it in pieces had it as a part, and the pieces are
 * covered, too. What was handed in is covered with its file, its document and its parts, except those that others observed,
 * too. Of what was handed in with it as a part, the file is covered, which has the bytes of its parts, and the picture.
 *
 * Each join goes in the order in which it is written, from what is named to what belongs to it. Otherwise SQLite may read
 * all retrievals for each withholding.
 *
 * What pages of peers add counts only if this archive does not have it of its own. So there are two queries: what is covered
 * without such pages, and what is covered with them and is not had.
 *
 * `$entry`: pages and hand-ins that were recorded before this entry count. `$known`: retrievals up to this one count as
 * those of others. They are the ones that earlier entries cover, so that the order within a transaction does not matter.
 */
const coveredSql = (kind: (typeof TARGETS)[number], { withPeers }: { withPeers: boolean }) => `
  SELECT sha256 FROM (${joinedSql(`SELECT sha256 FROM (${belongingSql(kind, withPeers)})`)}) AS joined
  WHERE ${isBlobSql('joined.sha256')} ${withPeers ? `AND NOT ${isHadSql('joined.sha256')}` : ''}`;

/**
 * The condition that more than the page itself belongs to a target. A page that was drawn with a login is withheld for itself,
 * and not for the others that were drawn from its document: each of them has a withholding of its own, and each of these would
 * cover all of them.
 */
const isOfMoreSql = (kind: (typeof TARGETS)[number]) => (kind === 'page' ? isNotForLogin : 'true');
const isOwnPageSql = (kind: (typeof TARGETS)[number]) => (kind === 'page' ? 'p.id = $page' : 'false');

const belongingSql = (kind: (typeof TARGETS)[number], withPeers: boolean) => {
  const counts = withPeers ? 'true' : 'p.observer IS NULL';
  return `
  WITH RECURSIVE named AS (${joinedSql(NAMED[kind](`$${kind}`))}),
    origins (sha256) AS (
      SELECT sha256 FROM named UNION
      SELECT r.sha256 FROM named CROSS JOIN hand_ins h ON h.file = named.sha256
      CROSS JOIN retrievals r ON r.id = h.retrieval WHERE h.ledger_entry < $entry
    ),
    pages (id, retrieval) AS (
      SELECT p.id, p.retrieval FROM origins CROSS JOIN retrievals r ON r.sha256 = origins.sha256
      CROSS JOIN page_captures p ON p.retrieval = r.id WHERE p.ledger_entry < $entry AND ${counts}
      UNION
      SELECT p.id, p.retrieval FROM origins CROSS JOIN retrievals r ON r.sha256 = origins.sha256
      CROSS JOIN page_captures p ON p.id = r.part_of WHERE r.status IS NULL AND p.ledger_entry < $entry AND ${counts}
        AND (${isOwnPageSql(kind)} OR ${isOfMoreSql(kind)})
      UNION
      SELECT p.id, p.retrieval FROM pages CROSS JOIN retrievals drawn ON drawn.id = pages.retrieval
      CROSS JOIN retrievals r ON r.sha256 = drawn.sha256 CROSS JOIN page_captures p ON p.retrieval = r.id
      WHERE p.ledger_entry < $entry AND ${counts} AND ${isOfMoreSql(kind)}
    ),
    pieces (page, sha256) AS (
      SELECT piece.page, piece.sha256 FROM (${piecesSql('named')}) AS piece CROSS JOIN page_captures p ON p.id = piece.page
      WHERE p.ledger_entry < $entry AND ${counts} AND ${isNotForLogin}
    ),
    showing (id) AS (
      SELECT p.id FROM named CROSS JOIN retrievals r ON r.sha256 = named.sha256 CROSS JOIN page_captures p ON p.id = r.part_of
      WHERE r.status IS NOT NULL AND p.ledger_entry < $entry AND ${counts} AND ${showsSql('named.sha256')}
        AND ${isNotForLogin}
      UNION SELECT page FROM pieces
    ),
    documents (sha256) AS (
      SELECT sha256 FROM origins UNION
      SELECT r.sha256 FROM pages CROSS JOIN retrievals r ON r.id = pages.retrieval
      WHERE r.sha256 IS NOT NULL AND ${isOfMoreSql(kind)}
    ),
    containing (id, file, record) AS (
      SELECT h.id, h.file, h.record FROM documents d CROSS JOIN retrievals r ON r.sha256 = d.sha256
      CROSS JOIN hand_ins h ON h.id = r.part_of WHERE h.ledger_entry < $entry
        AND d.sha256 IS NOT h.record -> 'picture' ->> 'sha256' AND ${isNotForLogin}
    ),
    handed_in (id, retrieval, file) AS (
      SELECT h.id, h.retrieval, h.file FROM documents d CROSS JOIN retrievals r ON r.sha256 = d.sha256
      CROSS JOIN hand_ins h ON h.retrieval = r.id WHERE h.ledger_entry < $entry
      UNION
      SELECT h.id, h.retrieval, h.file FROM documents d CROSS JOIN hand_ins h ON h.file = d.sha256
      WHERE h.ledger_entry < $entry
    )
  SELECT sha256 FROM documents
  UNION
  SELECT r.sha256 FROM pages CROSS JOIN retrievals r ON r.part_of = pages.id WHERE ${isOfPageSql('r')}
  UNION
  SELECT ${sentBy('r')} FROM pages CROSS JOIN retrievals r ON r.part_of = pages.id WHERE ${isSentByPageSql('r')}
  UNION
  SELECT r.sha256 FROM showing CROSS JOIN retrievals r ON r.part_of = showing.id
  WHERE r.status IS NULL AND r.sha256 IS NOT NULL
  UNION
  SELECT sha256 FROM pieces
  UNION
  SELECT sha256 FROM (${wholeOfHandInsSql('containing')})
  UNION
  SELECT sha256 FROM (${allOfHandInsSql('handed_in')})`;
};

const WITHOUT_AND_WITH_PEERS = [{ withPeers: false }, { withPeers: true }];

/** Covers the digests of a target. */
export function cover(database: WriteDatabase, row: Target & { ledger_entry: number }): void {
  const { ledger_entry: entry } = row;
  const kind = kindOf(row);
  const values = { entry, known: lastCoveredBy(database, entry), [kind]: row[kind] };
  for (const coverTarget of coverTargets[kind]) coverTarget(database, values);
}

/**
 * The condition that a withholding `w` names the object `held` itself, or a file with it as a part, or a part of it. It begins
 * with the object: a pack can have thousands of files.
 */
const isNamedSql = `EXISTS (SELECT 1 FROM (${joinedSql('SELECT held.sha256')}) AS own WHERE own.sha256 = w.sha256
  OR EXISTS (SELECT 1 FROM pack_files f CROSS JOIN packs p ON p.ledger_entry = f.pack
    WHERE f.sha256 = own.sha256 AND p.id = w.pack)
  OR EXISTS (SELECT 1 FROM retrievals r WHERE r.sha256 = own.sha256 AND r.id = w.retrieval)
  OR EXISTS (SELECT 1 FROM retrievals r WHERE r.part_of = w.page AND r.status IS NULL AND r.sha256 = own.sha256))`;
/** The same, and that it was not recorded with a page that was drawn with a login. */
const isForItselfSql = `w.ledger_entry = held.withholding AND ${isNamedSql} AND NOT ${isOfDrawnWithLoginSql}`;

/** Returns whether one of these digests is withheld for itself, and not with a page that was drawn with a login. */
export const isAnyWithheldForItself = hasRow<[digests: readonly string[]]>(
  `SELECT 1 FROM json_each(?) j CROSS JOIN withheld_objects held ON held.sha256 = j.value
   JOIN withholdings w ON ${isForItselfSql} LIMIT 1`,
);

const coverOf = (kind: keyof Target) =>
  WITHOUT_AND_WITH_PEERS.map((withPeers) =>
    change<[values: object]>(`
    INSERT OR IGNORE INTO withheld_objects (sha256, withholding)
    SELECT sha256, $entry FROM (${coveredSql(kind, withPeers)})`),
  );
const coverTargets = {
  sha256: coverOf('sha256'),
  retrieval: coverOf('retrieval'),
  pack: coverOf('pack'),
  page: coverOf('page'),
};

/**
 * Covers a page that was recorded with this entry, if it was drawn from an object that is withheld. If one of its parts is
 * withheld for itself, what the page showed is covered, and also if it loaded such an object in pieces. Parts that are only
 * withheld with another page do not count: the pictures of a site would hide all its later pages. Of a page of a peer, what
 * this archive has of its own is not covered.
 */
export function coverPage(database: WriteDatabase, entry: number): void {
  coverDrawn(database, { entry, known: lastCoveredBy(database, entry) });
}

const DRAWN = '(SELECT id FROM page_captures WHERE ledger_entry = $entry)';
const coverDrawn = change<[values: { entry: number; known: number }]>(`
  WITH parts AS (
    SELECT part.*, held.withholding FROM page_captures p
    JOIN retrievals document ON document.id = p.retrieval
    JOIN withheld_objects held ON held.sha256 = document.sha256
    JOIN retrievals part ON part.part_of = p.id
    WHERE p.ledger_entry = $entry
  ), shown AS MATERIALIZED (
    SELECT DISTINCT part.sha256 FROM page_captures p
    JOIN retrievals part ON part.part_of = p.id AND part.status IS NOT NULL
    WHERE p.ledger_entry = $entry AND ${showsSql('part.sha256')}
  ), others AS MATERIALIZED (
    SELECT w.* FROM (SELECT DISTINCT o.withholding FROM shown CROSS JOIN withheld_objects o ON o.sha256 = shown.sha256) AS holding
    CROSS JOIN withholdings w ON w.ledger_entry = holding.withholding
    WHERE NOT ${isOfDrawnWithLoginSql}
  )
  INSERT OR IGNORE INTO withheld_objects (sha256, withholding)
  SELECT sha256, withholding FROM (
    SELECT part.sha256, part.withholding FROM parts part WHERE ${isOfPageSql('part')}
    UNION SELECT ${sentBy('part')}, part.withholding FROM parts part WHERE ${isSentByPageSql('part')}
    UNION SELECT output.sha256, w.ledger_entry FROM shown
    CROSS JOIN withheld_objects held ON held.sha256 = shown.sha256
    CROSS JOIN others w ON w.ledger_entry = held.withholding AND ${isNamedSql}
    CROSS JOIN retrievals output ON output.part_of = ${DRAWN} AND output.status IS NULL AND output.sha256 IS NOT NULL
    UNION SELECT own.sha256, w.ledger_entry FROM (${wholesSql(DRAWN)}) AS loaded
    CROSS JOIN withheld_objects held ON held.sha256 = loaded.sha256
    CROSS JOIN withholdings w ON ${isForItselfSql}
    CROSS JOIN retrievals own ON own.part_of = ${DRAWN} AND own.sha256 IS NOT NULL
      AND (own.status IS NULL OR (own.status = 206 AND own.url = loaded.url))
  ) AS drawn
  WHERE (SELECT observer FROM page_captures WHERE ledger_entry = $entry) IS NULL OR NOT ${isHadSql('drawn.sha256')}`);

/**
 * Covers what was handed in with this entry, if its file or its document is withheld. If one of its parts is withheld for
 * itself, its file is covered, which has the same bytes, and its picture, which may show them.
 */
export function coverHandIn(database: WriteDatabase, entry: number): void {
  coverHandedIn(database, { entry, known: lastCoveredBy(database, entry) });
}

const coverHandedIn = change<[values: { entry: number; known: number }]>(`
  WITH new AS (SELECT * FROM hand_ins WHERE ledger_entry = $entry)
  INSERT OR IGNORE INTO withheld_objects (sha256, withholding)
  SELECT sha256, withholding FROM (
    SELECT own.sha256, held.withholding FROM new
    JOIN retrievals document ON document.id = new.retrieval
    JOIN withheld_objects held ON held.sha256 IN (document.sha256, new.file)
    JOIN (${allOfHandInsSql('new')}) AS own
    UNION SELECT own.sha256, w.ledger_entry FROM new
    JOIN retrievals part ON part.part_of = new.id
    JOIN withheld_objects held ON held.sha256 = part.sha256
    JOIN withholdings w ON ${isForItselfSql}
    JOIN (${wholeOfHandInsSql('new')}) AS own
    WHERE held.sha256 IS NOT new.record -> 'picture' ->> 'sha256'
  )`);

/**
 * Covers files that a set has in parts, when the set becomes known: what is connected with a file or a part that is withheld.
 *
 * @param pairs the digests of files and of their parts, as JSON
 */
export function coverJoined(database: WriteDatabase, pairs: string): void {
  coverConnected(database, { pairs });
}

const coverConnected = change<[{ pairs: string }]>(`
  WITH RECURSIVE pairs (sha256) AS (SELECT DISTINCT value ->> 0 FROM json_each($pairs)),
    covered (sha256, withholding) AS (
      SELECT p.sha256, o.withholding FROM pairs p CROSS JOIN joined_files j ON j.sha256 = p.sha256
      CROSS JOIN withheld_objects o ON o.sha256 IN (j.sha256, iif(${IS_WITH_PARTS}, j.part, j.sha256))
      UNION SELECT p.sha256, t.withholding FROM pairs p CROSS JOIN withheld_targets t ON t.target = p.sha256
      UNION SELECT j.part, c.withholding FROM covered c CROSS JOIN joined_files j ON j.sha256 = c.sha256 AND j.ties <> 'none'
      UNION SELECT j.sha256, c.withholding FROM covered c CROSS JOIN joined_files j ON j.part = c.sha256 AND ${IS_WITH_PARTS}
    )
  INSERT OR IGNORE INTO withheld_objects (sha256, withholding)
  SELECT sha256, withholding FROM covered WHERE ${isBlobSql('covered.sha256')}`);

/**
 * Returns the digests that a withholding of a target may have covered at any time: also those of pages that were drawn
 * later, and parts that others have.
 */
export function mayBeCoveredBy(database: ReadDatabase, row: Target): string[] {
  const kind = kindOf(row);
  return coveredWith(database, kind, { entry: Number.MAX_SAFE_INTEGER, known: -1, [kind]: row[kind] });
}

/** Returns the digests that a withholding of a target would cover if it were recorded now. */
export function coveredBy(database: ReadDatabase, row: Target): string[] {
  const now = Number.MAX_SAFE_INTEGER;
  const kind = kindOf(row);
  return coveredWith(database, kind, { entry: now, known: now, [kind]: row[kind] });
}

function coveredWith(database: ReadDatabase, kind: keyof Target, values: object): string[] {
  return [...new Set(covered[kind].flatMap((select) => select(database, values)))];
}

const coveredOf = (kind: keyof Target) =>
  WITHOUT_AND_WITH_PEERS.map((withPeers) =>
    selectValues<string, [values: object]>(coveredSql(kind, withPeers)),
  );
const covered = {
  sha256: coveredOf('sha256'),
  retrieval: coveredOf('retrieval'),
  pack: coveredOf('pack'),
  page: coveredOf('page'),
};
