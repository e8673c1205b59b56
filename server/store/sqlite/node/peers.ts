import type { RecordedObservation } from '../../../../shared/node/observation.ts';
import type { PeerState } from '../../../../shared/node/peer.ts';
import type { ReleasedReason } from '../../../../shared/node/withheld.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  hasRow,
  inserts,
  selectAll,
  selectEach,
  selectOne,
  selectValue,
  selectValues,
  updates,
  upserts,
} from '../engine/queries.ts';

/** A peer, as the database knows it. */
export interface PeerRow {
  id: string;
  url: string;
  name: string;
  key: string;
  pinned_at: string;
  state: Exclude<PeerState, 'certificate_changed'>;
  last_contact_at: string | null;
  last_error: string | null;
  checkpoint: string;
  /** The pinned certificate; null if the address is not https. */
  tls_fingerprint: string | null;
  /** Another certificate that it showed at the last contact. */
  tls_seen: string | null;
  /** The size of its ledger up to which its withholdings were followed. */
  withheld_size: number;
  /** How many addresses this node fetches for it in a day; 0 for none. */
  observe_per_day: number;
}

/** One mirror of a peer: what was asked for, and how far it was taken. */
export interface PeerMirrorRow {
  peer: string;
  kind: 'packs' | 'sources';
  /** Canonical JSON. */
  selection: string;
  follow: 0 | 1;
  every_minutes: number | null;
  /** Everything that the peer's ledger had at this size was examined and is held. */
  size: number;
  /** The number of records of the selection that are held. */
  held: number;
  /** The last retrieval of the peer that was examined; 0 for packs. */
  position: number;
  mirrored_at: string | null;
}

const PEER_STATE = `url, name, key, pinned_at, state, last_contact_at, last_error, checkpoint, tls_fingerprint,
  tls_seen`;

export const insertPeer = inserts<Omit<PeerRow, 'withheld_size' | 'observe_per_day'>>(
  'peers',
  `id, ${PEER_STATE}`,
);

export const updatePeer = updates<Omit<PeerRow, 'withheld_size' | 'observe_per_day'>>('peers', {
  key: 'id',
  columns: PEER_STATE,
});

export const deletePeer = change<[id: string]>('DELETE FROM peers WHERE id = ?');

/** Returns all peers, in the order in which they were pinned. */
export const allPeers = selectAll<PeerRow>('SELECT * FROM peers ORDER BY pinned_at, id');

export const peerById = selectOne<PeerRow, [id: string]>('SELECT * FROM peers WHERE id = ?');

/** Returns the certificate that is pinned for the peer with the origin of an address, or undefined. */
export function pinnedCertificate(database: ReadDatabase, address: string): string | undefined {
  const { origin } = new URL(address);
  return allPeers(database).find(({ url }) => new URL(url).origin === origin)?.tls_fingerprint ?? undefined;
}

export const mirrorsOf = selectAll<PeerMirrorRow, [peer: string]>(
  'SELECT * FROM peer_mirrors WHERE peer = ? ORDER BY kind, selection',
);

export const putMirror = upserts<PeerMirrorRow>('peer_mirrors', {
  key: 'peer, kind, selection',
  columns: 'follow, every_minutes, size, held, position, mirrored_at',
});

/** A recorded rewrite of a peer's ledger; `record` is what the ledger recorded. */
interface PeerRewriteRow {
  ledger_entry: number;
  record: unknown;
}

export function insertPeerRewrite(database: WriteDatabase, { ledger_entry, record }: PeerRewriteRow): void {
  insertRewrite(database, { ledger_entry, record: JSON.stringify(record) });
}

/** What the ledger recorded with an entry, as JSON. */
interface StoredRecord {
  ledger_entry: number;
  record: string;
}

const insertRewrite = inserts<StoredRecord>('peer_rewrites', 'ledger_entry, record');

/** Returns all recorded rewrites, in ledger order. There are very few. */
export const allPeerRewrites = selectAll<StoredRecord, [], PeerRewriteRow>(
  'SELECT ledger_entry, record FROM peer_rewrites ORDER BY ledger_entry',
  ({ ledger_entry, record }) => ({ ledger_entry, record: JSON.parse(record) as unknown }),
);

/** Keeps from where a pack, or its deposit, was mirrored; `ledger_entry` is its entry here. */
export function insertProvenance(database: WriteDatabase, ledger_entry: number, record: unknown): void {
  insertOrigin(database, { ledger_entry, record: JSON.stringify(record) });
}

const insertOrigin = inserts<StoredRecord>('pack_provenance', 'ledger_entry, record');

/** Returns from where the pack, or the deposit, of a ledger entry was mirrored, or undefined. */
export const provenanceOf = selectOne<{ record: string }, [ledger_entry: number], unknown>(
  'SELECT record FROM pack_provenance WHERE ledger_entry = ?',
  ({ record }) => JSON.parse(record) as unknown,
);

/** A withholding, or a release, of a peer that this archive follows. */
export interface PeerWithholding {
  peer: string;
  /** The subject of the peer's ledger entry; of an object that only a list of the peer names, with its digest (`subjectWithin`). */
  subject: string;
  kind: 'withheld' | 'released';
  /** The peer's ledger entry. */
  entry: number;
  /** The entry `object.withheld` of this archive. */
  withholding: number;
}

const COLUMNS = 'peer, subject, kind, entry, withholding';

export const insertPeerWithholding = inserts<PeerWithholding>('peer_withholdings', COLUMNS);
/** Returns what this archive withholds because of what a peer says of one subject: the whole, or the objects that came from it. */
export const withholdingsFor = selectAll<
  PeerWithholding,
  [values: Pick<PeerWithholding, 'peer' | 'kind' | 'subject'>]
>(`SELECT ${COLUMNS} FROM peer_withholdings WHERE peer = $peer AND kind = $kind AND subject = $subject`);
/** The same, with the objects that only a list of the peer names with the subject (`subjectWithin`). */
export const withholdingsWithin = selectAll<
  PeerWithholding,
  [values: Pick<PeerWithholding, 'peer' | 'kind' | 'subject'>]
>(
  `SELECT ${COLUMNS} FROM peer_withholdings WHERE peer = $peer AND kind = $kind
   AND (subject = $subject OR substr(subject, 1, length($subject) + 1) = $subject || ' ')`,
);
export const deletePeerWithholding = change<[values: Pick<PeerWithholding, 'peer' | 'kind' | 'subject'>]>(
  'DELETE FROM peer_withholdings WHERE peer = $peer AND kind = $kind AND subject = $subject',
);
/** Returns the peers because of which a withholding is in force. */
export const peersOfWithholding = selectAll<PeerWithholding, [withholding: number]>(
  `SELECT ${COLUMNS} FROM peer_withholdings WHERE withholding = ?`,
);
export const forgetPeerWithholding = change<[withholding: number]>(
  'DELETE FROM peer_withholdings WHERE withholding = ?',
);
export const peerWithholdings = selectAll<PeerWithholding, [peer: string]>(
  `SELECT ${COLUMNS} FROM peer_withholdings WHERE peer = ? AND kind = 'withheld'`,
);

export const countPeerWithholdings = selectValue<number, [values: Pick<PeerWithholding, 'peer' | 'kind'>]>(
  'SELECT count(DISTINCT subject) FROM peer_withholdings WHERE peer = $peer AND kind = $kind',
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
interface AbsentObject {
  sha256: string;
  /** The name of the peer: that of its ledger, or what this archive called it when the object was noted. */
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
  `SELECT ${ABSENT} FROM absent_objects WHERE sha256 = ? ORDER BY since, peer LIMIT 1`,
);
/** Returns whether a peer with one of two names did not give an object. Others may give it. */
export const isRefusedBy = hasRow<[values: { sha256: string; origin: string; name: string }]>(
  'SELECT 1 FROM absent_objects WHERE sha256 = $sha256 AND peer IN ($origin, $name)',
);
export const isAbsent = hasRow<[sha256: string]>('SELECT 1 FROM absent_objects WHERE sha256 = ?');

/** Returns objects that a peer with one of two names did not give, after a digest, in order. */
export const absentFrom = selectAll<
  AbsentObject,
  [values: { origin: string; name: string; after: string; limit: number }]
>(
  `SELECT ${ABSENT} FROM absent_objects WHERE peer IN ($origin, $name) AND sha256 > $after
  ORDER BY sha256 LIMIT $limit`,
);

/** Records that the bytes of an object are here now. */
export const deleteAbsent = change<[sha256: string]>('DELETE FROM absent_objects WHERE sha256 = ?');

/** Returns those of these digests whose bytes never came. */
export const absentAmong = selectValues<string, [digests: readonly string[]]>(
  'SELECT DISTINCT a.sha256 FROM json_each(?) j CROSS JOIN absent_objects a ON a.sha256 = j.value',
);

/** A signed observation; `record` is what the ledger recorded. */
interface ObservationRow {
  ledger_entry: number;
  record: RecordedObservation;
}

function parseRow({ ledger_entry, record }: StoredRecord): ObservationRow {
  return { ledger_entry, record: JSON.parse(record) as RecordedObservation };
}

export function insertObservation(database: WriteDatabase, { ledger_entry, record }: ObservationRow): void {
  insertSigned(database, { ledger_entry, record: JSON.stringify(record) });
}

const insertSigned = inserts<StoredRecord>('signed_observations', 'ledger_entry, record');

/** Iterates over all signed observations, in ledger order. */
export const iterateObservations = selectEach<StoredRecord>(
  'SELECT ledger_entry, record FROM signed_observations ORDER BY ledger_entry',
);

/** Returns what peers signed of an event, in the order in which it was recorded. */
export const observationsOfEvent = selectAll<StoredRecord, [event: number], ObservationRow>(
  `SELECT ledger_entry, record FROM signed_observations WHERE json_extract(record, '$.event') = ?
   ORDER BY ledger_entry`,
  parseRow,
);

/** Whether this node answered a request with this nonce. */
export const wasAnswered = hasRow<[nonce: string]>(
  `SELECT 1 FROM signed_observations
   WHERE json_extract(record, '$.nonce') = ? AND json_extract(record, '$.role') = 'answered'`,
);

/** Counts what this node signed for a key from an instant on. */
export const countAnswered = selectValue<number, [key: string, since: string]>(
  `SELECT count(*) FROM signed_observations WHERE json_extract(record, '$.role') = 'answered'
   AND json_extract(record, '$.peer.key') = ? AND json_extract(record, '$.at') >= ?`,
  0,
);

/** A peer that is asked when a source changes, and how the last request ended. */
interface SourceObserverRow {
  peer: string;
  asked_at: string | null;
  error: string | null;
}

export const observersOfSource = selectAll<SourceObserverRow, [source_key: number]>(
  'SELECT peer, asked_at, error FROM source_observers WHERE source_key = ? ORDER BY peer',
);

/** Sets the peers that are asked when a source changes. Those that stay keep how their last request ended. */
export function setObservers(database: WriteDatabase, source_key: number, peers: readonly string[]): void {
  deleteOthers(database, source_key, peers);
  for (const peer of peers) insertObserver(database, source_key, peer);
}

const deleteOthers = change<[source_key: number, peers: readonly string[]]>(
  'DELETE FROM source_observers WHERE source_key = ? AND peer NOT IN (SELECT value FROM json_each(?))',
);
const insertObserver = change<[source_key: number, peer: string]>(
  'INSERT INTO source_observers (source_key, peer) VALUES (?, ?) ON CONFLICT DO NOTHING',
);

/** Keeps how a request to a peer ended. One that is no longer asked has no row. */
export const setObserverOutcome = change<
  [outcome: { source_key: number; peer: string; asked_at: string; error: string | null }]
>(
  'UPDATE source_observers SET asked_at = $asked_at, error = $error WHERE source_key = $source_key AND peer = $peer',
);

/** Sets how many addresses this node fetches for a peer in a day. */
export const setObservePerDay = change<[values: { id: string; observe_per_day: number }]>(
  'UPDATE peers SET observe_per_day = $observe_per_day WHERE id = $id',
);
