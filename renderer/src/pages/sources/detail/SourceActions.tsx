import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconBell,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { WatchedSource } from '../../../../../shared/collection/source.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { useCollectionRun } from '../collectionRun.ts';
import { EditSource } from './EditSource.tsx';
import { RemoveSource } from './RemoveSource.tsx';

/** The owner's actions for one source. */
export function SourceActions({ source }: { source: WatchedSource }) {
  const { start, isStarting } = useCollectionRun();
  const [isEditing, editing] = useDisclosure(false);
  const [isRemoving, removing] = useDisclosure(false);
  const client = useQueryClient();
  const pause = useMutation({
    mutationFn: (paused: boolean) => call('changeSource', { params: { id: source.id }, body: { paused } }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: callKey('listWatchedSources') });
      return client.invalidateQueries({ queryKey: callKey('readWatchedSource') });
    },
  });
  return (
    <>
      <Button
        leftSection={<IconRefresh size={16} aria-hidden />}
        loading={isStarting}
        onClick={() => void start(source.name || source.url, [source.id])}
      >
        Check now
      </Button>
      <Button
        variant="default"
        leftSection={
          source.paused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />
        }
        loading={pause.isPending}
        onClick={() => pause.mutate(!source.paused)}
      >
        {source.paused ? 'Resume' : 'Pause'}
      </Button>
      <Button
        variant="default"
        component={Link}
        to={`/alerts?source=${source.id}`}
        leftSection={<IconBell size={16} aria-hidden />}
      >
        Alert me
      </Button>
      <Button variant="default" leftSection={<IconPencil size={16} aria-hidden />} onClick={editing.open}>
        Edit
      </Button>
      <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={removing.open}>
        Stop watching
      </Button>
      {pause.isError && <ErrorNote error={pause.error} />}
      <EditSource source={source} opened={isEditing} onClose={editing.close} />
      <RemoveSource source={source} opened={isRemoving} onClose={removing.close} />
    </>
  );
}
