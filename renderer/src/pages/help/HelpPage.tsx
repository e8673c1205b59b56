import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link, useLocation } from 'react-router';
import { useCall } from '../../api/useCall.ts';
import { Markdown } from '../../components/content/Markdown.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import { ProblemReport } from './ProblemReport.tsx';

/** What changed from version to version and, for the owner, how to report a problem. */
export default function HelpPage() {
  const isOwner = useIsOwner();
  const { hash } = useLocation();
  useEffect(() => {
    // Runs after the scroll to the top that every navigation does.
    const frame = requestAnimationFrame(() => document.getElementById(hash.slice(1))?.scrollIntoView());
    return () => cancelAnimationFrame(frame);
  }, [hash, isOwner]);
  return (
    <Page title="Help">
      {isOwner && <span id="report" />}
      {isOwner && <ProblemReport />}
      {isOwner && <NewVersion />}
      <Section title="What’s new">
        <WhatsNew />
      </Section>
    </Page>
  );
}

/** The version of the node and, if the owner named a file for it, whether there is a newer one. */
function NewVersion() {
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

/** The changelog, which is part of the interface. Its links lead to documents that are not. */
function WhatsNew() {
  const changelog = useQuery({
    queryKey: ['changelog'],
    queryFn: async () => (await import('../../../../CHANGELOG.md?raw')).default,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (changelog.error) return <ErrorNote error={changelog.error} onRetry={() => void changelog.refetch()} />;
  if (changelog.data === undefined) return <p className="muted">Loading…</p>;
  return <Markdown text={changelog.data.replace(/^# .*\n/, '')} base={null} />;
}
