import { Button, Group, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { isTouched, useDraft } from './draft.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { useDraftSaving } from './saving/draftSaving.ts';

/** Clears the form after a question, if there is anything in it. */
export function StartOver({ isEnabled }: { isEnabled: boolean }) {
  const draft = useDraft((state) => state.draft);
  const files = useDraftFiles((state) => state.files);
  const discard = useDraftSaving((state) => state.discard);
  const [isAsking, ask] = useDisclosure(false);
  const [error, setError] = useState<unknown>();
  if (!isTouched(draft) && files.length === 0) return null;
  const startOver = () => void discard().then(ask.close, setError);
  return (
    <>
      <Button variant="default" disabled={!isEnabled} onClick={ask.open}>
        Start over
      </Button>
      <Modal opened={isAsking} onClose={ask.close} title="Start over?">
        <p>This removes everything you have entered and all files. Published packs are not affected.</p>
        {error !== undefined && <ErrorNote error={error} />}
        <Group justify="flex-end" mt="lg" gap="sm">
          <Button variant="default" onClick={startOver}>
            Start over
          </Button>
          <Button onClick={ask.close}>Keep draft</Button>
        </Group>
      </Modal>
    </>
  );
}
