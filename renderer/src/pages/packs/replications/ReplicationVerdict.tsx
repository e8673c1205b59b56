import type { Pack } from '../../../../../shared/archive/pack.ts';
import { useCall } from '../../../api/useCall.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { authorsLine } from '../../../format/authors.ts';
import { PackLink } from '../PackLink.tsx';
import classes from './ReplicationVerdict.module.css';

/** At the top of a replication: its verdict on the original, and why. */
export function ReplicationVerdict({ pack }: { pack: Pack }) {
  const { replicates } = pack;
  const original = useCall(
    'readPack',
    { params: { id: replicates?.pack ?? '' } },
    { enabled: replicates !== null },
  );
  if (!replicates) return null;
  return (
    <section aria-label="Verdict" className={classes.verdict}>
      <p className={classes.line}>
        <StateBadge kind="verdict" value={replicates.verdict} look="boxed" />
        <span className="wrap-anywhere">
          Replication of <PackLink id={replicates.pack} />
          {original.data && <span className="muted"> by {authorsLine(original.data.authors)}</span>}
        </span>
      </p>
      {replicates.note && <p className="wrap-anywhere">{replicates.note}</p>}
      {pack.original_had_method === false && (
        <p className="muted small">The original had no complete method when this pack was received.</p>
      )}
    </section>
  );
}
