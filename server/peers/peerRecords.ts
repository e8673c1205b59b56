import { z } from 'zod';
import { consistencyProofSchema, keyChangeSchema } from '../../shared/ledger/ledger.ts';
import {
  type PackProvenance,
  type Peer,
  packProvenanceSchema,
  type RewriteProof,
  rewriteProofSchema,
} from '../../shared/node/peer.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { requirePack } from '../archive/packs/readPack.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';
import { isSignedRenewal } from '../ledger/nodeKey.ts';
import { provesRewrite, recordPeerRewrite } from '../ledger/peerEvidence.ts';
import { isConsistent } from '../ledger/prove.ts';
import type { Log } from '../runtime/log.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { countOpenProposals, renewOrigin } from '../store/sqlite/node/peerOrigins.ts';
import {
  countPeerWithholdings,
  mirrorsOf,
  type PeerRow,
  peerById,
  provenanceOf,
  updatePeer,
} from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import { CertificateError, listOf, type PeerClient, PeerError } from './peerClient.ts';
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
    proposals: countOpenProposals(database, row.id),
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
    const { kept, seen, key: seen_key, proof } = contact;
    const { name, key } = peer;
    await store.write((database) => {
      recordPeerRewrite(database, { at, peer: id, name, key, seen_key, kept, seen, ...(proof && { proof }) });
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
  await store.write((database) => {
    if (key !== peer.key) renewOrigin(database, { before: peer.key, after: key });
    change(database, id, {
      state: 'ok',
      last_contact_at: at,
      last_error: null,
      tls_seen: null,
      checkpoint: note,
      ...renewed,
    });
  });
  return contact.checkpoint;
}

/** The owner may have removed the peer meanwhile. */
function change(database: WriteDatabase, id: string, changes: Partial<PeerRow>): void {
  const row = peerById(database, id);
  if (row) updatePeer(database, { ...row, ...changes });
}

const REWRITTEN =
  'Its ledger does not continue the one that it signed before. Nothing more is mirrored from it. Both checkpoints are kept as evidence.';

const SHORTER =
  'Its ledger is shorter than the one that this node has verified. The checkpoint may have been replayed by somebody on the network. The next contact tries again.';
const UNPROVEN =
  'It did not prove that its ledger continues the one that it signed before. Somebody on the network may have altered the proof. The next contact tries again.';

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

/** Limits for responses, in bytes. A note with many cosignatures has some kilobytes. */
const MAX_NOTE_BYTES = 65_536;
const MAX_PROOF_BYTES = 65_536;
const MAX_KEYS_BYTES = 1_048_576;
const MAX_RENEWALS = 100;

/** A checkpoint that was verified with a peer's key. */
export interface PeerCheckpoint extends Checkpoint {
  note: string;
  /** The key that signed it: the pinned one, or one that the pinned key has signed. */
  key: string;
}

/** What a contact with a peer found. */
type Contact =
  | { state: 'ok'; checkpoint: PeerCheckpoint }
  | { state: 'rewritten'; kept: string; seen: string; key: string; proof: RewriteProof | undefined }
  | { state: 'key_changed'; message: string };

/** Reads the verifier key that a node shows. @throws PeerError */
export async function readPeerKey(client: PeerClient): Promise<string> {
  return (await client.text('/api/ledger/key', MAX_NOTE_BYTES)).trim();
}

/** Reads the checkpoint of a node and verifies it with a key. @throws PeerError; CheckpointError */
export async function readPeerCheckpoint(client: PeerClient, key: string): Promise<PeerCheckpoint> {
  return open(await client.text('/api/ledger/checkpoint', MAX_NOTE_BYTES), key);
}

function open(note: string, key: string): PeerCheckpoint {
  const checkpoint = openCheckpoint(note, key);
  if (checkpoint.origin !== key.split('+', 1)[0])
    throw new CheckpointError('The checkpoint and the key belong to different logs.');
  return { ...checkpoint, note, key };
}

/**
 * Reads the checkpoint of a peer, verifies it with the pinned key and proves that the ledger of the one kept is a prefix
 * of its ledger (RFC 6962, section 2.1.2). A peer that renewed its key is followed if the old key signed the new one. An attacker
 * on the network can replay a checkpoint and alter a proof, so `rewritten` needs the evidence of `provesRewrite`.
 *
 * @throws PeerError if the peer does not answer as a node does, or its proof is invalid
 */
async function contactPeer(client: PeerClient, peer: PeerRow): Promise<Contact> {
  const kept = open(peer.checkpoint, peer.key);
  const note = await client.text('/api/ledger/checkpoint', MAX_NOTE_BYTES);
  const key = await followKey(client, note, peer.key);
  if (key === undefined)
    return {
      state: 'key_changed',
      message: `${peer.name} has a new key that the pinned key has not signed. Ask its owner. To continue with the new key, remove the peer and add it again.`,
    };
  const checkpoint = open(note, key);
  const proof = await proofBetween(client, kept, checkpoint);
  const hashes = (proof?.hashes ?? []).map((hash) => Buffer.from(hash, 'base64'));
  if (isConsistent(kept, checkpoint, hashes)) return { state: 'ok', checkpoint };
  if (!provesRewrite(kept, checkpoint, proof)) throw new PeerError('failing', UNPROVEN);
  return { state: 'rewritten', kept: kept.note, seen: note, key, proof };
}

/** Returns the proof that leads from the checkpoint kept to a larger one; none is needed between two of one size. */
async function proofBetween(
  client: PeerClient,
  kept: Checkpoint,
  newer: Checkpoint,
): Promise<RewriteProof | undefined> {
  if (newer.size < kept.size) throw new PeerError('failing', SHORTER);
  if (kept.size === 0 || kept.size === newer.size) return undefined;
  const path = `/api/ledger/consistency?from=${kept.size}&to=${newer.size}`;
  const { from_root, hashes } = await client.json(path, consistencyProofSchema, MAX_PROOF_BYTES);
  const proof = rewriteProofSchema.safeParse({ from_root, hashes });
  if (!proof.success) throw new PeerError('failing', UNPROVEN);
  return proof.data;
}

const keyPage = z.object({ items: listOf(keyChangeSchema, MAX_RENEWALS) });

/** Returns the key that signed a note: the pinned one, or the last of a chain of renewals that begins with it. */
async function followKey(client: PeerClient, note: string, pinned: string): Promise<string | undefined> {
  if (isSignedBy(note, pinned)) return pinned;
  const { items } = await client.json(`/api/ledger/keys?limit=${MAX_RENEWALS}`, keyPage, MAX_KEYS_BYTES);
  const changes = items.toReversed();
  let key = pinned;
  for (const change of changes) {
    if (change.type !== 'key.renewed' || change.old_key !== key || change.signature === null) continue;
    if (!isSignedRenewal(change.old_key, change.new_key, change.signature)) continue;
    key = change.new_key;
  }
  return key !== pinned && isSignedBy(note, key) ? key : undefined;
}

function isSignedBy(note: string, key: string): boolean {
  try {
    open(note, key);
    return true;
  } catch (error) {
    if (error instanceof CheckpointError) return false;
    throw error;
  }
}

/** @throws PeerError in place of a CheckpointError */
function asPeerError(error: unknown): unknown {
  return error instanceof CheckpointError ? new PeerError('failing', error.message, { cause: error }) : error;
}
