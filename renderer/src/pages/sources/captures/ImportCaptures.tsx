import { Modal, SegmentedControl, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { type CaptureDraftErrors, importOf, useCaptureDraft } from './captureDraft.ts';
import type { CaptureDraft } from './captureImport.ts';
import { useCaptureRun } from './captureRun.ts';
import classes from './ImportCaptures.module.css';
import { TimeMapFields } from './TimeMapFields.tsx';
import { WarcFileField } from './WarcFileField.tsx';

export interface ImportCapturesProps {
  opened: boolean;
  onClose: () => void;
}

/** Imports captures made by others: from a WARC file, or from an archive that supports Memento. */
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
    // A field's error is cleared when the field changes.
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
    // The import continues after the dialog closes. If it fails, the draft is still here.
    void start(parsed.value, draft);
    onClose();
  };
  return (
    <form onSubmit={submit} className={classes.form} noValidate>
      <p className="small muted">
        Captures by others are shown next to your own, with their observer’s name and both times: when they
        were captured and when this node received them. Nothing is backdated. New URLs are added as paused
        sources.
      </p>
      <SegmentedControl
        aria-label="Import from"
        value={draft.from}
        onChange={(from) => change({ from: from as 'file' | 'timemap' })}
        data={[
          { value: 'file', label: 'WARC file' },
          { value: 'timemap', label: 'Archive TimeMap' },
        ]}
      />
      {draft.from === 'file' ? (
        <WarcFileField draft={draft} error={errors.file} onChange={edit} />
      ) : (
        <TimeMapFields draft={draft} errors={errors} onChange={edit} />
      )}
      <TextInput
        label="Observer"
        description="Who made these captures: an archive, an institution or a person. The name is shown with each capture."
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
