import { Button } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { WatchedSource } from '../../../../../shared/collection/source.ts';
import { call } from '../../../api/client.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import outcome from '../CheckOutcome.module.css';
import { useCollectionRun } from '../collectionRun.ts';

/** For a source that exists only through an import: says so and offers to watch it. */
export function ImportedSourceNotice({ source }: { source: WatchedSource }) {
  const mayBe = source.paused && !source.removed && source.last_checked_at === null;
  const captures = useCall(
    'listRetrievals',
    { params: { id: source.id }, query: { limit: 1 } },
    { enabled: mayBe },
  );
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
  if (!mayBe || !captures.data?.total) return null;
  return (
    <div className={outcome.outcome} data-quiet>
      <IconInfoCircle size={18} aria-hidden className={outcome.icon} />
      <div className={outcome.words}>
        <p>
          <strong>This source was added by an import.</strong> Its versions were captured by others. This node
          fetches it only if you watch it.
        </p>
        {watch.isError && <ErrorNote error={watch.error} />}
      </div>
      <Button size="xs" variant="default" onClick={() => watch.mutate()} loading={watch.isPending}>
        Watch
      </Button>
    </div>
  );
}
