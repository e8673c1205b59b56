import { Link } from 'react-router';
import type { DriftItem } from '../../../../shared/archive/drift.ts';
import { TimeText } from '../../components/data/TimeText.tsx';
import classes from './DriftLine.module.css';

/** What became of a related work in one place. */
export function DriftLine({ item }: { item: DriftItem }) {
  return (
    <p className={classes.drift} data-state={item.state}>
      <DriftSentence item={item} /> <DriftPlace item={item} />
    </p>
  );
}

function DriftSentence({ item }: { item: DriftItem }) {
  if (item.at === null) return 'Unchanged since this pack was received:';
  const at = <TimeText at={item.at} />;
  if (item.state === 'vanished') return <>Vanished {at}:</>;
  if (item.state === 'returned') return <>Changed, and as it was again since {at}:</>;
  if (item.kind === 'source' && item.only_noise) return <>Changed {at}, only in parts to ignore:</>;
  return <>Changed {at}:</>;
}

function DriftPlace({ item }: { item: DriftItem }) {
  if (item.kind === 'file') {
    return (
      <>
        <span className="mono">{item.path}</span> in{' '}
        <Link
          to={
            item.newest === item.pack ? `/packs/${item.pack}` : `/packs/${item.pack}/compare/${item.newest}`
          }
        >
          {item.newest === item.pack ? 'a pack' : 'a newer version of its pack'}
        </Link>
      </>
    );
  }
  const { id, name, url } = item.source;
  return <Link to={item.event === null ? `/sources/${id}` : `/timeline/${item.event}`}>{name || url}</Link>;
}
