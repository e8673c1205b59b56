import type { KeyChange } from '../../../../../shared/ledger/keyChange.ts';
import {
  type ConsistencyProof,
  type LedgerEntry,
  type LedgerHead,
  NO_HASH,
} from '../../../../../shared/ledger/ledger.ts';
import { formatCount } from '../../../format/size.ts';
import { hashOfEntry } from '../chain.ts';
import type { SavedCheckpoint } from './checkpointFile.ts';
import { provesConsistency } from './consistency.ts';
import { verifySignature } from './signedNote.ts';

/** A difference between the checkpoint and the current ledger. */
export interface CheckpointDifference {
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
export interface CurrentLedger {
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
  const states = keys.map(([verifierKey, signer]) => ({ state: verifySignature(note, verifierKey), signer }));
  const valid = states.find(({ state }) => state === 'valid');
  if (valid) return valid.signer;
  return { is: states.some(({ state }) => state === 'invalid') ? 'altered' : 'unknown' };
}
