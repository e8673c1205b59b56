import { Modal, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { changeOf, type DraftErrors, EMPTY_DRAFT, errorsOf } from '../form/sourceForm.ts';
import { ScheduleFields } from '../schedule/ScheduleFields.tsx';
import { EMPTY_SCHEDULE, scheduleOf } from '../schedule/scheduleDraft.ts';
import type { BulkChange, ChangeOf } from './bulkChange.ts';

export interface BulkScheduleProps {
  /** `3 sources` */
  what: string;
  change: BulkChange;
  onSet: (changeOf: ChangeOf) => void;
  onClose: () => void;
}

/** Sets when the selected sources are checked. */
export function BulkSchedule({ what, change, onSet, onClose }: BulkScheduleProps) {
  const [draft, setDraft] = useState(EMPTY_SCHEDULE);
  const [errors, setErrors] = useState<DraftErrors>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = changeOf({ ...EMPTY_DRAFT, ...draft });
    setErrors('errors' in parsed ? parsed.errors : {});
    if ('value' in parsed) onSet(() => scheduleOf(draft));
  };
  const shown = change.isError ? { ...errorsOf(change.error), ...errors } : errors;
  return (
    <Modal opened onClose={onClose} title={`Schedule of ${what}`}>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <ScheduleFields
            draft={draft}
            errors={shown}
            onChange={(next) => setDraft((before) => ({ ...before, ...next }))}
          />
          {change.isError && Object.keys(shown).length === 0 && <ErrorNote error={change.error} />}
          <DialogButtons submit="Save" isPending={change.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
