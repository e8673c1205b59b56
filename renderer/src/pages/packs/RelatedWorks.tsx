import type { DriftItem } from '../../../../shared/archive/drift.ts';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { parseRelatedIdentifier } from '../../../../shared/archive/relatedIdentifier.ts';
import { useCall } from '../../api/useCall.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { relationLabel } from '../../format/relationLabel.ts';
import { DriftLine } from './DriftLine.tsx';
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
