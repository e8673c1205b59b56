import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'react-router';
import { Markdown } from '../../components/content/Markdown.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import { NewVersion } from './NewVersion.tsx';
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
      {isOwner && (
        <div id="report">
          <ProblemReport />
        </div>
      )}
      {isOwner && <NewVersion />}
      <Section title="What’s new">
        <WhatsNew />
      </Section>
    </Page>
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
