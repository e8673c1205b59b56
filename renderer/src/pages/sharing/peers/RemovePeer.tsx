import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Peer } from '../../../../../shared/node/peer.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { RemoveDialog } from '../../../components/forms/RemoveDialog.tsx';

/** Asks before a peer is forgotten. */
export function RemovePeer({ peer, onClose }: { peer: Peer; onClose: () => void }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => call('removePeer', { params: { id: peer.id } }),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: callKey('listPeers') });
    },
  });
  return (
    <RemoveDialog title="Remove this peer?" submit="Remove peer" removal={remove} onClose={onClose}>
      Nothing more is taken from {peer.name}, and its key is no longer pinned. This node no longer cosigns its
      checkpoints, nor asks it to cosign ours. What was mirrored stays.
    </RemoveDialog>
  );
}
