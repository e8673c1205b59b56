import { Link } from 'react-router';
import { useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { Section } from '../../components/layout/Page.tsx';

/** The version of the node and, if the owner named a file for it, whether there is a newer one. */
export function NewVersion() {
  const { data } = useCall('readUpdates', {});
  if (!data) return null;
  return (
    <Section title="Version">
      <p>
        This is Strongroom {data.version}. {data.is_newer && `Version ${data.newest} is available. `}
        {data.is_newer && data.url && (
          <a href={data.url} target="_blank" rel="noopener noreferrer">
            Where to get it
          </a>
        )}
      </p>
      <p className="muted small">
        {data.checked_at === null ? (
          <>
            It does not look for newer versions. <Link to="/settings#network">The settings</Link> can name a
            file to compare with, once a day.
          </>
        ) : (
          <>
            Last looked <TimeText at={data.checked_at} />.{' '}
            {data.error === null
              ? !data.is_newer && 'There is no newer version.'
              : `The file could not be read: ${data.error}`}
          </>
        )}
      </p>
    </Section>
  );
}
