import type { ReleasedReason } from '../../../../shared/node/withheld.ts';
import {
  change,
  hasRow,
  inserts,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
} from '../engine/queries.ts';

/** A withholding, or a release, of a peer that this archive follows. */
export interface PeerWithholding {
  peer: string;
  /** The subject of the peer's ledger entry. */
  subject: string;
  kind: 'withheld' | 'released';
  /** The peer's ledger entry. */
  entry: number;
  /** The entry `object.withheld` of this archive. */
  withholding: number;
}

const COLUMNS = 'peer, subject, kind, entry, withholding';

export const insertPeerWithholding = inserts<PeerWithholding>('peer_withholdings', COLUMNS);
export const peerWithholding = selectOne<
  PeerWithholding,
  [values: Pick<PeerWithholding, 'peer' | 'kind' | 'subject'>]
>(`SELECT ${COLUMNS} FROM peer_withholdings WHERE peer = $peer AND kind = $kind AND subject = $subject`);
export const deletePeerWithholding = change<[values: Pick<PeerWithholding, 'peer' | 'kind' | 'subject'>]>(
  'DELETE FROM peer_withholdings WHERE peer = $peer AND kind = $kind AND subject = $subject',
);
export const peerWithholdings = selectAll<PeerWithholding, [peer: string]>(
  `SELECT ${COLUMNS} FROM peer_withholdings WHERE peer = ? AND kind = 'withheld'`,
);

export const countPeerWithholdings = selectValue<number, [values: Pick<PeerWithholding, 'peer' | 'kind'>]>(
  'SELECT count(*) FROM peer_withholdings WHERE peer = $peer AND kind = $kind',
  0,
);

/** The size of a peer's ledger up to which its withholdings were followed. */
export const followedSize = selectValue<number, [peer: string]>(
  'SELECT withheld_size FROM peers WHERE id = ?',
  0,
);
export const setFollowedSize = change<[values: { peer: string; size: number }]>(
  'UPDATE peers SET withheld_size = $size WHERE id = $peer',
);

/** An object of a mirrored record whose bytes are not here, because the peer did not give them. */
export interface AbsentObject {
  sha256: string;
  /** The name of the peer. */
  peer: string;
  /** What the peer did with the bytes, why, and since when. */
  state: 'withheld' | 'released';
  reason: ReleasedReason;
  since: string;
}

/** The condition that the bytes of a digest never came from a peer. @param digest an SQL expression */
export const isAbsentSql = (digest: string) =>
  `EXISTS (SELECT 1 FROM absent_objects WHERE absent_objects.sha256 = ${digest})`;

const ABSENT = 'sha256, peer, state, reason, since';

export const insertAbsent = inserts<AbsentObject>('absent_objects', ABSENT);
export const absentObject = selectOne<AbsentObject, [sha256: string]>(
  `SELECT ${ABSENT} FROM absent_objects WHERE sha256 = ?`,
);
export const isAbsent = hasRow<[sha256: string]>('SELECT 1 FROM absent_objects WHERE sha256 = ?');

/** Returns objects that a peer did not give, after a digest, in order. */
export const absentFrom = selectAll<AbsentObject, [values: { peer: string; after: string; limit: number }]>(
  `SELECT ${ABSENT} FROM absent_objects WHERE peer = $peer AND sha256 > $after ORDER BY sha256 LIMIT $limit`,
);

/** Records that the bytes of an object are here now. */
export const deleteAbsent = change<[sha256: string]>('DELETE FROM absent_objects WHERE sha256 = ?');

/** Returns those of these digests whose bytes never came. */
export const absentAmong = selectValues<string, [digests: readonly string[]]>(
  'SELECT a.sha256 FROM json_each(?) j CROSS JOIN absent_objects a ON a.sha256 = j.value',
);
