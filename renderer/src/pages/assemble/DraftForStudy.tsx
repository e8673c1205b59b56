import { Button, Group, Modal } from '@mantine/core';
import { useCallback, useEffect } from 'react';
import { useSearchParams } from 'react-router';
import type { Study } from '../../../../shared/archive/study.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { type Draft, emptyDraft, isTouched, useDraft } from './draft.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { useDraftSaving, useIsDraftOpen } from './saving/draftSaving.ts';

/** Sets the study named in the URL in the draft. Asks what to do with a draft that has been started. */
export function DraftForStudy() {
  const [search, setSearch] = useSearchParams();
  const id = search.get('study');
  const isReady = useIsDraftOpen();
  const study = useCall('readStudy', { params: { id: id ?? '' } }, { enabled: id !== null });
  const { draft, replace } = useDraft();
  const files = useDraftFiles((state) => state.files);
  const { saving, startNew } = useDraftSaving();
  const isLocal = saving.state === 'local';
  const hasWork = isTouched(draft) || files.length > 0;
  const ready = id !== null && isReady ? study.data : undefined;

  const done = useCallback(() => setSearch({}, { replace: true }), [setSearch]);
  const startWith = useCallback(
    (next: Draft) => {
      replace(next);
      done();
    },
    [replace, done],
  );
  useEffect(() => {
    if (!ready) return;
    if (!hasWork) startWith(inStudy(emptyDraft(), ready));
    else if (draft.study === ready.id) done();
  }, [ready, hasWork, draft.study, startWith, done]);

  if (id === null) return null;
  if (study.error) return <ErrorNote error={study.error} onRetry={() => void study.refetch()} />;
  if (!ready || !hasWork || draft.study === ready.id) return null;
  const startOver = () => {
    done();
    // The panel shows why the present draft cannot be saved; it stays open then.
    startNew(inStudy(emptyDraft(), ready)).catch(() => {});
  };
  return (
    <Modal opened onClose={done} title="Unfinished draft">
      <p>
        {draft.title.trim() ? `“${draft.title.trim()}” has` : 'A draft has'} not been published. Continue it
        for the study “{ready.title}”, or {isLocal ? 'replace it with an empty one' : 'start a new one'}?
      </p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="subtle" onClick={done}>
          Keep draft as it is
        </Button>
        <Button variant="default" onClick={startOver}>
          {isLocal ? 'Replace draft' : 'New draft'}
        </Button>
        <Button onClick={() => startWith(inStudy(draft, ready))}>Continue for this study</Button>
      </Group>
    </Modal>
  );
}

/** A pack of a study is usually about the study's subject. */
function inStudy(draft: Draft, study: Study): Draft {
  return { ...draft, study: study.id, node: draft.node ?? study.node };
}
