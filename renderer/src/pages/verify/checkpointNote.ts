import type { LedgerEntry } from '../../../../shared/ledger/ledger.ts';
import { fromBase64 } from '../../../../shared/proof/bytes.ts';
import { call } from '../../api/client.ts';
import { countOf, formatCount } from '../../format.ts';
import {
  type CheckpointComparison,
  checkCheckpoint,
  parseCheckpoint,
  provesInclusion,
  type SavedCheckpoint,
} from '../ledger/checkpoint/compareCheckpoint.ts';

/** A dropped checkpoint, alone or at the end of a `.tlog-proof` file. */
export interface CheckpointNote {
  path: string;
  saved: SavedCheckpoint;
  /** Absent for a checkpoint alone. */
  proof: InclusionProof | undefined;
}

/** The audit path of a proof file (https://c2sp.org/tlog-proof). `index` counts from 0. */
interface InclusionProof {
  index: number;
  hashes: Uint8Array[];
}

export type CheckpointResult =
  | { state: 'pending' }
  | { state: 'checked'; comparison: CheckpointComparison; proven: ProvenEntry | undefined };

/** The entry that a proof file is about, and whether the proof leads from it to the checkpoint. */
interface ProvenEntry {
  entry: LedgerEntry | undefined;
  holds: boolean;
}

const PROOF_HEADER = 'c2sp.org/tlog-proof@v1\n';
const PROOF =
  /^c2sp\.org\/tlog-proof@v1\n(?:extra [^\n]*\n)?index (0|[1-9]\d{0,14})\n((?:[A-Za-z0-9+/]{43}=\n)*)\n/;

/** Parses a checkpoint or a proof file, or returns undefined. */
export function parseCheckpointNote(path: string, text: string): CheckpointNote | undefined {
  const found = PROOF.exec(text);
  if (text.startsWith(PROOF_HEADER) && !found) return undefined;
  const parsed = parseCheckpoint(found ? text.slice(found[0].length) : text);
  if (!('saved' in parsed)) return undefined;
  if (!found) return { path, saved: parsed.saved, proof: undefined };
  const [, index = '', lines = ''] = found;
  const hashes = lines.split('\n').slice(0, -1).map(fromBase64);
  return { path, saved: parsed.saved, proof: { index: Number(index), hashes } };
}

/**
 * Asks the node for its keys, a consistency proof and, for a proof file, the entry. Verifies here that the node signed
 * the checkpoint, that its ledger begins with it, and that the proof leads from the entry to the checkpoint.
 */
export async function checkNote(note: CheckpointNote, node: string): Promise<CheckpointResult> {
  const { saved, proof } = note;
  const comparison = await checkCheckpoint(saved, node);
  if (!proof) return { state: 'checked', comparison, proven: undefined };
  const { items } = await call('readLedger', { query: { from: proof.index + 1, limit: 1 } });
  const entry = items.find(({ seq }) => seq === proof.index + 1);
  const tree = { size: saved.seq, root: saved.root };
  const holds = entry !== undefined && provesInclusion(entry, proof, tree);
  return { state: 'checked', comparison, proven: { entry, holds } };
}

/** Returns the verdict on a checkpoint or proof. */
export function verdictOf(result: CheckpointResult): 'pending' | 'unknown' | 'changed' | 'intact' {
  if (result.state === 'pending') return 'pending';
  const { comparison, proven } = result;
  if (comparison.signer.is === 'unknown') return 'unknown';
  const isAltered = comparison.signer.is === 'altered' || comparison.differences.length > 0;
  return isAltered || proven?.holds === false ? 'changed' : 'intact';
}

/** A dropped checkpoint or proof, and what was found out about it. */
export interface CheckedNote {
  note: CheckpointNote;
  result: CheckpointResult;
}

/** Says in sentences what was found out about a checkpoint or proof. */
export function checkpointWords({ saved, proof }: CheckpointNote, result: CheckpointResult): string {
  if (result.state === 'pending') return 'Look-up pending';
  const { comparison, proven } = result;
  const { signer, differences, since, otherNode } = comparison;
  if (signer.is === 'altered')
    return 'The checkpoint was altered: its signature does not match. The file says nothing about the ledger.';
  if (signer.is === 'unknown')
    return otherNode
      ? `The checkpoint is from another node, ${saved.origin}. Verify it there.`
      : 'None of this node’s current or former keys signed the checkpoint.';
  if (differences.length > 0)
    return 'The ledger does not begin with this checkpoint: it was rewritten after the checkpoint was signed.';
  const signature =
    signer.is === 'unsigned' ? 'The file has no signature.' : 'The signature of this node is valid.';
  const ledger = `The ledger begins with this checkpoint; ${countOf(since, 'entry', 'entries')} were added since.`;
  if (!proof) return `${ledger} ${signature}`;
  const number = formatCount(proof.index + 1);
  if (!proven?.holds)
    return `The proof is not valid: it does not lead from entry ${number} to the checkpoint. The file was changed.`;
  const about = proven.entry ? ` (${proven.entry.type} ${proven.entry.subject})` : '';
  return `Entry ${number}${about} is in the signed ledger. ${ledger} ${signature}`;
}
