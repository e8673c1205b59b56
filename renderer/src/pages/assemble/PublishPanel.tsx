import { Button, Group } from '@mantine/core';
import { IconCircleCheck, IconPackageExport } from '@tabler/icons-react';
import { type Pack, type PackRecord, packRecordSchema } from '../../../../shared/archive/pack.ts';
import type { Tag } from '../../../../shared/archive/vocabulary.ts';
import { MAX_PACK_BYTES, TERMS_VERSION } from '../../../../shared/limits.ts';
import { sendRequest, urlOf } from '../../api/client.ts';
import { upload } from '../../api/streams.ts';
import { DigestChip, Meter, StateBadge } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { JobBar } from '../../components/feedback/JobsTray.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import { type JobContext, runLocalJob, useJobs } from '../../state/jobs.ts';
import { type Draft, rememberAuthors } from './draft.ts';
import type { Issue } from './draftRecord.ts';
import { draftSession } from './draftSession.ts';
import { useDraft } from './draftStore.ts';
import type { DraftFile } from './files/draftFile.ts';
import classes from './PublishPanel.module.css';
import { jumpToField, useIsDraftOpen, usePackForm } from './packForm.ts';

/** How many open issues are listed at once. */
const MAX_LISTED = 8;

interface LivePanelProps {
  issues: readonly Issue[];
  /** The fingerprint of the current record; undefined while the record is incomplete. */
  fingerprint: string | undefined;
  onPublish: () => void;
}

/** The state of the draft (size, tag, fingerprint, open issues) and the Publish button. */
export function PublishPanel({ issues, fingerprint, onPublish }: LivePanelProps) {
  const { draft } = usePackForm();
  const files = useDraft((state) => state.files);
  const publication = useDraft((state) => state.publication);
  const isDraftOpen = useIsDraftOpen();
  return (
    <aside className={`${classes.panel} sheet stack gap-4 scroll`} aria-label="Publish">
      <Size files={files} />
      <TagAndWhy draft={draft} />
      <div className={`${classes.part} stack gap-1`}>
        <h3>Fingerprint</h3>
        {fingerprint ? (
          <p>
            <DigestChip digest={fingerprint} label="fingerprint" />
          </p>
        ) : (
          <p className="small muted">Computed when the record is complete.</p>
        )}
      </div>
      {publication.state !== 'running' && isDraftOpen && <Missing issues={issues} />}
      {publication.state === 'failed' && <ErrorNote error={publication.error} />}
      {publication.state === 'running' ? (
        <JobBar title="Publishing" unit="bytes" {...publication} onCancel={publication.cancel} />
      ) : (
        <Button
          fullWidth
          size="md"
          className={classes.publish}
          disabled={!isDraftOpen}
          onClick={onPublish}
          leftSection={<IconPackageExport size={19} aria-hidden />}
        >
          Publish
        </Button>
      )}
      <p className="small muted" id="field/terms_version" tabIndex={-1}>
        By publishing, you accept the terms of {TERMS_VERSION}: you have the right to publish these files
        under this licence. A published pack is recorded permanently and cannot be withdrawn.
      </p>
      <SaveState isFailureShown={publication.state === 'failed'} />
    </aside>
  );
}

function Size({ files }: { files: readonly DraftFile[] }) {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const isOver = bytes > MAX_PACK_BYTES;
  return (
    <div className={`${classes.part} stack gap-1`}>
      <h3>Size</h3>
      <Meter label="Total file size and the pack limit" value={bytes} max={MAX_PACK_BYTES} isOver={isOver} />
      <p className="numeric" data-over={isOver || undefined}>
        {formatBytes(bytes)} of {formatBytes(MAX_PACK_BYTES)}, {countOf(files.length, 'file')}
      </p>
      <p className="small muted numeric">
        {formatCount(bytes)} of {formatCount(MAX_PACK_BYTES)} bytes
        {isOver && `: ${formatCount(bytes - MAX_PACK_BYTES)} over the limit`}
      </p>
    </div>
  );
}

function TagAndWhy({ draft }: { draft: Draft }) {
  const { tag, why } = tagAndWhy(draft);
  return (
    <div className={`${classes.part} stack gap-1`}>
      <h3>Tag</h3>
      {tag && (
        <p>
          <StateBadge kind="tag" value={tag} look="boxed" />
        </p>
      )}
      <p className="small muted">{why}</p>
    </div>
  );
}

function tagAndWhy({ hasMethod, method }: Draft): { tag?: Tag; why: string } {
  const isGiven = hasMethod && (method.text.trim() !== '' || method.link.trim() !== '');
  if (!isGiven) {
    return { tag: 'report-only', why: 'The pack has no method, so it cannot be reproduced.' };
  }
  if (method.complete === null) {
    return { why: 'Replicable or report-only: state whether the method is complete.' };
  }
  if (!method.complete) {
    return { tag: 'report-only', why: 'You state that the method is not complete.' };
  }
  return { tag: 'replicable', why: 'You state that the method is complete.' };
}

function Missing({ issues }: { issues: readonly Issue[] }) {
  if (issues.length === 0) {
    return (
      <p className="line gap-2 strong good">
        <IconCircleCheck size={18} aria-hidden /> Ready to publish
      </p>
    );
  }
  return (
    <div className={`${classes.part} stack gap-1`}>
      <h3>To do before publishing</h3>
      <ul className={`${classes.missing} plain`}>
        {issues.slice(0, MAX_LISTED).map(({ field, message }) => (
          <li key={field + message}>
            <button type="button" onClick={() => jumpToField(field)}>
              {message}
            </button>
          </li>
        ))}
      </ul>
      {issues.length > MAX_LISTED && (
        <p className="small muted">{countOf(issues.length - MAX_LISTED, 'more item')}</p>
      )}
    </div>
  );
}

/** Says where the draft is saved, and why it is not, unless that is shown already as the failure of publishing. */
function SaveState({ isFailureShown }: { isFailureShown: boolean }) {
  const saving = useDraft((state) => state.saving);
  const hasDraft = useDraft(({ saved }) => saved !== undefined);
  const isUnsaved = useDraft((state) => state.isUnsaved);
  const waiting = useDraft(({ files }) => files.filter(({ path, savedPath }) => path !== savedPath).length);
  switch (saving.state) {
    case 'local':
      return (
        <p className="small muted">
          {isUnsaved
            ? 'This browser cannot save the draft because its storage is full or disabled. Publish before you leave.'
            : 'The draft is saved in this browser as you type.'}
        </p>
      );
    case 'opening':
      return <p className="small muted">Opening the draft…</p>;
    case 'openFailed':
      return <ErrorNote error={saving.error} onRetry={() => void draftSession.start()} />;
    case 'failed':
      if (isFailureShown) return null;
      // A failure is shown here again.
      return <ErrorNote error={saving.error} onRetry={() => void draftSession.flush().catch(() => {})} />;
    case 'changed elsewhere':
      return (
        <div role="alert" className={`${classes.part} stack gap-1`}>
          <p>This draft was changed in another window. Your last changes here are not saved.</p>
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => void draftSession.resolve('theirs')}>
              Show the other version
            </Button>
            <Button size="xs" variant="default" onClick={() => void draftSession.resolve('mine')}>
              Keep this version
            </Button>
          </Group>
        </div>
      );
    case 'saving':
      return <p className="small muted">Saving the draft…</p>;
    case 'saved':
      return (
        <p className="small muted">
          {!hasDraft && 'The draft is saved on this node as you type.'}
          {hasDraft && waiting === 0 && 'The draft is saved on this node.'}
          {hasDraft &&
            waiting > 0 &&
            `The draft is saved on this node, except ${countOf(waiting, 'file')} with a problem.`}
        </p>
      );
  }
}

/**
 * Publishes what is shown: the node's draft or, for a visitor, an upload. It continues when the person leaves the page.
 * Never rejects: the outcome is in `publication`.
 */
export async function publish(
  record: PackRecord,
  files: readonly DraftFile[],
  fingerprint: string,
): Promise<void> {
  const { getState: get, setState: set } = useDraft;
  const abort = new AbortController();
  const started = performance.now();
  const show = (done: number, total: number | null) => {
    const rate = done / Math.max(0.001, (performance.now() - started) / 1000);
    set({ publication: { state: 'running', done, total, rate, cancel: () => abort.abort() } });
  };
  show(0, null);
  try {
    const pack = await runLocalJob(
      { title: `Publishing “${record.title}”`, unit: 'bytes', abort, href: '/assemble' },
      ({ signal, onProgress }) => {
        if (get().saving.state !== 'local') return draftSession.publish();
        return uploadPack(record, files, {
          signal,
          onProgress: (done, total) => {
            onProgress(done, total);
            show(done, total);
          },
        });
      },
    );
    pointJobsAt(pack);
    rememberAuthors(pack.authors);
    // Shown before the draft is cleared, so that the page never shows the emptied form.
    set({ publication: { state: 'published', pack, fingerprint } });
    draftSession.clear();
  } catch (error) {
    // Saving before publishing replaces the list of files, so those of now are what was refused.
    const { draft, files: refused } = get();
    const isCancelled = abort.signal.aborted;
    set({
      publication: isCancelled ? { state: 'idle' } : { state: 'failed', error, draft, files: refused },
    });
  }
}

/** A finished job links to the pack, not to the emptied form. */
function pointJobsAt(pack: Pack): void {
  const { local, updateLocalJob } = useJobs.getState();
  for (const job of Object.values(local)) {
    if (job.href === '/assemble' && job.state === 'done')
      updateLocalJob({ ...job, href: `/packs/${pack.id}` });
  }
}

/**
 * Uploads a pack: the record, then one part per file, with its path as the file name. Files that the archive already has
 * are fetched first, because an upload contains all files of its record.
 * @throws ApiProblem, NodeUnreachable, or an AbortError when it is cancelled.
 */
async function uploadPack(
  record: PackRecord,
  files: readonly DraftFile[],
  { signal, onProgress }: JobContext,
): Promise<Pack> {
  const form = new FormData();
  form.append('record', JSON.stringify(packRecordSchema.parse(record)));
  for (const file of files) {
    const content = file.file ?? (await fetchStored(file, signal));
    form.append('files', content.slice(0, content.size, file.mediaType), file.path);
  }
  return upload('addPack', { body: form, signal, onProgress });
}

async function fetchStored({ path, sha256 = '' }: DraftFile, signal: AbortSignal): Promise<Blob> {
  const response = await sendRequest(urlOf('readBlob', { params: { sha256 } }), { method: 'GET', signal });
  if (!response.ok) {
    throw new Error(
      `${path} of the previous version could not be read (status ${response.status}). Add the file again.`,
    );
  }
  return response.blob();
}
