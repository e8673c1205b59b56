import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import classes from './Peers.module.css';
import type { Mirror } from './useMirror.ts';

/** What the last mirror took, or why it failed. */
export function MirrorOutcome({ mirror: { error, failure, taken } }: { mirror: Mirror }) {
  return (
    <>
      {error && <ErrorNote error={error} />}
      {failure && <p className={classes.bad}>{failure}</p>}
      {taken && (
        <p className="small">
          <output>{taken}</output>
        </p>
      )}
    </>
  );
}
