import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Job } from '../../../../../shared/node/job.ts';
import { type MirrorRequest, mirrorResultSchema, type Peer } from '../../../../../shared/node/peer.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { useFollowedJob } from '../../../state/useFollowedJob.ts';
import { mirrorSentence } from './peerTexts.ts';

export interface Mirror {
  start: (request: MirrorRequest) => void;
  isBusy: boolean;
  /** Whether the state of the peer allows a mirror. */
  isAllowed: boolean;
  /** What the last mirror took, in words. */
  taken: string | undefined;
  /** Why the mirror ended early. */
  failure: string | undefined;
  /** Why no mirror was started. */
  error: Error | null;
}

/** Starts mirrors of a peer and follows them. The job tray shows the progress. */
export function useMirror(peer: Peer): Mirror {
  const queries = useQueryClient();
  const mirror = useMutation({
    mutationFn: async (body: MirrorRequest) =>
      (await call('mirrorPeer', { params: { id: peer.id }, body })) as Job,
  });
  const job = useFollowedJob(mirror.data?.id);
  const hasEnded = job !== undefined && job.state !== 'running';
  useEffect(() => {
    if (!hasEnded) return;
    for (const name of ['listPeers', 'readPeer', 'browsePeerPacks', 'browsePeerEvents'] as const)
      void queries.invalidateQueries({ queryKey: callKey(name) });
  }, [hasEnded, queries]);
  const result = mirrorResultSchema.safeParse(job?.result).data;
  return {
    start: (request) => mirror.mutate(request),
    isBusy: mirror.isPending || job?.state === 'running',
    isAllowed: !['rewritten', 'key_changed', 'certificate_changed'].includes(peer.state),
    taken: result && mirrorSentence(result),
    failure: job?.state === 'failed' ? (job.error ?? undefined) : undefined,
    error: mirror.error,
  };
}
