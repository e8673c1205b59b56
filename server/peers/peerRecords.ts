import { type PackProvenance, type Peer, packProvenanceSchema } from '../../shared/node/peer.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { requirePack } from '../archive/packs/readPack.ts';
import { recordPeerRewrite } from '../ledger/peerRewrites.ts';
import type { Log } from '../runtime/log.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  countPeerWithholdings,
  mirrorsOf,
  type PeerRow,
  peerById,
  provenanceOf,
  updatePeer,
} from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import { asPeerError, type Contact, contactPeer, type PeerCheckpoint } from './peerCheckpoint.ts';
import { CertificateError, type PeerClient, PeerError } from './peerClient.ts';
import { isAsked, isCosigned } from './witnessing.ts';

/** @throws Problem `not_found` */
export function requirePeer(database: ReadDatabase, id: string): PeerRow {
  const row = peerById(database, id);
  if (!row) throw new Problem('not_found', `There is no peer ${id}.`);
  return row;
}

export function asPeer(database: ReadDatabase, settings: Settings, row: PeerRow): Peer {
  const mirrors = mirrorsOf(database, row.id);
  const times = mirrors.flatMap(({ mirrored_at }) => mirrored_at ?? []).sort();
  const { tls_seen, state, withheld_size: _, ...peer } = row;
  return {
    ...peer,
    state: tls_seen === null || state === 'rewritten' ? state : 'certificate_changed',
    tls_fingerprint_seen: tls_seen,
    follow: mirrors.some(({ follow }) => follow === 1),
    mirrored_at: times.at(-1) ?? null,
    follows_withheld: {
      withheld: countPeerWithholdings(database, { peer: row.id, kind: 'withheld' }),
      released: countPeerWithholdings(database, { peer: row.id, kind: 'released' }),
    },
    cosign: isCosigned(database, row.key),
    ask_to_cosign: isAsked(settings, row.url),
  };
}

/** Records that a peer showed another certificate than the pinned one. */
export async function recordCertificate(
  store: Pick<Store, 'write'>,
  id: string,
  { seen, message }: CertificateError,
): Promise<void> {
  await store.write((database) => change(database, id, { tls_seen: seen, last_error: message }));
}

/**
 * Contacts a peer and records what was found: its newest checkpoint, why it failed, or that it rewrote its ledger. A peer
 * that did is not contacted again.
 *
 * @throws Problem `peer_failed`, `peer_rewritten`, `key_mismatch`
 */
export async function verifyPeer(
  { store, log }: { store: Store; log: Log },
  client: PeerClient,
  id: string,
): Promise<PeerCheckpoint> {
  const peer = requirePeer(store.read, id);
  if (peer.state === 'rewritten') throw rewritten(peer.name);
  let contact: Contact;
  try {
    contact = await contactPeer(client, peer);
  } catch (thrown) {
    const error = asPeerError(thrown);
    if (!(error instanceof PeerError) || error instanceof CertificateError) throw error;
    const state = error.kind === 'failing' ? 'failing' : 'unreachable';
    await store.write((database) =>
      change(database, id, { state, last_error: error.message, tls_seen: null }),
    );
    throw peerFailed(error);
  }
  const at = store.instant();
  if (contact.state === 'key_changed') {
    const { message } = contact;
    await store.write((database) =>
      change(database, id, { state: 'key_changed', last_error: message, tls_seen: null }),
    );
    throw new Problem('key_mismatch', message);
  }
  if (contact.state === 'rewritten') {
    const { kept, seen, key: seen_key } = contact;
    const { name, key } = peer;
    await store.write((database) => {
      recordPeerRewrite(database, { at, peer: id, name, key, seen_key, kept, seen });
      change(database, id, {
        state: 'rewritten',
        last_contact_at: at,
        last_error: REWRITTEN,
        tls_seen: null,
      });
    });
    log.error({ peer: name }, 'A peer rewrote its ledger. Nothing more is mirrored from it.');
    throw rewritten(name);
  }
  const { key, note } = contact.checkpoint;
  const renewed = key === peer.key ? {} : { key, pinned_at: at };
  await store.write((database) =>
    change(database, id, {
      state: 'ok',
      last_contact_at: at,
      last_error: null,
      tls_seen: null,
      checkpoint: note,
      ...renewed,
    }),
  );
  return contact.checkpoint;
}

/** The owner may have removed the peer meanwhile. */
function change(database: WriteDatabase, id: string, changes: Partial<PeerRow>): void {
  const row = peerById(database, id);
  if (row) updatePeer(database, { ...row, ...changes });
}

const REWRITTEN =
  'Its ledger does not continue the one that it signed before. Nothing more is mirrored from it. Both checkpoints are kept as evidence.';

function rewritten(name: string): Problem {
  return new Problem('peer_rewritten', `${name}: ${REWRITTEN}`);
}

export function peerFailed(error: PeerError): Problem {
  return new Problem('peer_failed', error.message, { cause: error });
}

/**
 * Returns from which peer a pack was mirrored; undefined if it was uploaded to this node.
 *
 * @throws Problem `not_found`
 */
export function readProvenance({ read }: Pick<Store, 'read'>, id: string): PackProvenance | undefined {
  const record = provenanceOf(read, requirePack(read, id).ledger_entry);
  return record === undefined ? undefined : packProvenanceSchema.parse(record);
}
