import { countOf, formatCount } from '../../format/size.ts';
import { type CheckpointNote, type CheckpointResult, verdictOf } from './checkpointNote.ts';
import { checkpointWords } from './checkpointWords.ts';
import classes from './VerifyPage.module.css';

/** A dropped checkpoint or proof, and whether this node signed it and its ledger begins with it. */
export function CheckpointRow({ note, result }: { note: CheckpointNote; result: CheckpointResult }) {
  const { path, saved, proof } = note;
  return (
    <div>
      <p className={classes.verdict} data-verdict={verdictOf(result)}>
        {checkpointWords(note, result)}
      </p>
      <p className={classes.about}>
        <span className="wrap-anywhere">{path}</span>
        <span>
          {proof ? `proof of entry ${formatCount(proof.index + 1)}` : 'checkpoint'} of {saved.origin} with{' '}
          {countOf(saved.seq, 'entry', 'entries')}
        </span>
      </p>
    </div>
  );
}
