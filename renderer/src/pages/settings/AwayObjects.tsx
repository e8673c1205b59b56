import { Button, Group } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Job } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { placeOf } from '../../format/copyPlace.ts';
import { countOf, formatBytes } from '../../format/size.ts';
import { useJobs } from '../../state/jobs.ts';
import { useFollowedJob } from '../../state/useFollowedJob.ts';

/** What lies on this disk and what in copies only, and the button that brings it back. Shown once something has left. */
export function AwayObjects() {
  const state = useCall('readOffload');
  useReloadAfterJobs();
  const back = useMutation({ mutationFn: async () => (await call('bringBack', {})) as Job });
  const job = useFollowedJob(back.data?.id);
  if (state.error) return <ErrorNote error={state.error} onRetry={() => void state.refetch()} />;
  if (!state.data || state.data.away_objects === 0) return null;
  const { away_objects, away_bytes, local_bytes, only_in } = state.data;
  return (
    <div>
      <h3>What lies where</h3>
      <p>
        {formatBytes(local_bytes)} are on this disk. {countOf(away_objects, 'object')},{' '}
        {formatBytes(away_bytes)}, have left it and are read from a copy.
      </p>
      <ul>
        {only_in
          .filter(({ objects }) => objects > 0)
          .map(({ copy, target, objects }) => (
            <li key={copy}>
              {countOf(objects, 'object is', 'objects are')} only in {placeOf(target)}. Without that copy,
              reading, verifying and exporting fail.
            </li>
          ))}
      </ul>
      <Group gap="xs">
        <Button
          variant="default"
          size="compact-sm"
          loading={back.isPending || job?.state === 'running'}
          onClick={() => back.mutate()}
        >
          Bring all back
        </Button>
      </Group>
      {back.error && <ErrorNote error={back.error} />}
      {job?.error && <p className="small">{job.error}</p>}
    </div>
  );
}

function useReloadAfterJobs(): void {
  const queries = useQueryClient();
  const ended = useJobs(
    ({ node }) =>
      Object.values(node).filter(
        ({ kind, state }) =>
          (kind === 'offload' || kind === 'bring_back' || kind === 'give_up') && state !== 'running',
      ).length,
  );
  useEffect(() => {
    if (ended > 0) void queries.invalidateQueries({ queryKey: callKey('readOffload') });
  }, [ended, queries]);
}
