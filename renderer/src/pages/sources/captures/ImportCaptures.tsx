import { Checkbox, Modal, NumberInput, SegmentedControl, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { DEFAULT_MEMENTOS, MAX_MEMENTOS } from '../../../../../shared/collection/captures.ts';
import { DialogButtons } from '../../../components/forms/DialogForm.tsx';
import { FileDropField } from '../../../components/forms/FileDropField.tsx';
import { formatCount } from '../../../format.ts';
import {
  type CaptureDraft,
  type CaptureDraftErrors,
  importOf,
  useCaptureDraft,
  useCaptureRun,
} from './captureImport.ts';

interface ImportCapturesProps {
  opened: boolean;
  onClose: () => void;
}

/** Imports captures made by others: from a WARC or WACZ file, or from an archive that supports Memento. */
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
    <form onSubmit={submit} className="stack gap-4" noValidate>
      <p className="small muted">
        Imported captures are shown next to your own, with the observer’s name and two times: when they were
        captured and when this node received them. Nothing is backdated. New URLs are added as paused sources.
      </p>
      <SegmentedControl
        aria-label="Import from"
        value={draft.from}
        onChange={(from) => change({ from: from as 'file' | 'timemap' })}
        data={[
          { value: 'file', label: 'WARC or WACZ file' },
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

interface WarcFileFieldProps {
  draft: CaptureDraft;
  error: string | undefined;
  onChange: (change: Partial<CaptureDraft>) => void;
}

/** Accepts a WARC file or a WACZ package by drop or file picker. */
function WarcFileField({ draft: { file }, error, onChange }: WarcFileFieldProps) {
  return (
    <FileDropField
      label="WARC or WACZ file"
      file={file}
      endings=".warc, .warc.gz or .wacz"
      accept=".warc,.gz,.wacz,application/warc,application/gzip,application/wacz"
      error={error}
      onFile={(chosen) => onChange({ file: chosen })}
    />
  );
}

interface TimeMapFieldsProps {
  draft: CaptureDraft;
  errors: CaptureDraftErrors;
  onChange: (change: Partial<CaptureDraft>) => void;
}

/** Selects the captures to import from an archive that supports Memento. */
function TimeMapFields({ draft, errors, onChange }: TimeMapFieldsProps) {
  return (
    <>
      <TextInput
        label="TimeMap"
        description="The URL of the archive’s list of captures of one page (RFC 7089)."
        placeholder="https://web.archive.org/web/timemap/link/https://example.org/"
        inputMode="url"
        autoComplete="off"
        value={draft.timemap}
        error={errors.timemap}
        onChange={(event) => onChange({ timemap: event.currentTarget.value })}
      />
      <div className="stack columns-narrow gap-4">
        <TextInput
          type="date"
          label="From"
          description="Default: the first capture."
          value={draft.since}
          error={errors.since}
          onChange={(event) => onChange({ since: event.currentTarget.value })}
        />
        <TextInput
          type="date"
          label="To"
          description="Default: the last capture."
          value={draft.until}
          error={errors.until}
          onChange={(event) => onChange({ until: event.currentTarget.value })}
        />
        <NumberInput
          label="Maximum number"
          description={`Default: ${formatCount(DEFAULT_MEMENTOS)}.`}
          suffix=" captures"
          min={1}
          max={MAX_MEMENTOS}
          clampBehavior="none"
          allowDecimal={false}
          hideControls
          value={draft.limit}
          error={errors.limit}
          onChange={(value) => onChange({ limit: String(value) })}
        />
      </div>
      <Checkbox
        label="Ignore the archive’s robots.txt"
        description="Request pauses, limits and Retry-After are still respected."
        checked={draft.ignoreRobots}
        onChange={(event) => onChange({ ignoreRobots: event.currentTarget.checked })}
      />
    </>
  );
}
