import { Button, Modal, Stack, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { useState } from 'react';
import {
  newStatusSchema,
  STUDY_TRANSITIONS,
  type StudyStatus as Status,
  type Study,
} from '../../../../shared/archive/study.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../components/forms/DialogButtons.tsx';
import { useMayContribute } from '../../state/session.ts';

/**
 * The name of a status change. Changing to `running` resumes an abandoned study and reopens a completed one.
 */
function transitionLabel(from: Status, to: Status): string {
  if (to === 'completed') return 'Complete';
  if (to === 'abandoned') return 'Abandon';
  return from === 'planned' ? 'Start' : from === 'completed' ? 'Reopen' : 'Resume';
}

/** The status changes that are possible from the current status. */
export function StudyStatus({ study }: { study: Study }) {
  const mayContribute = useMayContribute();
  const [target, setTarget] = useState<Status>();
  if (!mayContribute) return null;
  return (
    <>
      {STUDY_TRANSITIONS[study.status].map((to) => (
        <Button key={to} variant="default" onClick={() => setTarget(to)}>
          {transitionLabel(study.status, to)}
        </Button>
      ))}
      <Modal
        opened={target !== undefined}
        onClose={() => setTarget(undefined)}
        title={target && `${transitionLabel(study.status, target)} study`}
      >
        {target && <StatusForm study={study} target={target} onClose={() => setTarget(undefined)} />}
      </Modal>
    </>
  );
}

interface StatusFormProps {
  study: Study;
  target: Status;
  onClose: () => void;
}

function StatusForm({ study, target, onClose }: StatusFormProps) {
  const queries = useQueryClient();
  const form = useForm({
    initialValues: { status: target, note: '' },
    validate: zod4Resolver(newStatusSchema),
  });
  const move = useMutation({
    mutationFn: (values: typeof form.values) =>
      call('setStudyStatus', { params: { id: study.id }, body: values }),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: callKey('readStudy') });
      await queries.invalidateQueries({ queryKey: callKey('listStudies') });
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => move.mutate(values))}>
      <Stack gap="md">
        <Textarea
          label="Note (optional)"
          description="The reason. It is kept in the study’s history and in the ledger."
          autosize
          minRows={2}
          maxRows={10}
          data-autofocus
          {...form.getInputProps('note')}
        />
        {move.error && <ErrorNote error={move.error} />}
        <DialogButtons
          submit={`${transitionLabel(study.status, target)} study`}
          isPending={move.isPending}
          onCancel={onClose}
        />
      </Stack>
    </form>
  );
}
