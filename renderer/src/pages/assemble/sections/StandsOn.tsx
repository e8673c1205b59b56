import { useCall } from '../../../api/useCall.ts';
import { authorsLine } from '../../../format/authors.ts';
import { PackLink } from '../../packs/PackLink.tsx';
import { jumpToField } from '../assembly.ts';
import { useDraft } from '../draft.ts';
import classes from './StandsOn.module.css';

/** Above the form: which other pack the draft replicates, or is a newer version of. */
export function StandsOn() {
  const { replicates, supersedes } = useDraft((state) => state.draft);
  return (
    <>
      {replicates?.pack && (
        <Line words="A replication of" id={replicates.pack} field="field/replicates/pack" />
      )}
      {supersedes && <Line words="A newer version of" id={supersedes} field="field/supersedes" />}
    </>
  );
}

interface LineProps {
  words: string;
  id: string;
  /** Where in the form it is said. */
  field: string;
}

function Line({ words, id, field }: LineProps) {
  const pack = useCall('readPack', { params: { id } });
  return (
    <p className={classes.line}>
      {words} {/* A draft is not left by a click on what it stands on. */}
      <PackLink id={id} />
      {pack.data && <span className="muted"> by {authorsLine(pack.data.authors)}</span>}{' '}
      <button type="button" onClick={() => jumpToField(field)}>
        Change
      </button>
    </p>
  );
}
