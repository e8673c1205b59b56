import { Link } from 'react-router';
import { useCall } from '../../api/useCall.ts';
import { formatCount } from '../../format/size.ts';
import classes from './Counts.module.css';

/** The size of the archive, by kind. */
export function Counts() {
  const packs = useCall('listPacks', { query: { limit: 1 } });
  const studies = useCall('listStudies', { query: { limit: 1 } });
  const stats = useCall('readStats');
  const counts: [one: string, many: string, count: number | undefined, to?: string][] = [
    ['pack', 'packs', packs.data?.total, '/packs'],
    ['study', 'studies', studies.data?.total, '/studies'],
    ['source', 'sources', stats.data?.sources, '/sources'],
    ['observation', 'observations', stats.data?.observations],
    ['archived object', 'archived objects', stats.data?.archived_objects],
    ['event', 'events', stats.data?.events, '/timeline'],
  ];
  return (
    <section aria-label="Archive contents">
      <ul className={classes.counts}>
        {counts.map(([one, many, count, to]) => (
          <li key={one}>
            <Counted to={to}>
              <strong className="numeric">{count === undefined ? '…' : formatCount(count)}</strong>{' '}
              <span>{count === 1 ? one : many}</span>
            </Counted>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Counted({ to, children }: { to: string | undefined; children: React.ReactNode }) {
  return to ? <Link to={to}>{children}</Link> : <span>{children}</span>;
}
