import { Modal, SegmentedControl, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { type CaptureDraft, type CaptureDraftErrors, importOf, useCaptureDraft } from './captureDraft.ts';
import { useCaptureRun } from './captureRun.ts';
import classes from './ImportCaptures.module.css';
import { TimeMapFields } from './TimeMapFields.tsx';
import { WarcFileField } from './WarcFileField.tsx';

export interface ImportCapturesProps {
  opened: boolean;
  onClose: () => void;
}

/** Brings in what others saw of addresses: a WARC file, or what an archive that speaks Memento lists. */
export function ImportCaptures({ opened, onClose }: ImportCapturesProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Import captures"
      size="lg"
      closeOnClickOutside={false}
      centered={false}
    >
      <ImportForm onClose={onClose} />
    </Modal>
  );
}

function ImportForm({ onClose }: { onClose: () => void }) {
  const { draft, change } = useCaptureDraft();
  const [errors, setErrors] = useState<CaptureDraftErrors>({});
  const { current, start } = useCaptureRun();
  const edit = (changes: Partial<CaptureDraft>) => {
    change(changes);
    // What was wrong with a field is past once it is changed.
    setErrors((before) => ({
      ...before,
      ...Object.fromEntries(Object.keys(changes).map((name) => [name, undefined])),
    }));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = importOf(draft);
    if ('errors' in parsed) return setErrors(parsed.errors);
    setErrors({});
    // It goes on behind the closed dialog; should it fail, what was typed is still here.
    void start(parsed.value, draft);
    onClose();
  };
  return (
    <form onSubmit={submit} className={classes.form} noValidate>
      <p className="small muted">
        What others saw stands beside what this node saw, under their name and with both times: when they say
        they took it, and when it came here. Nothing is backdated. Addresses that are new here are added
        paused.
      </p>
      <SegmentedControl
        aria-label="Where the captures are"
        value={draft.from}
        onChange={(from) => change({ from: from as 'file' | 'timemap' })}
        data={[
          { value: 'file', label: 'A WARC file' },
          { value: 'timemap', label: 'An archive’s TimeMap' },
        ]}
      />
      {draft.from === 'file' ? (
        <WarcFileField draft={draft} error={errors.file} onChange={edit} />
      ) : (
        <TimeMapFields draft={draft} errors={errors} onChange={edit} />
      )}
      <TextInput
        label="Observer"
        description="Whose captures these are, as it will stand beside each: an archive, an institution, a person."
        placeholder="Internet Archive"
        autoComplete="off"
        value={draft.observer}
        error={errors.observer}
        onChange={(event) => edit({ observer: event.currentTarget.value })}
      />
      <DialogButtons
        submit="Import"
        isPending={false}
        isDisabled={current.state === 'sending'}
        onCancel={onClose}
      />
    </form>
  );
}
