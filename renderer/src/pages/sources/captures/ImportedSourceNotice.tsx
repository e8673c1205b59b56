import { Button } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import outcome from '../CheckOutcome.module.css';
import { useCollectionRun } from '../collectionRun.ts';
import type { VisibleSource } from '../useSources.ts';

/** For a source that is known by captures only: says so and offers the owner to watch it. */
export function ImportedSourceNotice({ source, mayWatch }: { source: VisibleSource; mayWatch: boolean }) {
  const client = useQueryClient();
  const check = useCollectionRun((run) => run.start);
  const watch = useMutation({
    mutationFn: () => call('changeSource', { params: { id: source.id }, body: { paused: false } }),
    onSuccess: () => {
      void check(source.name || source.url, [source.id]);
      void client.invalidateQueries({ queryKey: callKey('listWatchedSources') });
      return client.invalidateQueries({ queryKey: callKey('readWatchedSource') });
    },
  });
  return (
    <div className={outcome.outcome} data-quiet>
      <IconInfoCircle size={18} aria-hidden className={outcome.icon} />
      <div className={outcome.words}>
        <p>
          <strong>This source is known by captures only.</strong> Others captured its versions, and they were
          imported. This node {mayWatch ? 'fetches it only if you watch it' : 'has never fetched it'}.
        </p>
        {watch.isError && <ErrorNote error={watch.error} />}
      </div>
      {mayWatch && (
        <Button size="xs" variant="default" onClick={() => watch.mutate()} loading={watch.isPending}>
          Watch
        </Button>
      )}
    </div>
  );
}
