import { Radio, Stack, Textarea } from '@mantine/core';
import { newFlagSchema } from '../../../../shared/archive/pack.ts';
import { FLAG_REASONS, type FlagReason } from '../../../../shared/archive/vocabulary.ts';
import {
  DialogForm,
  FormDialog,
  type FormDialogControls,
  rulesOf,
  useItemForm,
} from '../../components/forms/DialogForm.tsx';

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
    <FormDialog opened={opened} onClose={onClose} title="Flag pack">
      {(controls) => <FlagForm packId={packId} {...controls} />}
    </FormDialog>
  );
}

function FlagForm({ packId, onDone, ...controls }: { packId: string } & FormDialogControls) {
  const { form, save } = useItemForm({
    route: 'flagPack',
    initialValues: { reason: '', note: '' },
    validate: (flag) => (flag.reason === '' ? { reason: 'Choose a reason.' } : rulesOf(newFlagSchema)(flag)),
    request: (values) => ({ params: { id: packId }, body: newFlagSchema.parse(values) }),
    onSaved: onDone,
  });
  return (
    <DialogForm form={form} controls={controls} save={save} submit="Flag pack">
      <p className="muted small">
        Flags are public. They are shown on the pack and recorded in the ledger permanently. The pack itself
        does not change.
      </p>
      <Radio.Group label="Reason" {...form.getInputProps('reason')}>
        <Stack gap="xs" mt="xs">
          {FLAG_REASONS.map((each) => (
            <Radio key={each} value={each} label={FLAG_REASON_LABELS[each]} />
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
    </DialogForm>
  );
}
