import type { Job } from '../../../shared/node/job.ts';
import { useCall } from '../api/useCall.ts';
import { useJobs } from './jobs.ts';

const ASK_AGAIN_MS = 2_000;

/**
 * The current state of a job of the node: from the stream, with polling as a fallback while the job has not
 * ended.
 */
export function useFollowedJob(id: string | undefined): Job | undefined {
  const streamed = useJobs((state) => (id === undefined ? undefined : state.node[id]));
  const hasEnded = streamed !== undefined && streamed.state !== 'running';
  const polled = useCall(
    'readJob',
    { params: { id: id ?? '' } },
    { enabled: id !== undefined && !hasEnded, refetchInterval: hasEnded ? undefined : ASK_AGAIN_MS },
  ).data;
  if (hasEnded) return streamed;
  return polled && polled.state !== 'running' ? polled : (streamed ?? polled);
}
