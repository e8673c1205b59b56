import { createPublicKey, verify } from 'node:crypto';
import { z } from 'zod';
import { consistencyProofSchema, keyChangeSchema, renewalText } from '../../shared/ledger/ledger.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';
import { isConsistent } from '../ledger/prove.ts';
import type { PeerRow } from '../store/sqlite/node/peers.ts';
import { listOf, type PeerClient, PeerError } from './peerClient.ts';

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
export type Contact =
  | { state: 'ok'; checkpoint: PeerCheckpoint }
  | { state: 'rewritten'; kept: string; seen: string; key: string }
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
 * of its ledger (RFC 6962, section 2.1.2). A peer that renewed its key is followed if the old key signed the new one.
 *
 * @throws PeerError if the peer does not answer as a node does
 */
export async function contactPeer(client: PeerClient, peer: PeerRow): Promise<Contact> {
  const kept = open(peer.checkpoint, peer.key);
  const note = await client.text('/api/ledger/checkpoint', MAX_NOTE_BYTES);
  const key = await followKey(client, note, peer.key);
  if (key === undefined)
    return {
      state: 'key_changed',
      message: `${peer.name} has a new key that the pinned key has not signed. Ask its owner. To continue with the new key, remove the peer and add it again.`,
    };
  const checkpoint = open(note, key);
  if (await isPrefix(client, kept, checkpoint)) return { state: 'ok', checkpoint };
  return { state: 'rewritten', kept: kept.note, seen: note, key };
}

/** A ledger never gets shorter: a node does not open a database that is behind what it signed. */
async function isPrefix(client: PeerClient, kept: Checkpoint, newer: Checkpoint): Promise<boolean> {
  if (kept.size >= newer.size) return kept.size === newer.size && kept.root.equals(newer.root);
  if (kept.size === 0) return true;
  const path = `/api/ledger/consistency?from=${kept.size}&to=${newer.size}`;
  const { hashes } = await client.json(path, consistencyProofSchema, MAX_PROOF_BYTES);
  return isConsistent(
    kept,
    newer,
    hashes.map((hash) => Buffer.from(hash, 'base64')),
  );
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
    if (!isRenewalSigned(change.old_key, change.new_key, change.signature)) continue;
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

/** The bytes before a raw Ed25519 public key in SPKI (RFC 8410, section 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

function isRenewalSigned(oldKey: string, newKey: string, signature: string): boolean {
  const raw = Buffer.from(oldKey.split(/\+/).slice(2).join('+'), 'base64').subarray(1);
  if (raw.length !== 32) return false;
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
  return verify(null, Buffer.from(renewalText(oldKey, newKey)), key, Buffer.from(signature, 'base64'));
}

/** @throws PeerError in place of a CheckpointError */
export function asPeerError(error: unknown): unknown {
  return error instanceof CheckpointError ? new PeerError('failing', error.message, { cause: error }) : error;
}
