import { useCall } from '../../../api/useCall.ts';
import { authorsLine } from '../../../format/authors.ts';
import { PackLink } from '../../packs/PackLink.tsx';
import { useDraft } from '../draft.ts';
import { jumpToField } from '../formContext.ts';
import classes from './BasedOn.module.css';

/** Shown above the form: the pack that the draft replicates or supersedes. */
export function BasedOn() {
  const { replicates, supersedes } = useDraft((state) => state.draft);
  return (
    <>
      {replicates?.pack && <Line label="Replication of" id={replicates.pack} field="field/replicates/pack" />}
      {supersedes && <Line label="New version of" id={supersedes} field="field/supersedes" />}
    </>
  );
}

interface LineProps {
  label: string;
  id: string;
  /** The form field to jump to. */
  field: string;
}

function Line({ label, id, field }: LineProps) {
  const pack = useCall('readPack', { params: { id } });
  return (
    <p className={classes.line}>
      {label} {/* The pack opens in a new tab, so that a click does not leave the draft. */}
      <PackLink id={id} />
      {pack.data && <span className="muted"> by {authorsLine(pack.data.authors)}</span>}{' '}
      <button type="button" onClick={() => jumpToField(field)}>
        Change
      </button>
    </p>
  );
}
