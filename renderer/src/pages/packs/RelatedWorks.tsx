import { Link } from 'react-router';
import type { DriftItem } from '../../../../shared/archive/drift.ts';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { parseRelatedIdentifier } from '../../../../shared/archive/relatedIdentifier.ts';
import { useCall } from '../../api/useCall.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { relationLabel } from '../../format/relationLabel.ts';
import classes from './RelatedWorks.module.css';

/** The related works of a pack, and whether those that this archive knows have changed since. */
export function RelatedWorks({ pack }: { pack: Pack }) {
  const drift = useCall('readPackDrift', { params: { id: pack.id } });
  return (
    <ul className={classes.related}>
      {pack.related.map(({ relation, identifier }) => (
        <li key={relation + identifier}>
          <span className="muted">{relationLabel(relation)}</span>{' '}
          <RelatedIdentifier identifier={identifier} />
          {drift.data?.items
            .filter((item) => item.relation === relation && item.identifier === identifier)
            .map((item) => (
              <DriftLine key={keyOf(item)} item={item} />
            ))}
        </li>
      ))}
    </ul>
  );
}

function keyOf(item: DriftItem): string {
  return item.kind === 'source' ? item.source.id : `${item.pack}/${item.path}`;
}

/** What became of a related work in one place. */
function DriftLine({ item }: { item: DriftItem }) {
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

function RelatedIdentifier({ identifier }: { identifier: string }) {
  const parsed = parseRelatedIdentifier(identifier);
  if (parsed.kind === 'digest') return <DigestChip digest={parsed.digest} label="digest of related work" />;
  const address = parsed.kind === 'doi' ? `https://doi.org/${encodeURI(parsed.doi)}` : identifier;
  if (!/^https?:/i.test(address)) return <span>{identifier}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {identifier}
    </a>
  );
}
