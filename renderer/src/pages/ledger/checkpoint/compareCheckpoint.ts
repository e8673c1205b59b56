import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import {
  type ConsistencyProof,
  type KeyChange,
  type LedgerEntry,
  type LedgerHead,
  NO_HASH,
  parseSavedHead,
  withPlainLineEnds,
} from '../../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { fromBase64 } from '../../../../../shared/proof/bytes.ts';
import { noteCrypto } from '../../../../../shared/proof/noteCrypto.ts';
import {
  isSignedNote,
  noteBody,
  parseCheckpoint as parseBody,
  signatureState,
} from '../../../../../shared/proof/signedNote.ts';
import { isConsistent, rootFromPath } from '../../../../../shared/proof/tree.ts';
import { canonicalText } from '../../../../../shared/values/canonicalJson.ts';
import { call, readText } from '../../../api/client.ts';
import { formatCount } from '../../../format.ts';
import { hashOfEntry, hashOfParts } from '../chain.ts';

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
  | { is: 'unknown' }
  /** The file is in the older format. */
  | { is: 'unsigned' };

export interface CheckpointComparison {
  signer: Signer;
  differences: CheckpointDifference[];
  /** Entries added since. */
  since: number;
  /** Whether the node's proof, verified here, shows that its ledger begins with the saved one. */
  proven: boolean;
  otherNode: boolean;
  /** The current head. */
  head: LedgerHead;
}

/** What the node says now. The entry and the proof exist only within the ledger. */
interface CurrentLedger {
  node: string;
  /** The verifier key. */
  key: string;
  keyChanges: readonly KeyChange[];
  head: LedgerHead;
  entry: LedgerEntry | undefined;
  proof: Pick<ConsistencyProof, 'hashes'> | undefined;
}

/** Compares a checkpoint with the current ledger. Everything that can be recomputed here is. */
export function compareCheckpoint(saved: SavedCheckpoint, current: CurrentLedger): CheckpointComparison {
  const { head, proof } = current;
  const differences = [...sizeAndHash(saved, current)];
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
    signer: signerOf(saved, current),
    differences,
    since: head.seq - saved.seq,
    proven,
    otherNode,
    head,
  };
}

/** A checkpoint has only a root; an unsigned head also has the hash of its last entry. */
function* sizeAndHash(
  saved: SavedCheckpoint,
  { head, entry }: CurrentLedger,
): Generator<CheckpointDifference> {
  const { seq, hash } = saved;
  if (head.seq < seq) {
    yield { what: 'Number of entries', saved: formatCount(seq), now: formatCount(head.seq) };
    return;
  }
  if (hash === undefined) return;
  const what = seq === 0 ? 'Hash of the empty ledger' : `Hash of entry ${formatCount(seq)}`;
  const now = seq === 0 ? NO_HASH : entry?.seq === seq ? entry.hash : 'no such entry';
  if (hash !== now) yield { what, saved: hash, now };
  if (entry?.seq !== seq) return;
  const recomputed = hashOfEntry(entry);
  if (hash !== recomputed)
    yield { what: `${what}, recomputed from its content`, saved: hash, now: recomputed };
}

function signerOf({ note }: SavedCheckpoint, { key, keyChanges }: CurrentLedger): Signer {
  if (note === undefined) return { is: 'unsigned' };
  const keys: [key: string, signer: Signer][] = [[key, { is: 'current' }]];
  for (const { old_key, ledger_entry } of keyChanges)
    if (old_key !== null) keys.push([old_key, { is: 'former', replacedBy: ledger_entry }]);
  const states = keys.map(([verifierKey, signer]) => ({
    state: signatureState(note, verifierKey, noteCrypto),
    signer,
  }));
  const valid = states.find(({ state }) => state === 'valid');
  if (valid) return valid.signer;
  return { is: states.some(({ state }) => state === 'invalid') ? 'altered' : 'unknown' };
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

/** A checkpoint that a person saved: a signed note, or an unsigned head in an older format. */
export interface SavedCheckpoint {
  /** The name of the node. */
  origin: string;
  seq: number;
  /** In hex. */
  root: string;
  /** The signed note. Undefined for an unsigned head. */
  note: string | undefined;
  /** The hash of the last entry and the time; only an unsigned head has them. */
  hash?: string;
  savedAt?: string;
}

/** Larger files are rejected without reading them. */
export const MAX_CHECKPOINT_BYTES = 16_384;

export const CHECKPOINT_FILE_TYPES = '.checkpoint,.txt,.json,text/plain,application/json';

/** The name under which a checkpoint is saved. */
export function checkpointFileName({ origin, seq }: SavedCheckpoint): string {
  return `${origin.replace(/[^a-z0-9.-]+/gi, '-')}-${seq}.checkpoint`;
}

/** Parses a checkpoint file. Returns the checkpoint or an error message. */
export function parseCheckpoint(text: string): { saved: SavedCheckpoint } | { refused: string } {
  const head = parseSavedHead(text);
  if (head) {
    const { node, seq, root, hash, saved_at } = head;
    return { saved: { origin: node, seq, root, note: undefined, hash, savedAt: saved_at } };
  }
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
 * Requests the head, the keys, the entry at the saved position and a consistency proof, and compares the checkpoint
 * with them.
 */
export async function checkCheckpoint(saved: SavedCheckpoint, node: string): Promise<CheckpointComparison> {
  const [{ items, head }, key, changes] = await Promise.all([
    call('readLedger', { query: { from: Math.max(1, saved.seq), limit: 1 } }),
    readText('readLedgerKey'),
    call('listKeyChanges', { query: { limit: MAX_LIST_LIMIT } }),
  ]);
  const entry = items.find(({ seq }) => seq === saved.seq);
  // An empty ledger needs no proof. Beyond its end the node cannot give one.
  const isWithin = saved.seq > 0 && saved.seq <= head.seq;
  const proof = isWithin
    ? await call('proveConsistency', { query: { from: saved.seq, to: head.seq } })
    : undefined;
  return compareCheckpoint(saved, { node, key: key.trim(), keyChanges: changes.items, head, entry, proof });
}
