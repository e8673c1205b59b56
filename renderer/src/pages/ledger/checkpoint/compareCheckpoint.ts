import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import {
  type ConsistencyProof,
  type KeyChange,
  type LedgerEntry,
  type LedgerHead,
  withPlainLineEnds,
} from '../../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { fromBase64 } from '../../../../../shared/proof/crypto/bytes.ts';
import { noteCrypto } from '../../../../../shared/proof/crypto/noteCrypto.ts';
import {
  isSignedNote,
  noteBody,
  parseCheckpoint as parseBody,
  signatureState,
} from '../../../../../shared/proof/ledger/signedNote.ts';
import { isConsistent, rootFromPath } from '../../../../../shared/proof/ledger/tree.ts';
import { canonicalText } from '../../../../../shared/values/canonicalJson.ts';
import { call, readText } from '../../../api/client.ts';
import { formatCount } from '../../../format.ts';
import { hashOfParts } from '../chain.ts';

/** A difference between the checkpoint and the current ledger. */
interface CheckpointDifference {
  what: string;
  saved: string;
  now: string;
}

/** Who signed the checkpoint, according to the node's keys. */
export type Signer =
  | { is: 'current' }
  /** A key that the node had earlier, and the entry that replaced it. */
  | { is: 'former'; replacedBy: number }
  /** The signature of one of the node's keys does not match. */
  | { is: 'altered' }
  /** None of the node's keys has signed it. */
  | { is: 'unknown' };

export interface CheckpointComparison {
  signer: Signer;
  /** The key of the node that signed it; undefined if none did. */
  key: string | undefined;
  differences: CheckpointDifference[];
  /** Entries added since. */
  since: number;
  /** Whether the node's proof, verified here, shows that its ledger begins with the saved one. */
  proven: boolean;
  otherNode: boolean;
  /** The current head. */
  head: LedgerHead;
}

/** What the node says now. The proof exists only within the ledger. */
interface CurrentLedger {
  node: string;
  /** The verifier key. */
  key: string;
  keyChanges: readonly KeyChange[];
  head: LedgerHead;
  proof: Pick<ConsistencyProof, 'hashes'> | undefined;
}

/** Compares a checkpoint with the current ledger. Everything that can be recomputed here is. */
export function compareCheckpoint(saved: SavedCheckpoint, current: CurrentLedger): CheckpointComparison {
  const { head, proof } = current;
  const differences: CheckpointDifference[] = [];
  if (head.seq < saved.seq)
    differences.push({
      what: 'Number of entries',
      saved: formatCount(saved.seq),
      now: formatCount(head.seq),
    });
  if (head.seq === saved.seq && saved.root !== head.root)
    differences.push({ what: 'Root of all entries', saved: saved.root, now: head.root });
  const proven = proof !== undefined && provesConsistency(saved, head, proof);
  if (proof !== undefined && !proven && differences.length === 0) {
    differences.push({
      what: 'Proof that the current ledger begins with the saved one',
      saved: saved.root,
      now: 'the node’s proof does not connect this root with the current one',
    });
  }
  const otherNode = saved.origin !== current.node;
  return {
    ...signerOf(saved, current),
    differences,
    since: head.seq - saved.seq,
    proven,
    otherNode,
    head,
  };
}

function signerOf(
  { note }: SavedCheckpoint,
  { key, keyChanges }: CurrentLedger,
): { signer: Signer; key: string | undefined } {
  const keys: [key: string, signer: Signer][] = [[key, { is: 'current' }]];
  for (const { old_key, ledger_entry } of keyChanges)
    if (old_key !== null) keys.push([old_key, { is: 'former', replacedBy: ledger_entry }]);
  const states = keys.map(([verifierKey, signer]) => ({
    state: signatureState(note, verifierKey, noteCrypto),
    signer,
    key: verifierKey,
  }));
  const valid = states.find(({ state }) => state === 'valid');
  if (valid) return { signer: valid.signer, key: valid.key };
  const isAltered = states.some(({ state }) => state === 'invalid');
  return { signer: { is: isAltered ? 'altered' : 'unknown' }, key: undefined };
}

/**
 * Verifies a consistency proof: the current ledger begins with the saved one. The saved root is the person's own copy, so a
 * node that rewrote its ledger cannot produce this proof.
 */
function provesConsistency(
  saved: { seq: number; root: string },
  now: { seq: number; root: string },
  { hashes }: Pick<ConsistencyProof, 'hashes'>,
): boolean {
  return isConsistent(
    { size: saved.seq, root: hexToBytes(saved.root) },
    { size: now.seq, root: hexToBytes(now.root) },
    hashes.map(fromBase64),
    (left, right) => hashOfParts(1, left, right),
  );
}

/** Verifies an inclusion proof: the tree with this size and root contains the entry at this index, counted from 0. */
export function provesInclusion(
  entry: LedgerEntry,
  { index, hashes }: { index: number; hashes: readonly Uint8Array[] },
  { size, root }: { size: number; root: string },
): boolean {
  const leaf = hashOfParts(0, utf8ToBytes(canonicalText(entry)));
  const computed = rootFromPath(leaf, { index, size }, hashes, (left, right) => hashOfParts(1, left, right));
  return computed !== undefined && bytesToHex(computed) === root;
}

/** A checkpoint that a person saved. */
export interface SavedCheckpoint {
  /** The name of the node. */
  origin: string;
  seq: number;
  /** In hex. */
  root: string;
  /** The signed note. */
  note: string;
}

/** Larger files are rejected without reading them. */
export const MAX_CHECKPOINT_BYTES = 16_384;

export const CHECKPOINT_FILE_TYPES = '.checkpoint,.txt,text/plain';

/** The name under which a checkpoint is saved. */
export function checkpointFileName({ origin, seq }: SavedCheckpoint): string {
  return `${origin.replace(/[^a-z0-9.-]+/gi, '-')}-${seq}.checkpoint`;
}

/** Parses a checkpoint file. Returns the checkpoint or an error message. */
export function parseCheckpoint(text: string): { saved: SavedCheckpoint } | { refused: string } {
  const note = withPlainLineEnds(text);
  const found = isSignedNote(note) ? parseBody(noteBody(note)) : undefined;
  if (!found)
    return {
      refused: 'This file is not a checkpoint. Choose a file that was saved with “Save checkpoint”.',
    };
  const { origin, size, root } = found;
  return { saved: { origin, seq: size, root: bytesToHex(root), note } };
}

/**
 * Requests the head, the keys and a consistency proof, and compares the checkpoint with them.
 */
export async function checkCheckpoint(saved: SavedCheckpoint, node: string): Promise<CheckpointComparison> {
  const [{ head }, key, changes] = await Promise.all([
    call('readLedger', { query: { limit: 1 } }),
    readText('readLedgerKey'),
    call('listKeyChanges', { query: { limit: MAX_LIST_LIMIT } }),
  ]);
  // An empty ledger needs no proof. Beyond its end the node cannot give one.
  const isWithin = saved.seq > 0 && saved.seq <= head.seq;
  const proof = isWithin
    ? await call('proveConsistency', { query: { from: saved.seq, to: head.seq } })
    : undefined;
  return compareCheckpoint(saved, { node, key: key.trim(), keyChanges: changes.items, head, proof });
}
