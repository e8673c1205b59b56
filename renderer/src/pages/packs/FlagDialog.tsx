import { Button, Modal, Radio, Stack, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import { newFlagSchema } from '../../../../shared/archive/pack.ts';
import { FLAG_REASONS, type FlagReason } from '../../../../shared/archive/vocabulary.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';

/** The reasons as a person reads them. */
export const FLAG_REASON_LABELS: Record<FlagReason, string> = {
  privacy: 'Contains private data',
  copyright: 'Violates someone’s copyright',
  fabricated: 'Data or results appear to be fabricated',
  unsafe: 'Could harm someone',
  duplicate: 'Duplicate of another pack',
  other: 'Other (explain in the note)',
};

export interface FlagDialogProps {
  packId: string;
  opened: boolean;
  onClose: () => void;
}

/** Reports a problem with a pack publicly. The pack itself is not changed. */
export function FlagDialog({ packId, opened, onClose }: FlagDialogProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Flag pack" keepMounted>
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
        ? { reason: 'Explain what is wrong.' }
        : zod4Resolver(newFlagSchema)({ ...values, reason: values.reason }),
  });
  const flag = useMutation({
    mutationFn: (values: { reason: FlagReason; note: string }) =>
      call('flagPack', { params: { id: packId }, body: values }),
    onSuccess: async () => {
      onClose();
      form.reset();
      await Promise.all([
        queries.invalidateQueries({ queryKey: callKey('readPack') }),
        queries.invalidateQueries({ queryKey: callKey('listPacks') }),
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
          Flags are public. They are shown on the pack and recorded in the ledger permanently. The pack itself
          does not change.
        </p>
        <Radio.Group label="Reason" {...form.getInputProps('reason')}>
          <Stack gap="xs" mt="xs">
            {FLAG_REASONS.map((reason) => (
              <Radio key={reason} value={reason} label={FLAG_REASON_LABELS[reason]} />
            ))}
          </Stack>
        </Radio.Group>
        <Textarea
          label="Note"
          description={form.values.reason === 'other' ? 'Required for this reason.' : 'Optional.'}
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
            Flag pack
          </Button>
        </div>
      </Stack>
    </form>
  );
}
