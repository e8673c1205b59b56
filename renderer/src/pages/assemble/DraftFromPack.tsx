import { Button, Group, Modal } from '@mantine/core';
import { useCallback, useEffect, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { isTouched, useDraft } from './draft.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { newVersionOf, replicationOf } from './packToDraft.ts';
import { useDraftSaving, useIsDraftOpen } from './saving/draftSaving.ts';

/**
 * Starts a draft from the pack named in the URL. The owner's draft stays in the list of drafts. A visitor, who has only
 * one, is asked first.
 */
export function DraftFromPack() {
  const [search, setSearch] = useSearchParams();
  const supersedes = search.get('supersedes');
  const id = supersedes ?? search.get('replicates');
  const isReady = useIsDraftOpen();
  const pack = useCall('readPack', { params: { id: id ?? '' } }, { enabled: id !== null });
  const draft = useDraft((state) => state.draft);
  const reuse = useDraftFiles((state) => state.reuse);
  const { saving, startNew } = useDraftSaving();
  const isLocal = saving.state === 'local';
  const [isAsking, setIsAsking] = useState(false);

  const done = useCallback(() => {
    setIsAsking(false);
    setSearch({}, { replace: true });
  }, [setSearch]);
  const start = useCallback(
    async (from: Pack) => {
      done();
      try {
        await startNew(supersedes ? newVersionOf(from) : replicationOf(from));
      } catch {
        // The panel shows why the present draft cannot be saved; it stays open.
        return;
      }
      if (supersedes) reuse(from.files);
    },
    [supersedes, startNew, reuse, done],
  );
  const ready = id !== null && isReady ? pack.data : undefined;
  useEffect(() => {
    if (!ready) return;
    // Decided once: the started draft must not be asked about.
    // oxlint-disable-next-line react/set-state-in-effect -- the pack arrives once, and only then can it be asked.
    if (isLocal && hasWork()) setIsAsking(true);
    else void start(ready);
  }, [ready, isLocal, start]);

  if (id === null) return null;
  if (pack.error) return <ErrorNote error={pack.error} onRetry={() => void pack.refetch()} />;
  return (
    <Modal opened={ready !== undefined && isAsking} onClose={done} title="Unfinished draft">
      <p>
        {draft.title.trim() ? `“${draft.title.trim()}” has` : 'A draft has'} not been published. Starting{' '}
        {supersedes ? 'a new version' : 'a replication'} of “{ready?.title}” would replace it.
      </p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={() => ready && void start(ready)}>
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
