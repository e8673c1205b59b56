import { Link } from 'react-router';
import { failureWords } from '../../../../shared/collection/failureWords.ts';
import { useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/TimeText.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { countOf, formatCount } from '../../format/size.ts';
import classes from './RecentActivity.module.css';

const SHOWN = 5;

/** The sources whose checks fail, with the reason. Renders nothing if there are none. */
export function FailingSection() {
  const status = useCall('readStatus');
  const failing = status.data?.failing ?? [];
  if (failing.length === 0) return null;
  return (
    <Section title="Failing sources" actions={<Link to="/sources">Sources</Link>}>
      <VirtualList
        label="Failing sources"
        items={failing.slice(0, SHOWN)}
        keyOf={({ source }) => source.id}
        render={({ source, error, status: answered, since, consecutive }) => (
          <div className={classes.failing}>
            <Link to={`/sources/${source.id}`} className={classes.name}>
              {source.name || source.url}
            </Link>
            <span className={classes.why}>{failureWords(error ?? 'http_error', answered)}</span>
            <span className="muted small">
              {consecutive > 1 ? `${countOf(consecutive, 'time')} in a row, first` : 'Failed'}{' '}
              <TimeText at={since} />
            </span>
          </div>
        )}
      />
      {failing.length > SHOWN && (
        <p className={classes.none}>…and {formatCount(failing.length - SHOWN)} more.</p>
      )}
    </Section>
  );
}
