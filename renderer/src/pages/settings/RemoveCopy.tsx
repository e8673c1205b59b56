import { Button, Group, Modal, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Copy } from '../../../../shared/node/copy.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { ApiProblem, call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { RemoveDialog } from '../../components/forms/RemoveDialog.tsx';

interface RemoveCopyProps {
  copy: Copy;
  place: string;
  onClose: () => void;
}

/** Asks before a copy is removed. If only it holds objects, offers to give it up as lost. */
export function RemoveCopy({ copy, place, onClose }: RemoveCopyProps) {
  const queries = useQueryClient();
  const [isNeeded, setIsNeeded] = useState(false);
  const remove = useMutation({
    mutationFn: () => call('removeCopy', { params: { id: copy.id } }),
    onError: (error) => setIsNeeded(error instanceof ApiProblem && error.document.code === 'copy_needed'),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: callKey('listCopies') });
    },
  });
  if (isNeeded) return <GiveUpCopy copy={copy} place={place} onClose={onClose} />;
  return (
    <RemoveDialog title="Remove this copy?" submit="Remove copy" removal={remove} onClose={onClose}>
      {place} is no longer kept up to date. What it holds stays there; delete it yourself if you no longer
      need it.
    </RemoveDialog>
  );
}

/** The job tray shows the progress, and the reason if it fails. */
function GiveUpCopy({ copy, place, onClose }: RemoveCopyProps) {
  const giveUp = useMutation({
    mutationFn: async () => (await call('giveUpCopy', { params: { id: copy.id } })) as Job,
    onSuccess: onClose,
  });
  return (
    <Modal opened onClose={onClose} title="Only this copy holds some objects" size="md">
      <Stack gap="sm">
        <p>
          Objects have left this disk, and {place} is the only place that holds them. If it can be read, close
          this dialog and choose “Bring all back” first.
        </p>
        <p>
          If the copy is permanently lost, give it up: the ledger then records these objects as damaged, and
          the copy is forgotten. Their records stay. The same bytes repair them if they ever come again.
        </p>
      </Stack>
      {giveUp.error && <ErrorNote error={giveUp.error} />}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button loading={giveUp.isPending} onClick={() => giveUp.mutate()}>
          It is lost: give it up
        </Button>
      </Group>
    </Modal>
  );
}
