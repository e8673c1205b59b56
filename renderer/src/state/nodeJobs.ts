import { useEffect } from 'react';
import type { Job } from '../../../shared/node/job.ts';
import { call, urlOf } from '../api/client.ts';
import { useJobs } from './jobs.ts';

/** Follows the node's jobs while the owner is signed in: loads the current ones, then applies the stream. */
export function useNodeJobs(isOwner: boolean): void {
  const update = useJobs((state) => state.updateNodeJob);
  useEffect(() => {
    if (!isOwner) return;
    const stream = new EventSource(urlOf('streamManagement'));
    const readRunning = async () => {
      // Updates may have been missed while the stream was closed, so the list is reloaded each time it opens.
      const page = await call('listJobs', { query: { limit: 50 } }).catch(() => undefined);
      const known = useJobs.getState().node;
      for (const job of page?.items ?? []) {
        if (job.state === 'running' || job.id in known) update(job);
      }
    };
    stream.addEventListener('open', () => void readRunning());
    stream.addEventListener('job', (message: MessageEvent<string>) =>
      update(JSON.parse(message.data) as Job),
    );
    return () => stream.close();
  }, [isOwner, update]);
}
