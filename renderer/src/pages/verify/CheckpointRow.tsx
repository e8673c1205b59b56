import { countOf, formatCount } from '../../format/size.ts';
import type { CheckpointNote, CheckpointResult } from './checkpointNote.ts';
import classes from './VerifyPage.module.css';

/** A dropped checkpoint or proof, and whether this node's ledger begins with it. */
export function CheckpointRow({ note, result }: { note: CheckpointNote; result: CheckpointResult }) {
  const { path, origin, size, index } = note;
  return (
    <div>
      <p className={classes.verdict} data-verdict={VERDICTS[result.state]}>
        {wordsOf(result)}
      </p>
      <p className={classes.about}>
        <span className="wrap-anywhere">{path}</span>
        <span>
          {index === null ? 'checkpoint' : `proof of entry ${formatCount(index + 1)}`} of {origin} with{' '}
          {countOf(size, 'entry', 'entries')}
        </span>
      </p>
    </div>
  );
}

const VERDICTS: Record<CheckpointResult['state'], string> = {
  pending: 'pending',
  consistent: 'intact',
  inconsistent: 'changed',
  other_log: 'unknown',
};

function wordsOf(result: CheckpointResult): string {
  switch (result.state) {
    case 'pending':
      return 'Look-up pending';
    case 'consistent':
      return `The ledger begins with this checkpoint; ${countOf(result.since, 'entry', 'entries')} were added since. Its signature is not checked here.`;
    case 'inconsistent':
      return 'The ledger does not begin with this checkpoint: it was rewritten, or the file was changed.';
    case 'other_log':
      return 'The checkpoint of another node';
  }
}
