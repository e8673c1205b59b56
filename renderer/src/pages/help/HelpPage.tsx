import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useLocation } from 'react-router';
import { readText } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { Markdown } from '../../components/content/Markdown.tsx';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { saveFile } from '../../components/forms/buttons.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { desktop } from '../../desktop.ts';
import { useIsOwner } from '../../state/session.ts';
import classes from './HelpPage.module.css';

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

/** Shows the report of the node, which can be saved once it was shown. Nothing is sent. */
function ProblemReport() {
  const [isShown, show] = useState(false);
  const app = desktop();
  const report = useQuery({
    queryKey: ['readReport'],
    queryFn: ({ signal }) => readText('readReport', signal),
    enabled: isShown,
  });
  const save = (text: string) =>
    saveFile(`strongroom-report-${new Date().toISOString().slice(0, 10)}.txt`, text, 'text/plain');
  return (
    <Section title="Report a problem">
      <p className="measure mb-4">
        A report has the versions, the settings without names and secrets, and the last 1,000 lines of the
        log. Read it, save it, and attach it to your message. Nothing is sent from here.
      </p>
      {report.error && <ErrorNote error={report.error} onRetry={() => void report.refetch()} />}
      {report.data !== undefined && (
        <section
          className={`${classes.report} mono small scroll mb-4`}
          // A box that scrolls must be reachable with the keyboard.
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
          aria-label="The report"
        >
          {report.data}
        </section>
      )}
      <Group gap="sm">
        {report.data === undefined ? (
          <Button variant="default" loading={report.isFetching} onClick={() => show(true)}>
            Make a report
          </Button>
        ) : (
          <>
            <Button onClick={() => save(report.data)}>Save the report</Button>
            <Button variant="default" loading={report.isFetching} onClick={() => void report.refetch()}>
              Make it again
            </Button>
          </>
        )}
        {app && (
          <Button variant="default" onClick={() => void app.showLog()}>
            Show log
          </Button>
        )}
      </Group>
    </Section>
  );
}
