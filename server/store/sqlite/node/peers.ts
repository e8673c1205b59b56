import type { PeerState } from '../../../../shared/node/peer.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

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

export function insertPeer(database: WriteDatabase, peer: PeerRow): void {
  statement(
    database,
    `INSERT INTO peers
     (id, url, name, key, pinned_at, state, last_contact_at, last_error, checkpoint, tls_fingerprint, tls_seen)
     VALUES (@id, @url, @name, @key, @pinned_at, @state, @last_contact_at, @last_error, @checkpoint, @tls_fingerprint,
     @tls_seen)`,
  ).run(peer);
}

export function updatePeer(database: WriteDatabase, peer: PeerRow): void {
  statement(
    database,
    `UPDATE peers SET url = @url, name = @name, key = @key, pinned_at = @pinned_at, state = @state,
     last_contact_at = @last_contact_at, last_error = @last_error, checkpoint = @checkpoint,
     tls_fingerprint = @tls_fingerprint, tls_seen = @tls_seen WHERE id = @id`,
  ).run(peer);
}

export function deletePeer(database: WriteDatabase, id: string): void {
  statement(database, 'DELETE FROM peers WHERE id = ?').run(id);
}

/** Returns all peers, in the order in which they were pinned. */
export function allPeers(database: ReadDatabase): PeerRow[] {
  return statement<PeerRow>(database, 'SELECT * FROM peers ORDER BY pinned_at, id').all();
}

export function peerById(database: ReadDatabase, id: string): PeerRow | undefined {
  return statement<PeerRow>(database, 'SELECT * FROM peers WHERE id = ?').get(id);
}

/** Returns the certificate that is pinned for the peer with the origin of an address, or undefined. */
export function pinnedCertificate(database: ReadDatabase, address: string): string | undefined {
  const { origin } = new URL(address);
  return allPeers(database).find(({ url }) => new URL(url).origin === origin)?.tls_fingerprint ?? undefined;
}

export function mirrorsOf(database: ReadDatabase, peer: string): PeerMirrorRow[] {
  return statement<PeerMirrorRow>(
    database,
    'SELECT * FROM peer_mirrors WHERE peer = ? ORDER BY kind, selection',
  ).all(peer);
}

export function putMirror(database: WriteDatabase, mirror: PeerMirrorRow): void {
  statement(
    database,
    `INSERT INTO peer_mirrors (peer, kind, selection, follow, every_minutes, size, held, position, mirrored_at)
     VALUES (@peer, @kind, @selection, @follow, @every_minutes, @size, @held, @position, @mirrored_at)
     ON CONFLICT DO UPDATE SET follow = @follow, every_minutes = @every_minutes, size = @size, held = @held,
     position = @position, mirrored_at = @mirrored_at`,
  ).run(mirror);
}

/** A recorded rewrite of a peer's ledger; `record` is what the ledger recorded. */
export interface PeerRewriteRow {
  ledger_entry: number;
  record: unknown;
}

export function insertPeerRewrite(database: WriteDatabase, { ledger_entry, record }: PeerRewriteRow): void {
  statement(database, 'INSERT INTO peer_rewrites (ledger_entry, record) VALUES (?, ?)').run(
    ledger_entry,
    JSON.stringify(record),
  );
}

/** Returns all recorded rewrites, in ledger order. There are very few. */
export function allPeerRewrites(database: ReadDatabase): PeerRewriteRow[] {
  return statement<{ ledger_entry: number; record: string }>(
    database,
    'SELECT ledger_entry, record FROM peer_rewrites ORDER BY ledger_entry',
  )
    .all()
    .map(({ ledger_entry, record }) => ({ ledger_entry, record: JSON.parse(record) as unknown }));
}

/** Keeps from where a pack was mirrored; `ledger_entry` is that of the pack here. */
export function insertProvenance(database: WriteDatabase, ledger_entry: number, record: unknown): void {
  statement(database, 'INSERT INTO pack_provenance (ledger_entry, record) VALUES (?, ?)').run(
    ledger_entry,
    JSON.stringify(record),
  );
}

/** Returns from where the pack of a ledger entry was mirrored, or undefined. */
export function provenanceOf(database: ReadDatabase, ledger_entry: number): unknown {
  const row = statement<{ record: string }>(
    database,
    'SELECT record FROM pack_provenance WHERE ledger_entry = ?',
  ).get(ledger_entry);
  return row === undefined ? undefined : (JSON.parse(row.record) as unknown);
}
