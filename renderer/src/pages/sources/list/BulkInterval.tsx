import { Modal, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { sourceChangeSchema } from '../../../../../shared/collection/source.ts';
import { issueMessage } from '../../../../../shared/values/issueMessage.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { IntervalInput } from '../../../components/forms/IntervalInput.tsx';
import { intervalText } from '../../../format/interval.ts';
import type { BulkChange, ChangeOf } from './bulkChange.ts';

export interface BulkIntervalProps {
  /** `3 sources` */
  what: string;
  change: BulkChange;
  onSet: (changeOf: ChangeOf) => void;
  onClose: () => void;
}

/** Sets the interval of the selected sources. */
export function BulkInterval({ what, change, onSet, onClose }: BulkIntervalProps) {
  const { data: settings } = useCall('readSettings');
  const [minutes, setMinutes] = useState('');
  const [error, setError] = useState<string>();
  const nodes = settings?.collection_every_minutes;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const every_minutes = minutes === '' ? null : Number(minutes);
    const issue = sourceChangeSchema.safeParse({ every_minutes }).error?.issues[0];
    const fault = issue && issueMessage(issue);
    setError(fault);
    if (fault === undefined) onSet(() => ({ every_minutes }));
  };
  return (
    <Modal opened onClose={onClose} title={`Interval of ${what}`}>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <IntervalInput
            label="Check every"
            description={`Empty: node default${nodes === undefined ? '' : ` (${intervalText(nodes)})`}.`}
            value={minutes}
            error={error}
            onChange={setMinutes}
          />
          {change.isError && <ErrorNote error={change.error} />}
          <DialogButtons submit="Save" isPending={change.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
