import { BROWSER, SELF } from '../../../../shared/collection/observers.ts';
import type { WithheldReason } from '../../../../shared/node/withheld.ts';
import { isHandedInSql } from '../collection/handIns.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { change, hasRow, selectAll, selectOne, selectValue, selectValues } from '../engine/queries.ts';

/*
 * What came from which peer and from nowhere else, and what this archive withholds because of the word of a peer. The
 * triggers of `schema/peers.ts` keep both right whatever inserts a record.
 */

/** The number that stands for visitors of this node, and for several others together. No peer has it. */
export const VISITORS = 0;

const insertOrigin = change<[key: string]>(
  'INSERT INTO peer_origins (key) VALUES (?) ON CONFLICT DO NOTHING',
);
/** Returns the number of the peer with a key, or undefined. */
export const numberOfOrigin = selectValue<number, [key: string]>(
  'SELECT number FROM peer_origins WHERE key = ?',
);

/** Returns the number of the peer with a key, which is given at the first time. */
export function originOf(database: WriteDatabase, key: string): number {
  insertOrigin(database, key);
  return numberOfOrigin(database, key) ?? 0;
}

/** Follows a peer that renewed its key. */
export const renewOrigin = change<[keys: { before: string; after: string }]>(
  `UPDATE peer_origins SET key = $after WHERE key = $before
   AND NOT EXISTS (SELECT 1 FROM peer_origins WHERE key = $after)`,
);

const setMirroring = change<[origin: number | null]>('UPDATE mirroring SET origin = ?');

/**
 * Runs a change that records what a peer gave, or a visitor sent (`VISITORS`). An object that nothing here names yet comes from
 * that peer or from visitors. Without an origin, it records what the owner sent or this node got itself.
 */
export function fromPeer<Result>(
  database: WriteDatabase,
  origin: number | undefined,
  record: () => Result,
): Result {
  if (origin === undefined) return record();
  setMirroring(database, origin);
  try {
    return record();
  } finally {
    setMirroring(database, null);
  }
}

/** Returns those of these digests that only records of one peer name. */
export const onlyFrom = selectValues<string, [values: { digests: string; origin: number }]>(
  `SELECT o.sha256 FROM json_each($digests) j CROSS JOIN peer_objects o ON o.sha256 = j.value
   WHERE o.origin = $origin`,
);
/** Whether only records of one peer name all of these digests. */
export function areOnlyFrom(database: ReadDatabase, sha256: readonly string[], origin: number): boolean {
  return onlyFrom(database, { digests: JSON.stringify(sha256), origin }).length === new Set(sha256).size;
}
export const isOnlyFrom = hasRow<[values: { sha256: string; origin: number }]>(
  'SELECT 1 FROM peer_objects WHERE sha256 = $sha256 AND origin = $origin',
);
/**
 * The condition that this archive has an object otherwise than from the sender `$origin` alone. After a restore, that is all it
 * has.
 *
 * @param digest an SQL expression
 */
export const isAlsoElsewhereSql = (digest: string): string =>
  `(EXISTS (SELECT 1 FROM blobs WHERE blobs.sha256 = ${digest}) AND NOT EXISTS (SELECT 1 FROM peer_objects theirs
    WHERE theirs.sha256 = ${digest} AND theirs.origin = $origin))`;

/** Returns those of these digests that only records of some other peer name; for the owner, those of all others. */
export const onlyFromOthers = selectValues<string, [values: { digests: string; origin: number | null }]>(
  `SELECT o.sha256 FROM json_each($digests) j CROSS JOIN peer_objects o ON o.sha256 = j.value
   WHERE o.origin IS NOT $origin AND (o.origin <> ${VISITORS} OR $origin IS NULL)`,
);
const forgetOrigin = change<[sha256: string]>('DELETE FROM peer_objects WHERE sha256 = ?');
const setSeveral = change<[sha256: string]>(`UPDATE peer_objects SET origin = ${VISITORS} WHERE sha256 = ?`);
/** Records that an object is not only from one peer, because somebody else sent it: the owner, or by an origin another one. */
export function alsoFrom(database: WriteDatabase, sha256: string, origin: number | undefined): void {
  if (origin === undefined) forgetOrigin(database, sha256);
  else setSeveral(database, sha256);
}

export const insertPeerStudy = change<[values: { id: string; origin: number }]>(
  'INSERT INTO peer_studies (id, origin) VALUES ($id, $origin) ON CONFLICT DO NOTHING',
);
export const isStudyFrom = hasRow<[values: { id: string; origin: number }]>(
  'SELECT 1 FROM peer_studies WHERE id = $id AND origin = $origin',
);

/** Records that this archive withholds something because of the word of a peer. */
export const insertPeerWord = change<[values: { withholding: number; origin: number }]>(
  'INSERT INTO peer_words (withholding, origin) VALUES ($withholding, $origin) ON CONFLICT DO NOTHING',
);
/** Takes out of such a withholding what did not come from the peer alone: its word hides nothing else. */
export const coverOnlyTheirs = change<[values: { withholding: number; origin: number }]>(
  `DELETE FROM withheld_objects WHERE withholding = $withholding AND NOT EXISTS (SELECT 1 FROM peer_objects p
   WHERE p.sha256 = withheld_objects.sha256 AND p.origin = $origin)`,
);
/** Makes a withholding the owner's own. */
export const deletePeerWord = change<[withholding: number]>('DELETE FROM peer_words WHERE withholding = ?');
export const isPeerWord = hasRow<[withholding: number]>('SELECT 1 FROM peer_words WHERE withholding = ?');

/** Returns those of these digests that are withheld here because of the word of another peer. */
export const withheldByOthers = selectValues<string, [values: { digests: string; origin: number | null }]>(
  `SELECT DISTINCT o.sha256 FROM json_each($digests) j CROSS JOIN withheld_objects o ON o.sha256 = j.value
   JOIN peer_words w ON w.withholding = o.withholding WHERE w.origin IS NOT $origin`,
);

/** Records that the bytes of an object came from somewhere else than from the peer because of which it is withheld. */
export const cameFromElsewhere = change<[values: { sha256: string }]>(
  `INSERT INTO objects_from_elsewhere SELECT $sha256
   WHERE EXISTS (SELECT 1 FROM withheld_objects o JOIN peer_words w ON w.withholding = o.withholding
     WHERE o.sha256 = $sha256) ON CONFLICT DO NOTHING`,
);
/**
 * The same of files that are withheld with their parts, or parts with their file, since a set is known or the bytes are here.
 * The word of a peer on the one is no word on the other, unless that came from the peer alone, too.
 *
 * @param digests as JSON
 */
export const joinedFromElsewhere = change<[values: { digests: string }]>(
  `INSERT INTO objects_from_elsewhere SELECT DISTINCT o.sha256
   FROM json_each($digests) j CROSS JOIN withheld_objects o ON o.sha256 = j.value
   JOIN peer_words w ON w.withholding = o.withholding
   WHERE EXISTS (SELECT 1 FROM joined_files f WHERE j.value IN (f.sha256, f.part) AND f.ties <> 'none')
     AND NOT EXISTS (SELECT 1 FROM peer_objects p WHERE p.sha256 = o.sha256 AND p.origin = w.origin)
   ON CONFLICT DO NOTHING`,
);
/** The same of bytes that a peer gave: what its own ledger withholds does not end with them. */
export const cameFromPeer = change<[values: { sha256: string; peer: string }]>(
  `INSERT INTO objects_from_elsewhere SELECT $sha256
   WHERE EXISTS (SELECT 1 FROM withheld_objects o JOIN peer_words w ON w.withholding = o.withholding
     WHERE o.sha256 = $sha256 AND NOT EXISTS (SELECT 1 FROM peer_withholdings p
       WHERE p.withholding = w.withholding AND p.peer = $peer)) ON CONFLICT DO NOTHING`,
);
/** Forgets it, once the word of the peer has ended for the object. */
export const settleFromElsewhere = change<[sha256: string]>(
  'DELETE FROM objects_from_elsewhere WHERE sha256 = ?',
);
export const fromElsewhere = selectValues<string>('SELECT sha256 FROM objects_from_elsewhere LIMIT 1000');

/** Returns the withholdings because of peers that cover one of these digests. */
export const wordsCovering = selectAll<
  { withholding: number; origin: number },
  [values: { digests: string }]
>(
  `SELECT DISTINCT w.withholding, w.origin FROM json_each($digests) j
   CROSS JOIN withheld_objects o ON o.sha256 = j.value JOIN peer_words w ON w.withholding = o.withholding`,
);
/**
 * Returns what such a withholding covers, is here, and is still from the peer alone. Of a pack or a page, it is all whose
 * bytes did not come from elsewhere, but no pages that were drawn here.
 */
export const coveredStill = selectValues<
  string,
  [values: { withholding: number; origin: number; pack: string | null; page: string | null }]
>(
  `SELECT o.sha256 FROM withheld_objects o WHERE o.withholding = $withholding
   AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.sha256 = o.sha256)
   AND NOT EXISTS (SELECT 1 FROM objects_from_elsewhere e WHERE e.sha256 = o.sha256)
   AND (EXISTS (SELECT 1 FROM peer_objects p WHERE p.sha256 = o.sha256 AND p.origin = $origin)
     OR o.sha256 IN (SELECT f.sha256 FROM packs p JOIN pack_files f ON f.pack = p.ledger_entry WHERE p.id = $pack)
     OR o.sha256 IN (SELECT sha256 FROM retrievals WHERE part_of = $page)
     OR o.sha256 IN (SELECT r.sha256 FROM page_captures c JOIN retrievals r ON r.id = c.retrieval WHERE c.id = $page))`,
);

/** What a peer says of something that this archive has otherwise. */
export interface ProposalRow {
  number: number;
  peer: string;
  kind: 'withheld' | 'released' | 'shown';
  subject: string;
  /** The peer's ledger entry. */
  entry: number;
  sha256: string | null;
  pack: string | null;
  page: string | null;
  reason: WithheldReason;
  note: string | null;
  at: string;
  /** The withholding that is in force here because of it. */
  withholding: number | null;
  proposed_at: string;
  decision: 'take' | 'leave' | null;
}

const PROPOSAL = `number, peer, kind, subject, entry, sha256, pack, page, reason, note, at, withholding, proposed_at,
  decision`;

/** Proposes something, or again if the peer has a newer entry of it and it is not decided. */
export const putProposal = change<[row: Omit<ProposalRow, 'number' | 'decision'>]>(
  `INSERT INTO peer_proposals (peer, kind, subject, entry, sha256, pack, page, reason, note, at, withholding, proposed_at)
   VALUES ($peer, $kind, $subject, $entry, $sha256, $pack, $page, $reason, $note, $at, $withholding, $proposed_at)
   ON CONFLICT (peer, kind, subject) DO UPDATE SET entry = $entry, reason = $reason, note = $note, at = $at
   WHERE decision IS NULL`,
);
export const openProposals = selectAll<ProposalRow, [peer: string]>(
  `SELECT ${PROPOSAL} FROM peer_proposals WHERE peer = ? AND decision IS NULL ORDER BY number DESC`,
);
export const countOpenProposals = selectValue<number, [peer: string]>(
  'SELECT count(*) FROM peer_proposals WHERE peer = ? AND decision IS NULL',
  0,
);
export const proposalByNumber = selectOne<ProposalRow, [values: { peer: string; number: number }]>(
  `SELECT ${PROPOSAL} FROM peer_proposals WHERE peer = $peer AND number = $number`,
);
export const proposalOf = selectOne<
  ProposalRow,
  [values: { peer: string; kind: ProposalRow['kind']; subject: string }]
>(`SELECT ${PROPOSAL} FROM peer_proposals WHERE peer = $peer AND kind = $kind AND subject = $subject`);
/** The subject of the proposal of an object that a peer withholds with a pack or a page that is not here. */
export const subjectWithin = (subject: string, sha256: string): string => `${subject} ${sha256}`;
/** The subject of the peer's entry. */
export const subjectAround = (subject: string): string => subject.split(' ')[0] ?? '';
/** Returns the proposal about a subject of the peer's ledger, or those of the objects with it. */
export const proposalsWithin = selectAll<
  ProposalRow,
  [values: { peer: string; kind: ProposalRow['kind']; subject: string }]
>(
  `SELECT ${PROPOSAL} FROM peer_proposals WHERE peer = $peer AND kind = $kind
   AND (subject = $subject OR substr(subject, 1, length($subject) + 1) = $subject || ' ')`,
);
/** Returns the proposals to withhold that a peer made, decided or not. */
export const proposedWithholdings = selectAll<ProposalRow, [peer: string]>(
  `SELECT ${PROPOSAL} FROM peer_proposals WHERE peer = ? AND kind = 'withheld'`,
);
export const decideProposal = change<
  [values: { number: number; decision: 'take' | 'leave'; withholding: number | null }]
>('UPDATE peer_proposals SET decision = $decision, withholding = $withholding WHERE number = $number');
export const deleteProposal = change<[values: { peer: string; kind: ProposalRow['kind']; subject: string }]>(
  'DELETE FROM peer_proposals WHERE peer = $peer AND kind = $kind AND subject = $subject',
);

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
