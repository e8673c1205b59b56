import { Link } from 'react-router';
import { exactBytes, formatCount } from '../../../format/size.ts';
import { DigestChip } from '../../data/DigestChip.tsx';
import { StateBadge } from '../../data/StateBadge.tsx';
import { TimeText } from '../../data/TimeText.tsx';
import { VirtualList } from '../../data/VirtualList.tsx';
import classes from './DamagedObjects.module.css';
import type { DamageEntry, FixityStatus } from './useFixity.ts';

export interface DamagedObjectsProps {
  fixity: Pick<FixityStatus, 'damaged' | 'damaged_objects'>;
  limit?: number;
}

/** The damaged objects: what is wrong, since when, and what the disk holds instead. */
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
      {more > 0 && <p className="small muted">…and {formatCount(more)} more.</p>}
    </>
  );
}

function Damaged({
  object: { sha256, bytes, problem, found, since, ledger_entry },
}: {
  object: DamageEntry;
}) {
  return (
    <div className={classes.object}>
      <DigestChip digest={sha256} label="digest of the damaged object" />
      <StateBadge kind="damage" value={problem} />
      <span className="muted small numeric">{exactBytes(bytes)}</span>
      {found && (
        <span className="small">
          found instead: <DigestChip digest={found} label="digest of the bytes found instead" />
        </span>
      )}
      <span className="muted small">
        found <TimeText at={since} />,{' '}
        <Link to={`/ledger?from=${ledger_entry}`}>entry {formatCount(ledger_entry)}</Link>
      </span>
    </div>
  );
}

/** Repair instructions for the owner. */
export function RepairHelp() {
  return (
    <div className={classes.repair}>
      <p>
        <strong>How to repair.</strong> Correct bytes repair an object wherever they come from, because their
        digest proves them. Do one of these:
      </p>
      <ul>
        <li>check the source again, if it still serves the same bytes;</li>
        <li>publish the same pack again, or import the same captures again;</li>
        <li>
          restore the file from a backup to <code>blobs/ab/cd/…</code> in the data folder, under its digest.
          The node checks this folder every ten minutes.
        </li>
      </ul>
      <p>
        Damaged bytes are never deleted. The node moves them aside. If several objects are damaged, check the
        disk.
      </p>
    </div>
  );
}
