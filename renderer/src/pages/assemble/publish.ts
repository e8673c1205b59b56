import { type Pack, type PackRecord, packRecordSchema } from '../../../../shared/archive/pack.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { call, isProblem, sendRequest, upload, urlOf } from '../../api/client.ts';
import { type JobContext, runLocalJob, useJobs } from '../../state/jobs.ts';
import { rememberAuthors } from './draft.ts';
import { draftSession } from './draftSession.ts';
import { useDraft } from './draftStore.ts';
import type { DraftFile } from './files/draftFile.ts';

const { getState: get, setState: set } = useDraft;

/** What is published. */
interface Publishing {
  record: PackRecord;
  files: readonly DraftFile[];
  /** What the browser computed; undefined for a set, whose list the node writes. */
  fingerprint: string | undefined;
}

/**
 * Publishes what is shown: the node's draft or, for a visitor, an upload. It continues when the person leaves the page.
 * Never rejects: the outcome is in `publication`.
 */
export async function publish({ record, files, fingerprint }: Publishing): Promise<void> {
  const isOwners = get().saving.state !== 'local';
  if (isOwners) return follow({ fingerprint }, () => publishOnNode(record.title, fingerprint === undefined));
  const abort = new AbortController();
  await follow({ fingerprint, cancel: () => abort.abort() }, (show) =>
    runLocalJob(
      { title: `Publishing “${record.title}”`, unit: 'bytes', abort, href: '/assemble' },
      ({ signal, onProgress }) =>
        uploadPack(record, files, {
          signal,
          onProgress: (done, of) => {
            onProgress(done, of);
            show(done, of);
          },
        }),
    ),
  );
}

/** The draft that is being published as a set, so that a reloaded page goes on showing it. */
const PUBLISHING_KEY = 'strongroom-publishing';
const FORGET_AFTER_MS = 500;
let forgetting: ReturnType<typeof setTimeout> | undefined;

/** From now on nothing is resumed, also if another draft is opened at once. */
function forget(): void {
  localStorage.removeItem(PUBLISHING_KEY);
}

/** The node shows a set as a job of its own; a pack is published in a moment. */
function publishOnNode(title: string, isSet: boolean): Promise<Pack> {
  const published = () =>
    draftSession.publish((id) => {
      clearTimeout(forgetting);
      localStorage.setItem(PUBLISHING_KEY, id);
    });
  if (isSet) return published();
  return runLocalJob({ title: `Publishing “${title}”`, unit: 'bytes', href: '/assemble' }, published);
}

/**
 * Goes on with a publishing that this page was reloaded from: the request is sent again, and the node joins it with the
 * job that runs, or goes on after the last finished part.
 */
export function resumePublishing(): void {
  const id = localStorage.getItem(PUBLISHING_KEY);
  if (id === null || get().publication.state !== 'idle') return;
  void follow({ fingerprint: undefined, resumed: id }, () => call('publishDraft', { params: { id } }));
}

interface Followed extends Pick<Publishing, 'fingerprint'> {
  /** Without it, the job of the node is cancelled. */
  cancel?: () => void;
  /** The draft whose publishing is resumed. */
  resumed?: string;
}

async function follow(
  { fingerprint, cancel, resumed }: Followed,
  work: (show: (done: number, total: number | null) => void) => Promise<Pack>,
): Promise<void> {
  const started = performance.now();
  let isCancelled = false;
  let job: Job | undefined;
  const onCancel = () => {
    isCancelled = true;
    if (cancel) cancel();
    // If it cannot be cancelled, it ends as if nobody had asked.
    else if (job) call('cancelJob', { params: { id: job.id } }).catch(() => {});
  };
  const show = (
    done: number,
    of: number | null,
    rate = done / Math.max(0.001, (performance.now() - started) / 1000),
  ) =>
    set({
      publication: {
        state: 'running',
        done,
        total: of,
        rate,
        // A pack that the node records at once cannot be cancelled.
        cancel: cancel || job ? onCancel : undefined,
      },
    });
  show(0, null);
  const unfollow = cancel
    ? () => {}
    : useJobs.subscribe(({ node }) => {
        // A page that was reloaded knows the draft from its storage.
        const draft = resumed ?? localStorage.getItem(PUBLISHING_KEY);
        job = Object.values(node).findLast((each) => each.draft === draft && each.state === 'running') ?? job;
        if (job?.state === 'running') show(job.progress.done, job.progress.total, job.progress.rate);
      });
  try {
    const pack = await work(show);
    forget();
    pointJobsAt(pack);
    rememberAuthors(pack.authors);
    // Shown before the draft is cleared, so that the page never shows the emptied form.
    set({ publication: { state: 'published', pack, fingerprint } });
    // A publishing that is resumed may have been that of another draft than the one that is shown.
    if (resumed === undefined || get().saved?.id === resumed) draftSession.clear();
  } catch (error) {
    // Saving before publishing replaces the list of files, so those of now are what was refused.
    const { draft, files } = get();
    // The draft of a publishing that is resumed may have been deleted.
    const isOver = isCancelled || (isProblem(error, 'not_found') && resumed !== undefined);
    if (isOver) forget();
    // A page that is left ends its requests too, but does not live to forget that it was publishing.
    else forgetting = setTimeout(forget, FORGET_AFTER_MS);
    set({
      publication: isOver
        ? { state: 'idle', isCancelled: isCancelled && cancel === undefined }
        : { state: 'failed', error, draft, files },
    });
  } finally {
    unfollow();
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
