import { Checkbox, NumberInput, SegmentedControl, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { z } from 'zod';
import { create } from 'zustand';
import {
  type CaptureResult,
  captureResultSchema,
  DEFAULT_MEMENTOS,
  MAX_MEMENTOS,
  type MementoImport,
  mementoImportSchema,
  observerSchema,
} from '../../../../../shared/collection/captures.ts';
import { MAX_CAPTURE_FILE_BYTES } from '../../../../../shared/limits.ts';
import { sendStream, upload } from '../../../api/client.ts';
import { DialogButtons } from '../../../components/forms/DialogForm.tsx';
import { FileDropField } from '../../../components/forms/FileDropField.tsx';
import { formatBytes, formatCount } from '../../../format.ts';
import { runLocalJob } from '../../../state/jobs.ts';
import { createKeptDraft } from '../../../state/keptDraft.ts';
import { type DraftProps, inputsOf } from '../sourceForm.ts';

/** Imports captures made by others: from a WARC or WACZ file, or from an archive that supports Memento. */
export function ImportCapturesForm({ onClose }: { onClose: () => void }) {
  const { draft, change } = useCaptureDraft();
  const [errors, setErrors] = useState<CaptureDraftErrors>({});
  const { current, start } = useCaptureRun();
  const onChange = (changes: Partial<CaptureDraft>) => {
    change(changes);
    // A field's error is cleared when the field changes.
    setErrors((before) => ({
      ...before,
      ...Object.fromEntries(Object.keys(changes).map((name) => [name, undefined])),
    }));
  };
  const fields = { draft, errors, onChange };
  const input = inputsOf(fields);
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
        <FileDropField
          label="WARC or WACZ file"
          file={draft.file}
          endings=".warc, .warc.gz or .wacz"
          accept=".warc,.gz,.wacz,application/warc,application/gzip,application/wacz"
          error={errors.file}
          onFile={(file) => onChange({ file })}
        />
      ) : (
        <TimeMapFields {...fields} />
      )}
      <TextInput
        label="Observer"
        description="Who made these captures: an archive, an institution or a person. The name is shown with each capture."
        placeholder="Internet Archive"
        autoComplete="off"
        {...input.text('observer')}
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

/** Selects the captures to import from an archive that supports Memento. */
function TimeMapFields(fields: DraftProps<CaptureDraft>) {
  const input = inputsOf(fields);
  return (
    <>
      <TextInput
        label="TimeMap"
        description="The URL of the archive’s list of captures of one page (RFC 7089)."
        placeholder="https://web.archive.org/web/timemap/link/https://example.org/"
        inputMode="url"
        autoComplete="off"
        {...input.text('timemap')}
      />
      <div className="stack columns-narrow gap-4">
        <TextInput
          type="date"
          label="From"
          description="Default: the first capture."
          {...input.text('since')}
        />
        <TextInput type="date" label="To" description="Default: the last capture." {...input.text('until')} />
        <NumberInput
          label="Maximum number"
          description={`Default: ${formatCount(DEFAULT_MEMENTOS)}.`}
          suffix=" captures"
          min={1}
          max={MAX_MEMENTOS}
          clampBehavior="none"
          allowDecimal={false}
          hideControls
          {...input.number('limit')}
        />
      </div>
      <Checkbox
        label="Ignore the archive’s robots.txt"
        description="Request pauses, limits and Retry-After are still respected."
        {...input.checkbox('ignoreRobots')}
      />
    </>
  );
}

/** The form's fields as text. */
interface CaptureDraft {
  from: 'file' | 'timemap';
  observer: string;
  /** Kept only while the page is open: sessionStorage cannot hold a file. */
  file: File | null;
  timemap: string;
  /** Dates, `2026-11-20`, or empty. */
  since: string;
  until: string;
  /** A number, or empty for the node's default. */
  limit: string;
  ignoreRobots: boolean;
}

/** Who made the captures, and where to import them from. */
type CaptureImport = { observer: string } & ({ file: File } | { timeMap: MementoImport });

type CaptureDraftErrors = Partial<Record<keyof CaptureDraft, string>>;

const EMPTY: CaptureDraft = {
  from: 'file',
  observer: '',
  file: null,
  timemap: '',
  since: '',
  until: '',
  limit: '',
  ignoreRobots: false,
};

/** The import form, until the import succeeds. */
export const useCaptureDraft = createKeptDraft('strongroom-captures', EMPTY, (draft) => ({
  ...draft,
  file: null,
}));

/** Validates the form with the node's own rules. */
function importOf(draft: CaptureDraft): { value: CaptureImport } | { errors: CaptureDraftErrors } {
  const observer = observerSchema.safeParse(draft.observer.trim());
  const errors: CaptureDraftErrors = observer.success
    ? {}
    : {
        observer: draft.observer.trim() === '' ? 'Enter who made these captures.' : messageOf(observer.error),
      };
  if (draft.from === 'file') {
    const { file } = draft;
    if (!file) errors.file = 'Choose a WARC or WACZ file, or drop it here.';
    else if (file.size > MAX_CAPTURE_FILE_BYTES)
      errors.file = `The file is ${formatBytes(file.size)}. The limit is ${formatBytes(MAX_CAPTURE_FILE_BYTES)}.`;
    return file && observer.success && !errors.file
      ? { value: { observer: observer.data, file } }
      : { errors };
  }
  const timeMap = mementoImportSchema.safeParse({
    timemap: draft.timemap.trim(),
    ...(draft.since && { from: draft.since }),
    ...(draft.until && { to: draft.until }),
    ...(draft.limit && { limit: Number(draft.limit) }),
    ignore_robots: draft.ignoreRobots,
  });
  if (observer.success && timeMap.success) {
    return { value: { observer: observer.data, timeMap: timeMap.data } };
  }
  const fields = timeMap.success ? {} : z.flattenError(timeMap.error).fieldErrors;
  const found = {
    ...errors,
    timemap: fields.timemap?.[0],
    since: fields.from?.[0],
    until: fields.to?.[0],
    limit: fields.limit?.[0],
  };
  return { errors: found };
}

function messageOf(error: z.ZodError): string {
  return error.issues[0]?.message ?? 'This value is not valid.';
}

type CaptureImportState =
  | { state: 'idle' }
  /** Uploading to the node. */
  | { state: 'sending'; what: string; done: number; total: number | null; rate: number; cancel: () => void }
  /** The node has the whole upload. The job reports the rest. */
  | { state: 'taken'; observer: string; what: string; jobId: string; draft: CaptureDraft }
  | { state: 'failed'; error: unknown };

interface CaptureRun {
  current: CaptureImportState;
  /** Never rejects: the outcome is in `current`. `draft` is the form that is discarded after success. */
  start: (captures: CaptureImport, draft: CaptureDraft) => Promise<void>;
  clear: () => void;
}

/** The last import that was started. It continues, and its result is kept, when the page is left. */
export const useCaptureRun = create<CaptureRun>()((set) => ({
  current: { state: 'idle' },
  clear: () => set({ current: { state: 'idle' } }),
  start: async (captures, draft) => {
    const { observer } = captures;
    const abort = new AbortController();
    const what = 'file' in captures ? captures.file.name : captures.timeMap.timemap;
    const started = performance.now();
    const show = (done: number, total: number | null) => {
      const rate = done / Math.max(0.001, (performance.now() - started) / 1000);
      set({ current: { state: 'sending', what, done, total, rate, cancel: () => abort.abort() } });
    };
    show(0, null);
    try {
      const query = { observer, wait: false };
      const answer =
        'file' in captures
          ? await runLocalJob(
              { title: `Sending ${what}`, unit: 'bytes', abort, href: '/sources' },
              ({ signal, onProgress }) =>
                upload('importCaptures', {
                  query,
                  body: captures.file,
                  mediaType: 'application/warc',
                  signal,
                  onProgress: (done, total) => {
                    onProgress(done, total);
                    show(done, total);
                  },
                }),
            )
          : await sendStream('importCaptures', {
              query,
              body: JSON.stringify(captures.timeMap),
              mediaType: 'application/json',
              signal: abort.signal,
            });
      if (!('id' in answer)) throw new Error('The node did not return an import job. Try again.');
      set({ current: { state: 'taken', observer, what, jobId: answer.id, draft } });
    } catch (error) {
      set({ current: abort.signal.aborted ? { state: 'idle' } : { state: 'failed', error } });
    }
  },
}));

/** The result of an import job. */
export function captureResultOf(result: unknown): CaptureResult | undefined {
  return captureResultSchema.safeParse(result).data;
}
