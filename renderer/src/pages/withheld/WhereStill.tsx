import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Copy } from '../../../../shared/node/copy.ts';
import { useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { placeOf } from '../../format.ts';

const SHOWN = 100;

/**
 * In which copies that readers may look at the bytes still are, and which were cleaned of them. @param entry the ledger
 * entry of the withholding
 */
export function WhereStill({ entry }: { entry: number }) {
  const { data } = useCall('listCopies', { query: { limit: SHOWN } });
  const open = data?.items.filter(({ pages }) => pages) ?? [];
  if (open.length === 0) return null;
  return (
    <ul className="plain stack gap-1 small" aria-label="Copies that readers may look at">
      {open.map((copy) => (
        <Place key={copy.id} copy={copy} entry={entry} />
      ))}
    </ul>
  );
}

function Place({ copy, entry }: { copy: Copy; entry: number }) {
  const { target, size, synced_at, last_error, withheld_in_the_clear } = copy;
  if (synced_at === null) return null;
  const place = <span className="wrap-anywhere">{placeOf(target)}</span>;
  // What a copy holds of the ledger says whether its last sync knew of the withholding.
  if (size >= entry && withheld_in_the_clear === 0)
    return (
      <li className="line gap-2 baseline muted">
        <IconCircleCheck size={15} className="good" aria-hidden />
        <span>
          Not readable in {place} since its sync <TimeText at={synced_at} />
        </span>
      </li>
    );
  return (
    <li className="line gap-2 baseline">
      <IconAlertTriangle size={15} className="warn" aria-hidden />
      <span>
        Perhaps still readable in {place}: its last sync was <TimeText at={synced_at} />.
        {last_error && ` ${last_error}`} <Link to="/settings#copies">Sync it now</Link>
      </span>
    </li>
  );
}
