import { countOf, formatCount } from '../../format/size.ts';
import type { CheckpointNote, CheckpointResult } from './checkpointNote.ts';

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
      : 'None of the keys that this node had signed the checkpoint.';
  if (differences.length > 0)
    return 'The ledger does not begin with this checkpoint: it was rewritten after the checkpoint was signed.';
  const signature =
    signer.is === 'unsigned' ? 'The file has no signature.' : 'The signature of this node is valid.';
  const ledger = `The ledger begins with this checkpoint; ${countOf(since, 'entry', 'entries')} were added since.`;
  if (!proof) return `${ledger} ${signature}`;
  const number = formatCount(proof.index + 1);
  if (!proven?.holds)
    return `The proof does not hold: it does not lead from entry ${number} to the checkpoint. The file was changed.`;
  const about = proven.entry ? ` (${proven.entry.type} ${proven.entry.subject})` : '';
  return `Entry ${number}${about} is in the ledger that was signed. ${ledger} ${signature}`;
}
