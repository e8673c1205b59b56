import { Button, Group, Modal, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle, IconWorldDownload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import {
  type ImportRequest,
  importRequestSchema,
  type PlannedImport,
  type RecordImport,
} from '../../../../../shared/archive/recordImport.ts';
import type { Job } from '../../../../../shared/node/job.ts';
import { writtenDoi } from '../../../../../shared/values/doi.ts';
import { call } from '../../../api/client.ts';
import { StateBadge } from '../../../components/data/Values.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { NodeJobBar } from '../../../components/feedback/JobsTray.tsx';
import { countOf, formatBytes } from '../../../format.ts';
import { createJobRun, useFollowedJob } from '../../../state/jobs.ts';
import classes from '../assemble.module.css';
import { draftSession } from '../draftSession.ts';

/** The import that was started here last. It goes on when its window is closed. */
const useRecordRun = createJobRun(async (body: ImportRequest) => {
  const started = await call('importRecord', { body });
  return 'kind' in started ? started.id : undefined;
});

/** Makes a draft of a record of a repository: what will come, its progress, and what became of it. */
export function FromRecordButton({ isEnabled }: { isEnabled: boolean }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const run = useRecordRun();
  return (
    <>
      <Button
        variant="default"
        disabled={!isEnabled}
        leftSection={<IconWorldDownload size={17} aria-hidden />}
        onClick={open}
      >
        From a DOI or an address
      </Button>
      <Modal opened={isOpen} onClose={close} title="From a DOI or an address" size="lg">
        {run.subject && (run.jobId !== undefined || run.isStarting || run.error !== undefined) ? (
          <RunningImport request={run.subject} onClose={close} />
        ) : (
          <Lookup onClose={close} />
        )}
      </Modal>
    </>
  );
}

/** Returns what was typed as a request: a DOI in any form, or an address. */
function requestOf(typed: string): ImportRequest {
  const text = typed.trim();
  const doi = writtenDoi(text);
  return doi === undefined ? { url: text } : { doi };
}

/** Asks for the record, and shows what an import would bring before anything else is fetched. */
function Lookup({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [refusal, setRefusal] = useState<string>();
  const start = useRecordRun((state) => state.start);
  const lookup = useMutation({
    mutationFn: async (request: ImportRequest) => {
      const planned = await call('importRecord', { query: { dry_run: 'true' }, body: request });
      return { request, planned: planned as PlannedImport };
    },
  });
  const submit = () => {
    const request = requestOf(typed);
    if (!importRequestSchema.safeParse(request).success)
      return setRefusal('Enter a DOI, such as 10.5281/zenodo.1234567, or an absolute address.');
    setRefusal(undefined);
    lookup.mutate(request);
  };
  const found = lookup.data;
  return (
    <form
      className="stack gap-4"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="line gap-3 end">
        <TextInput
          label="DOI or address"
          description="A record of Zenodo, InvenioRDM, Dataverse, OSF, figshare or Dryad, or a page that describes itself (Signposting, schema.org)."
          placeholder="10.5281/zenodo.1234567"
          value={typed}
          error={refusal}
          spellCheck={false}
          data-autofocus
          style={{ flex: 1 }}
          onChange={({ currentTarget }) => {
            setTyped(currentTarget.value);
            lookup.reset();
          }}
        />
      </div>
      {lookup.error && <ErrorNote error={lookup.error} onRetry={submit} />}
      {found && <RecordSummary record={found.planned} license={found.planned.license} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        {found ? (
          <Button onClick={() => void start(found.request)}>{importLabel(found.planned)}</Button>
        ) : (
          <Button type="submit" loading={lookup.isPending} disabled={typed.trim() === ''}>
            Show what will come
          </Button>
        )}
      </Group>
    </form>
  );
}

function importLabel({ files }: PlannedImport): string {
  const planned = files.filter(({ state }) => state === 'planned');
  if (planned.length === 0) return 'Import the description';
  const bytes = planned.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  return `Import ${countOf(planned.length, 'file')}${bytes > 0 ? ` (${formatBytes(bytes)})` : ''}`;
}

/** The import while it runs, and what became of it. */
function RunningImport({ request, onClose }: { request: ImportRequest; onClose: () => void }) {
  const { jobId, error, start } = useRecordRun();
  const job = useFollowedJob(jobId);
  const failure =
    error ?? (job?.state === 'failed' ? new Error(job.error ?? 'The import failed.') : undefined);
  const again = () => void start(request);
  if (failure !== undefined)
    return (
      <div className="stack gap-4">
        <ErrorNote error={failure} onRetry={again} />
        <Buttons />
      </div>
    );
  if (job && job.state !== 'running') return <EndedImport job={job} onContinue={again} onClose={onClose} />;
  return (
    <div className="stack gap-4">
      <p className="muted wrap-anywhere">{request.doi ?? request.url}</p>
      <NodeJobBar title="Importing the record" job={job} jobId={jobId} unit="bytes" />
      <p className="muted small">The import goes on if you close this window.</p>
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </div>
  );
}

interface EndedImportProps {
  job: Job;
  onContinue: () => void;
  onClose: () => void;
}

/** What became of the files. An import that was stopped, or lacks some, can go on. */
function EndedImport({ job, onContinue, onClose }: EndedImportProps) {
  const clear = useRecordRun((state) => state.clear);
  const [openError, setOpenError] = useState<unknown>();
  const result = job.result as RecordImport | null;
  const isStopped = job.state === 'cancelled';
  const lacksFiles = result?.files.some(({ state }) => state === 'failed');
  const open = async (draft: string) => {
    try {
      await draftSession.open(draft);
    } catch (reason) {
      return setOpenError(reason);
    }
    clear();
    onClose();
  };
  return (
    <div className="stack gap-4">
      {isStopped && <p>The import was stopped. What had come is kept.</p>}
      {result && <RecordSummary record={result} />}
      {openError !== undefined && <ErrorNote error={openError} />}
      <Buttons>
        {(isStopped || lacksFiles) && (
          <Button variant="default" onClick={onContinue}>
            Continue the import
          </Button>
        )}
        {result && <Button onClick={() => void open(result.draft)}>Open the draft</Button>}
      </Buttons>
    </div>
  );
}

/** The buttons below an import that has ended. */
function Buttons({ children }: { children?: ReactNode }) {
  const clear = useRecordRun((state) => state.clear);
  return (
    <Group justify="flex-end" gap="sm">
      <Button variant="default" onClick={clear}>
        Another record
      </Button>
      {children}
    </Group>
  );
}

type AnyImport = PlannedImport | RecordImport;

interface RecordSummaryProps {
  record: AnyImport;
  /** As the repository names it; undefined once the record is in the draft. */
  license?: string | null;
}

/** Longer lists are cut, because a record may have ten thousand files. Those that do not come are first. */
const MAX_SHOWN = 200;

/** A record with its files and what must be known of it. */
function RecordSummary({ record, license }: RecordSummaryProps) {
  const { title, doi, url, files, warnings } = record;
  const shown = files.toSorted((left, right) => rank(left) - rank(right)).slice(0, MAX_SHOWN);
  return (
    <section aria-label="Record" className="stack gap-3">
      <div className="stack gap-1 wrap-anywhere">
        <h3>{title}</h3>
        <p className="muted small">
          <a href={url} target="_blank" rel="noreferrer">
            {doi ?? url}
          </a>
        </p>
        <p className="small numeric">
          {countsOf(record)}
          {license !== undefined && ` · ${license ?? 'No licence stated'}`}
        </p>
      </div>
      {warnings.length > 0 && (
        <div className="card card-warn">
          <ul aria-label="To know" className="plain stack gap-2 small wrap-anywhere">
            {warnings.map((warning) => (
              <li key={warning} className="line gap-2 start">
                <IconAlertTriangle size={16} aria-hidden className={classes.icon} />
                <span>{warning}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {shown.length > 0 && (
        // The list scrolls, so it must be reachable with the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <ul aria-label="Files" tabIndex={0} className={`${classes.files} ruled plain scroll`}>
          {shown.map(({ path, bytes, state }) => (
            <li key={path} className="line gap-3 between">
              <span className="wrap-anywhere">{path}</span>
              <span className="rigid line gap-3 nowrap">
                <span className="muted small numeric">
                  {bytes === null ? 'size unknown' : formatBytes(bytes)}
                </span>
                <StateBadge kind="imported" value={state} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {files.length > shown.length && (
        <p className="muted small">and {countOf(files.length - shown.length, 'more file', 'more files')}</p>
      )}
    </section>
  );
}

function rank({ state }: AnyImport['files'][number]): number {
  return state === 'planned' || state === 'held' ? 1 : 0;
}

function countsOf(record: AnyImport): string {
  const good = record.files.filter(({ state }) => state === 'planned' || state === 'held');
  const bytes = good.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const all = record.files.length;
  if (all === 0) return 'No files';
  const of = good.length === all ? countOf(all, 'file') : `${good.length} of ${countOf(all, 'file')}`;
  return `${of}, ${formatBytes(bytes)} ${record.draft === null ? 'to come' : 'in the draft'}`;
}
