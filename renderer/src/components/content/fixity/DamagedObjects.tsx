import { Link } from 'react-router';
import { countOf, exactBytes, formatCount } from '../../../format/size.ts';
import { DigestChip } from '../../data/DigestChip.tsx';
import { StateBadge } from '../../data/StateBadge.tsx';
import { TimeText } from '../../data/TimeText.tsx';
import { VirtualList } from '../../data/VirtualList.tsx';
import classes from './DamagedObjects.module.css';
import type { DamagedObject, KnownFixity } from './useFixity.ts';

export interface DamagedObjectsProps {
  fixity: Pick<KnownFixity, 'damaged' | 'damaged_objects'>;
  /** So many are listed. */
  limit?: number;
}

/** The objects whose bytes are not what they were: what is wrong, since when, and what is there instead. */
export function DamagedObjects({ fixity: { damaged, damaged_objects }, limit = 100 }: DamagedObjectsProps) {
  const shown = damaged.slice(0, limit);
  const more = damaged_objects - shown.length;
  return (
    <>
      <VirtualList
        label="Damaged objects"
        items={shown}
        keyOf={({ sha256 }) => sha256}
        render={(object) => <Damaged object={object} />}
      />
      {more > 0 && <p className="small muted">And {countOf(more, 'other')}.</p>}
    </>
  );
}

function Damaged({
  object: { sha256, bytes, problem, found, since, ledger_entry },
}: {
  object: DamagedObject;
}) {
  return (
    <div className={classes.object}>
      <DigestChip digest={sha256} label="digest of the damaged object" />
      <StateBadge kind="damage" value={problem} />
      <span className="muted small numeric">{exactBytes(bytes)}</span>
      {found && (
        <span className="small">
          now <DigestChip digest={found} label="digest of what is there instead" />
        </span>
      )}
      <span className="muted small">
        found <TimeText at={since} />,{' '}
        <Link to={`/ledger?from=${ledger_entry}`}>entry {formatCount(ledger_entry)}</Link>
      </span>
    </div>
  );
}

/** What the owner can do about it. */
export function HowToMend() {
  return (
    <div className={classes.mend}>
      <p>
        <strong>What to do.</strong> Right bytes mend it, wherever they come from, because their digest proves
        them:
      </p>
      <ul>
        <li>check the source again, if it still gives the same bytes;</li>
        <li>publish the same pack again, or import the same captures again;</li>
        <li>
          copy the file from a backup to <code>blobs/ab/cd/…</code> in the data folder, under its digest. It
          is looked at every ten minutes.
        </li>
      </ul>
      <p>
        Damaged bytes are never thrown away: they are kept aside. If several are damaged, look at the disk.
      </p>
    </div>
  );
}
