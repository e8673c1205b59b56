import type { PeerState } from '../../../../shared/node/peer.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { change, insert, inserts, selectAll, selectOne, update, upsert } from '../engine/queries.ts';

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

export function updatePeer(
  database: WriteDatabase,
  peer: Omit<PeerRow, 'withheld_size' | 'observe_per_day'>,
): void {
  update(database, 'peers', { key: 'id', columns: PEER_STATE }, peer);
}

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

export function putMirror(database: WriteDatabase, mirror: PeerMirrorRow): void {
  const columns = 'follow, every_minutes, size, held, position, mirrored_at';
  upsert(database, 'peer_mirrors', { key: 'peer, kind, selection', columns }, mirror);
}

/** A recorded rewrite of a peer's ledger; `record` is what the ledger recorded. */
export interface PeerRewriteRow {
  ledger_entry: number;
  record: unknown;
}

export function insertPeerRewrite(database: WriteDatabase, { ledger_entry, record }: PeerRewriteRow): void {
  insert(database, 'peer_rewrites', 'ledger_entry, record', { ledger_entry, record: JSON.stringify(record) });
}

/** Returns all recorded rewrites, in ledger order. There are very few. */
export const allPeerRewrites = selectAll<{ ledger_entry: number; record: string }, [], PeerRewriteRow>(
  'SELECT ledger_entry, record FROM peer_rewrites ORDER BY ledger_entry',
  ({ ledger_entry, record }) => ({ ledger_entry, record: JSON.parse(record) as unknown }),
);

/** Keeps from where a pack, or its deposit, was mirrored; `ledger_entry` is its entry here. */
export function insertProvenance(database: WriteDatabase, ledger_entry: number, record: unknown): void {
  const row = { ledger_entry, record: JSON.stringify(record) };
  insert(database, 'pack_provenance', 'ledger_entry, record', row);
}

/** Returns from where the pack, or the deposit, of a ledger entry was mirrored, or undefined. */
export const provenanceOf = selectOne<{ record: string }, [ledger_entry: number], unknown>(
  'SELECT record FROM pack_provenance WHERE ledger_entry = ?',
  ({ record }) => JSON.parse(record) as unknown,
);
