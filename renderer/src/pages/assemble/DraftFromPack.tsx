import { Button, Group, Modal } from '@mantine/core';
import { useCallback, useEffect, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { isTouched, useDraft } from './draft.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { newVersionOf, replicationOf } from './packToDraft.ts';

/** Starts a draft from the pack named in the URL. Asks first if that would replace an existing draft. */
export function DraftFromPack() {
  const [search, setSearch] = useSearchParams();
  const supersedes = search.get('supersedes');
  const id = supersedes ?? search.get('replicates');
  const isRestored = useDraftFiles((state) => state.isRestored);
  const pack = useCall('readPack', { params: { id: id ?? '' } }, { enabled: id !== null });
  const { draft, replace } = useDraft();
  const { remove, reuse } = useDraftFiles();
  const [isAsking, setIsAsking] = useState(false);

  const done = useCallback(() => {
    setIsAsking(false);
    setSearch({}, { replace: true });
  }, [setSearch]);
  const start = useCallback(
    (from: Pack) => {
      replace(supersedes ? newVersionOf(from) : replicationOf(from));
      remove(useDraftFiles.getState().files.map((file) => file.id));
      if (supersedes) reuse(from.files);
      done();
    },
    [supersedes, replace, remove, reuse, done],
  );
  const ready = id !== null && isRestored ? pack.data : undefined;
  useEffect(() => {
    if (!ready) return;
    // Decided once: the started draft must not be asked about.
    // oxlint-disable-next-line react/set-state-in-effect -- the pack arrives once, and only then can it be asked.
    if (hasWork()) setIsAsking(true);
    else start(ready);
  }, [ready, start]);

  if (id === null) return null;
  if (pack.error) return <ErrorNote error={pack.error} onRetry={() => void pack.refetch()} />;
  return (
    <Modal opened={ready !== undefined && isAsking} onClose={done} title="Unfinished draft">
      <p>
        {draft.title.trim() ? `“${draft.title.trim()}” has` : 'A draft has'} not been published. Starting{' '}
        {supersedes ? 'a new version' : 'a replication'} of “{ready?.title}” would replace it.
      </p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={() => ready && start(ready)}>
          Replace draft
        </Button>
        <Button onClick={done}>Keep draft</Button>
      </Group>
    </Modal>
  );
}

function hasWork(): boolean {
  return isTouched(useDraft.getState().draft) || useDraftFiles.getState().files.length > 0;
}
