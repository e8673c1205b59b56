import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readText } from '../../api/client.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { saveFile } from '../../components/forms/buttons.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { desktop } from '../../desktop.ts';
import classes from './HelpPage.module.css';

/** Shows the report of the node, which can be saved once it was shown. Nothing is sent. */
export function ProblemReport() {
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
