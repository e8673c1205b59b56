import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useLocation } from 'react-router';
import type { JobKind } from '../../../../shared/node/job.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { useJobs } from '../../state/jobs.ts';
import { AddCopy } from './AddCopy.tsx';
import { AwayObjects } from './AwayObjects.tsx';
import { CopyItem } from './CopyItem.tsx';
import classes from './SettingsPage.module.css';

const SHOWN = 100;
/** The URL fragment of this section. */
const COPIES = '#copies';

/** The copies of the archive in folders and buckets, each with its state and what can be done with it. */
export function Copies() {
  const answer = useCall('listCopies', { query: { limit: SHOWN } });
  const [isAdding, adding] = useDisclosure();
  const section = useRef<HTMLElement>(null);
  const { hash } = useLocation();
  useReloadAfterJobs();
  const isLoaded = answer.data !== undefined;
  useEffect(() => {
    if (hash !== COPIES || !isLoaded) return;
    // Runs after the scroll to the top that every navigation does.
    const frame = requestAnimationFrame(() => section.current?.scrollIntoView());
    return () => cancelAnimationFrame(frame);
  }, [hash, isLoaded]);
  const add = (
    <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={adding.open}>
      Add a copy
    </Button>
  );
  return (
    <section ref={section} className={classes.group} aria-labelledby="copies-now">
      <div>
        <h2 id="copies-now">Copies</h2>
        <p className="muted small">
          A copy holds the whole archive a second time. It is kept up to date in the background, and an
          archive can be restored from it.
        </p>
      </div>
      <div className={classes.fields}>
        {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
        {answer.data?.items.length === 0 && (
          <EmptyState title="One disk is not an archive" action={add}>
            Keep a second copy in a folder on another disk, or in a bucket of an object store.
          </EmptyState>
        )}
        {answer.data && answer.data.items.length > 0 && (
          <>
            <ul className={classes.copies}>
              {answer.data.items.map((copy) => (
                <CopyItem key={copy.id} copy={copy} />
              ))}
            </ul>
            <div>{add}</div>
            <AwayObjects />
          </>
        )}
      </div>
      <AddCopy opened={isAdding} onClose={adding.close} />
    </section>
  );
}

const RELOAD_AFTER: ReadonlySet<JobKind> = new Set(['copy_sync', 'copy_check', 'give_up']);

/** Loads the copies again when such a job ends, also one that runs on schedule. */
function useReloadAfterJobs(): void {
  const queries = useQueryClient();
  const ended = useJobs(
    ({ node }) =>
      Object.values(node).filter(({ kind, state }) => RELOAD_AFTER.has(kind) && state !== 'running').length,
  );
  useEffect(() => {
    if (ended > 0) void queries.invalidateQueries({ queryKey: callKey('listCopies') });
  }, [ended, queries]);
}
