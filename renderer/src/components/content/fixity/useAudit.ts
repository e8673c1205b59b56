import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Job } from '../../../../../shared/node/job.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { useJobs } from '../../../state/jobs.ts';
import { useFollowedJob } from '../../../state/useFollowedJob.ts';

/** The running audit or the last one seen on this page, whoever started it, and a function to start one. */
export function useAudit(): { job: Job | undefined; start: () => void; isStarting: boolean; error: unknown } {
  const known = useJobs(({ node }) =>
    Object.values(node)
      .filter(({ kind }) => kind === 'audit')
      .reduce<Job | undefined>(
        (last, job) => (!last || job.started_at > last.started_at ? job : last),
        undefined,
      ),
  );
  const job = useFollowedJob(known?.id);
  const client = useQueryClient();
  const start = useMutation({
    mutationFn: () => call('startAudit'),
    onSuccess: (answer) => {
      if ('id' in answer) useJobs.getState().updateNodeJob(answer);
    },
  });
  const state = job?.state;
  useEffect(() => {
    if (!state || state === 'running') return;
    for (const name of ['readStatus', 'listAudits', 'listDamages'] as const) {
      void client.invalidateQueries({ queryKey: callKey(name) });
    }
  }, [state, client]);
  return { job, start: () => start.mutate(), isStarting: start.isPending, error: start.error };
}
