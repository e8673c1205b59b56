import { Button, Group, Modal, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import type { WatchedSource } from '../../../../../shared/collection/source.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';

export interface RemoveSourceProps {
  source: WatchedSource;
  opened: boolean;
  onClose: () => void;
}

/** Confirms that a source should no longer be watched, and says what is kept. */
export function RemoveSource({ source, opened, onClose }: RemoveSourceProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => call('removeSource', { params: { id: source.id } }),
    onSuccess: () => {
      onClose();
      void client.invalidateQueries({ queryKey: callKey('listWatchedSources') });
      void client.invalidateQueries({ queryKey: callKey('readWatchedSource') });
      void navigate('/sources');
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Stop watching this source?">
      <Stack gap="md">
        <p className="wrap-anywhere">
          <strong>{source.name || source.url}</strong> will not be checked any more. Its versions, events and
          retrievals stay in the archive. If you add the same URL again, its history continues.
        </p>
        {remove.isError && <ErrorNote error={remove.error} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose} data-autofocus>
            Keep watching
          </Button>
          <Button color="red.9" onClick={() => remove.mutate()} loading={remove.isPending}>
            Stop watching
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
