import { Link } from 'react-router';
import type { ObjectView } from '../../../../shared/collection/view.ts';
import { ObjectDigest } from '../../components/content/object/ObjectDigest.tsx';
import { ObserverText } from '../../components/content/retrieval/ObserverText.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { formatBytes } from '../../format/size.ts';
import classes from './ViewPage.module.css';

/** Where and when an archived object comes from. */
export function ViewFacts({ view }: { view: ObjectView }) {
  const { source, final_url, observer, observed_at, original_observed_at, event, status } = view;
  return (
    <span className={classes.facts}>
      <span className="wrap-anywhere">
        <a href={source.url} target="_blank" rel="noopener noreferrer nofollow">
          {source.url}
        </a>
        {final_url !== source.url && <> (redirected to {final_url})</>}
      </span>
      <span>
        Observer: <ObserverText observer={observer} />
      </span>
      {original_observed_at && (
        <span>
          Captured <TimeText at={original_observed_at} show="exact" />
        </span>
      )}
      <span>
        {original_observed_at ? 'Imported ' : 'Retrieved '}
        <TimeText at={observed_at} show="exact" />
      </span>
      {status !== null && status >= 400 && <strong>The server answered {status}.</strong>}
      <span className={classes.links}>
        <Link to={`/sources/${source.id}`}>Source</Link>
        {event !== null && <Link to={`/timeline/${event}`}>Event {event}</Link>}
        <span>{[view.content_type, formatBytes(view.bytes)].filter(Boolean).join(', ')}</span>
        <ObjectDigest sha256={view.sha256} label="digest of the object" />
      </span>
    </span>
  );
}
