import { Link } from 'react-router';
import type { DriftItem } from '../../../../shared/archive/drift.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { countOf, formatCount } from '../../format/size.ts';
import { DriftLine } from '../packs/DriftLine.tsx';
import classes from './StudyDrift.module.css';

/** The packs of a study whose related works changed since. Nothing is shown if no pack relates to other works. */
export function StudyDrift({ study }: { study: string }) {
  const { data, error, refetch } = useCall('readStudyDrift', { params: { id: study } });
  if (!error && (!data || data.relating === 0)) return null;
  return (
    <Section title="Related works since publication">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.packs.length === 0 && (
        <p className="muted">
          Unchanged, as far as this archive watches or holds them. {countOf(data.compared, 'pack')} compared.
        </p>
      )}
      {data && data.packs.length > 0 && (
        <ul className={classes.packs}>
          {data.packs.map(({ id, title, items }) => (
            <li key={id}>
              <Link to={`/packs/${id}`}>{title}</Link>
              {items.map((item) => (
                <DriftLine key={keyOf(item)} item={item} />
              ))}
            </li>
          ))}
        </ul>
      )}
      {data && data.relating > data.compared && (
        <p className="small muted">
          Only the newest {formatCount(data.compared)} of {formatCount(data.relating)} packs with related
          works were compared.
        </p>
      )}
    </Section>
  );
}

function keyOf(item: DriftItem): string {
  const place = item.kind === 'source' ? item.source.id : `${item.pack}/${item.path}`;
  return `${item.relation} ${item.identifier} ${place}`;
}
