import { Button, Modal, Radio, Stack, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { newFlagSchema } from '../../../../shared/pack.ts';
import { FLAG_REASONS, type FlagReason } from '../../../../shared/vocabulary.ts';
import { call } from '../../api/client.ts';
import { answerKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';

const REASONS: Record<FlagReason, string> = {
  privacy: 'It holds what is private to somebody',
  copyright: 'It holds what somebody else owns',
  fabricated: 'Its data or results seem to be made up',
  unsafe: 'Somebody could be harmed by it',
  duplicate: 'It is in the archive already',
  other: 'Something else, told in the note',
};

export interface FlagDialogProps {
  packId: string;
  opened: boolean;
  onClose: () => void;
}

/** Says publicly that something is wrong with a pack; nothing is removed by it. */
export function FlagDialog({ packId, opened, onClose }: FlagDialogProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Flag this pack" keepMounted>
      <FlagForm packId={packId} onClose={onClose} />
    </Modal>
  );
}

function FlagForm({ packId, onClose }: Omit<FlagDialogProps, 'opened'>) {
  const queries = useQueryClient();
  const form = useForm<{ reason: FlagReason | ''; note: string }>({
    initialValues: { reason: '', note: '' },
    validate: (values) =>
      values.reason === ''
        ? { reason: 'Say what is wrong.' }
        : zod4Resolver(newFlagSchema)({ ...values, reason: values.reason }),
  });
  const flag = useMutation({
    mutationFn: (values: { reason: FlagReason; note: string }) =>
      call('flagPack', { params: { id: packId }, body: values }),
    onSuccess: async () => {
      onClose();
      form.reset();
      await Promise.all([
        queries.invalidateQueries({ queryKey: answerKey('readPack') }),
        queries.invalidateQueries({ queryKey: answerKey('listPacks') }),
      ]);
    },
  });
  return (
    <form
      onSubmit={form.onSubmit(({ reason, note }) => {
        if (reason !== '') flag.mutate({ reason, note });
      })}
    >
      <Stack gap="md">
        <p className="muted small">
          A flag is shown on the pack and recorded in the ledger, for everybody and for good. The pack itself
          stays as it is.
        </p>
        <Radio.Group label="What is wrong?" {...form.getInputProps('reason')}>
          <Stack gap="xs" mt="xs">
            {FLAG_REASONS.map((reason) => (
              <Radio key={reason} value={reason} label={REASONS[reason]} />
            ))}
          </Stack>
        </Radio.Group>
        <Textarea
          label="Note"
          description={form.values.reason === 'other' ? 'Needed for this reason.' : 'May be left out.'}
          autosize
          minRows={2}
          maxRows={10}
          {...form.getInputProps('note')}
        />
        {flag.error && <ErrorNote error={flag.error} />}
        <div style={{ display: 'flex', justifyContent: 'flex-end', gap: '0.5rem' }}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={flag.isPending}>
            Flag the pack
          </Button>
        </div>
      </Stack>
    </form>
  );
}
