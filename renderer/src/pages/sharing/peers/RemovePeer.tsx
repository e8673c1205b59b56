import { Button, Group, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Peer } from '../../../../../shared/node/peer.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';

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
    <Modal opened onClose={onClose} title="Remove this peer?" size="md">
      <p>Nothing more is taken from {peer.name}, and its key is no longer pinned. What was mirrored stays.</p>
      {remove.error && <ErrorNote error={remove.error} />}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button loading={remove.isPending} onClick={() => remove.mutate()}>
          Remove peer
        </Button>
      </Group>
    </Modal>
  );
}
