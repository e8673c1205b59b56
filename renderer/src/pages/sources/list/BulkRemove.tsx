import { Button, Group, Modal, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../../format/size.ts';
import type { VisibleSource } from '../useSources.ts';

export interface BulkRemoveProps {
  sources: readonly VisibleSource[];
  onRemoved: () => void;
  onClose: () => void;
}

/** At most so many sources are named before they are removed. */
const MAX_NAMED = 5;

/** Confirms that the selected sources should no longer be watched, and says what is kept. */
export function BulkRemove({ sources, onRemoved, onClose }: BulkRemoveProps) {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: async () => {
      for (const { id } of sources) await call('removeSource', { params: { id } });
    },
    onSuccess: () => {
      onRemoved();
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: callKey('listWatchedSources') }),
  });
  const what = countOf(sources.length, 'source');
  const more = sources.length - MAX_NAMED;
  return (
    <Modal opened onClose={onClose} title={`Stop watching ${what}?`}>
      <Stack gap="md">
        <ul className="wrap-anywhere" style={{ margin: 0, paddingInlineStart: '1.2rem' }}>
          {sources.slice(0, MAX_NAMED).map(({ id, name, url }) => (
            <li key={id}>{name || url}</li>
          ))}
          {more > 0 && <li>and {countOf(more, 'other')}</li>}
        </ul>
        <p>
          They will not be checked any more. Their versions, events and retrievals stay in the archive. If you
          add the same URL again, its history continues.
        </p>
        {remove.isError && <ErrorNote error={remove.error} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose} data-autofocus>
            Keep watching
          </Button>
          <Button color="red.9" onClick={() => remove.mutate()} loading={remove.isPending}>
            Stop watching {what}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
