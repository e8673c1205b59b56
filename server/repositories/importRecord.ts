import { createHash, hash } from 'node:crypto';
import pLimit from 'p-limit';
import type { ImportRequest, PlannedImport, RecordImport } from '../../shared/archive/recordImport.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { doiOf, writtenDoi } from '../../shared/values/doi.ts';
import { roomInDraft } from '../archive/drafts/draftFiles.ts';
import type { Drafts } from '../archive/drafts/drafts.ts';
import type { RecordedRequests } from '../collection/record/recordedRequests.ts';
import { isBlobDamageError } from '../fixity/audit.ts';
import type { JobRun, Jobs, RunningJob } from '../runtime/jobs.ts';
import {
  type DraftFileRow,
  deleteDraftImport,
  draftFiles,
  draftOfImport,
  insertDraftImport,
} from '../store/sqlite/archive/drafts.ts';
import type { Store } from '../store/store.ts';
import { askRepository, type FoundRecord } from './askRepository.ts';
import {
  DraftClosedError,
  type FetchedFile,
  type FileContext,
  type FileServices,
  fetchFile,
  REFUSALS,
} from './fetchFile.ts';
import { type FilePlan, filesText, type PlannedFile, planFiles, someFiles } from './planFiles.ts';
import { draftRecordOf, publishedAddress, withoutSignatures } from './recordFields.ts';
import type { StatedChecksum } from './repository.ts';

interface ImportsConfig {
  store: Store;
  drafts: Drafts;
  requests: RecordedRequests;
  jobs: Jobs;
  settings: () => Settings;
}

/** Imports records of repositories as drafts; each import is a job. */
export class Imports {
  readonly #config: ImportsConfig;
  /** The imports that run, by the keys of their records. The same one twice at a time would be two drafts of one record. */
  readonly #running = new Map<string, RunningJob<RecordImport>>();

  constructor(config: ImportsConfig) {
    this.#config = config;
  }

  /** Lists what an import would bring. @throws as `planImport`; Problem `data_cap_reached`, `disk_nearly_full` */
  async plan(request: ImportRequest, signal = new AbortController().signal): Promise<PlannedImport> {
    this.#config.requests.requireRoom();
    return this.#named(signal, () => planImport(this.#services(), request, signal));
  }

  /** Starts an import, or returns the one of the same record that runs. @throws Problem `data_cap_reached`, `disk_nearly_full` */
  start(request: ImportRequest): RunningJob<RecordImport> {
    const { jobs, requests } = this.#config;
    requests.requireRoom();
    const services = this.#services();
    const key = keyOf(request);
    const running = this.#running.get(key);
    if (running) return running;
    const started = jobs.start('import', 'bytes', async (run) => {
      try {
        return await this.#named(run.signal, () => importRecord(services, request, run));
      } finally {
        this.#running.delete(key);
      }
    });
    this.#running.set(key, started);
    return started;
  }

  /** Runs work, and names the reason of its end as a problem. */
  async #named<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DraftClosedError) throw new Problem('record_unreadable', error.message);
      if (signal.aborted) throw new Problem('shutting_down', 'The import was stopped.', { cause: error });
      throw error;
    }
  }

  #services(): ImportServices {
    const { store, drafts, requests, settings } = this.#config;
    const { retry_delays_seconds, doi_resolver } = settings();
    return {
      store,
      drafts,
      requests,
      limits: drafts.limits,
      retryDelays: retry_delays_seconds,
      doiResolver: doi_resolver,
    };
  }
}

interface ImportServices extends FileServices {
  doiResolver: string;
}

/** Files of one record that are fetched at the same time. */
const FILES_AT_ONCE = 3;
/** Sentences about single files. */
const MAX_NOTES = 50;

/** Returns the address at which a record is asked for: for a DOI, in whatever form, that of the resolver with the DOI as written. */
function addressOfRecord({ doi, url }: ImportRequest, resolver: string): string {
  const found = writtenDoi(doi ?? url ?? '');
  if (found === undefined) return new URL(url ?? '').href;
  const path = encodeURI(found).replace(/[?#]/g, encodeURIComponent);
  return new URL(`${resolver.replace(/\/+$/, '')}/${path}`).href;
}

/** Lists what an import would bring. @throws as `askRepository` */
async function planImport(
  services: ImportServices,
  request: ImportRequest,
  signal: AbortSignal,
): Promise<PlannedImport> {
  const found = await askRepository(services, addressOfRecord(request, services.doiResolver), signal);
  const draft = draftOfImport(services.store.read, keyOf(request));
  const { files, warnings } = planInto(services, found, draft).plan;
  return {
    draft: null,
    ...headOf(found),
    license: found.record.license,
    files: files.map(({ path, bytes, checksum, excluded }) => ({
      path,
      bytes,
      checksum: checksumText(checksum),
      state: excluded === undefined ? 'planned' : excluded === 'too_large' ? 'too_large' : 'failed',
    })),
    warnings: [...warningsOf(found, request), ...draftRecordOf(found.record).warnings, ...warnings],
  };
}

/**
 * Imports a record: reads it, makes a draft of it or continues the one in which an import of the same record did not end, and
 * fetches its files. If it is cancelled, what has come stays in the draft.
 *
 * @throws as `askRepository`; Problem `drafts_full`; DraftClosedError
 */
async function importRecord(
  services: ImportServices,
  request: ImportRequest,
  { signal, progress }: JobRun,
): Promise<RecordImport> {
  const { store, drafts } = services;
  const found = await askRepository(services, addressOfRecord(request, services.doiResolver), signal);
  const { fields, warnings: cutWarnings } = draftRecordOf(found.record);
  const key = keyOf(request);
  const continued = draftOfImport(store.read, key);
  const create = async () => {
    const made = await drafts.create({ record: fields, form: null }, (database, id) =>
      insertDraftImport(database, id, key),
    );
    return made.draft.id;
  };
  const draft = continued ?? (await create());
  const { held, plan } = planInto(services, found, draft);
  const fetched = await fetchAll(services, found, { draft, files: plan.files, held, signal, progress });
  const isComplete = !signal.aborted && !fetched.some(({ state }) => state === 'failed');
  if (isComplete) await store.write((database) => deleteDraftImport(database, draft));
  return {
    draft,
    ...headOf(found),
    files: plan.files.map(({ path, checksum }, index) => ({
      path,
      bytes: fetched[index]?.bytes ?? null,
      checksum: checksumText(checksum),
      state: fetched[index]?.state ?? 'failed',
    })),
    warnings: [
      ...(continued === undefined ? [] : ['The import continued in a draft that was begun before.']),
      ...warningsOf(found, request),
      ...cutWarnings,
      ...plan.warnings,
      ...notesOf(plan.files, fetched),
      ...uncompared(plan.files, fetched),
    ],
  };
}

/** Says which files fit into a draft, or a new one. What is in the draft already takes its room once. */
function planInto(
  { store: { read }, limits }: ImportServices,
  { record }: FoundRecord,
  draft: string | undefined,
): { held: Map<string, DraftFileRow>; plan: FilePlan } {
  const files = draft === undefined ? [] : draftFiles(read, draft);
  const room = roomInDraft(read, draft, limits);
  const plan = planFiles(record.files, record.listed, {
    files: room.files + files.length,
    bytes: room.bytes + files.reduce((sum, { bytes }) => sum + bytes, 0),
  });
  return { held: new Map(files.map((file) => [file.path, file])), plan };
}

/**
 * The same record has the same key, whatever resolver is set and in whatever form its DOI was given. An address with a token is
 * not kept; its digest is, because the rest of the address may be that of many records.
 */
function keyOf({ doi, url }: ImportRequest): string {
  const found = doiOf(doi ?? url ?? '');
  if (found !== undefined) return `doi:${found}`;
  const { href } = new URL(url ?? '');
  const published = publishedAddress(href);
  return published === href ? href : `${published}#sha256:${hash('sha256', href, 'hex')}`;
}

function headOf({ record }: FoundRecord): Pick<RecordImport, 'title' | 'doi' | 'url'> {
  return { title: record.title.slice(0, 1_000), doi: record.doi, url: publishedAddress(record.url) };
}

function checksumText(checksum: StatedChecksum | null): string | null {
  return checksum && `${checksum.algorithm}:${checksum.hex}`;
}

const WITH_TOKEN =
  'The address has a token. It is not recorded, but what it gave is: visitors may read it as everything else that is collected.';

function warningsOf({ record }: FoundRecord, request: ImportRequest): string[] {
  const asked = writtenDoi(request.doi ?? request.url ?? '');
  const isOther = asked !== undefined && record.doi !== null && doiOf(asked) !== doiOf(record.doi);
  const other =
    doiOf(record.conceptDoi ?? '') === doiOf(asked ?? '')
      ? `${asked} stands for all versions of the record. This is the version ${record.doi}.`
      : `The record at ${asked} says that its DOI is ${record.doi}.`;
  const address = request.url === undefined ? '' : new URL(request.url).href;
  return [
    ...(address === publishedAddress(address) ? [] : [WITH_TOKEN]),
    ...(isOther ? [other] : []),
    ...record.warnings,
    ...(record.files.length === 0 ? ['The record has no files that the public gets.'] : []),
  ];
}

interface Fetching {
  draft: string;
  files: readonly PlannedFile[];
  /** The files that are in the draft already, by path. */
  held: ReadonlyMap<string, DraftFileRow>;
  signal: AbortSignal;
  progress: JobRun['progress'];
}

/** Fetches the files, several at once, in their order. A cancelled import leaves the others out. */
async function fetchAll(
  services: ImportServices,
  { allowPrivateAddress }: FoundRecord,
  { draft, files, held, signal, progress }: Fetching,
): Promise<FetchedFile[]> {
  const wanted = files.filter(({ excluded, path }) => excluded === undefined && !held.has(path));
  const total = wanted.some(({ bytes }) => bytes === null)
    ? null
    : wanted.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  let done = 0;
  const onBytes = (count: number) => {
    done += count;
    progress(total === null ? done : Math.min(done, total), total);
  };
  progress(0, total);
  const stopped = new AbortController();
  const context = {
    draft,
    allowPrivateAddress,
    publish: withoutSignatures,
    signal: AbortSignal.any([signal, stopped.signal]),
    onBytes,
  };
  const fetchOne = async (file: PlannedFile): Promise<FetchedFile> => {
    const there = held.get(file.path);
    const left = { bytes: file.bytes, isCompared: false };
    if (file.excluded !== undefined && !there)
      return { ...left, state: file.excluded === 'too_large' ? 'too_large' : 'failed' };
    try {
      context.signal.throwIfAborted();
      if (there) return await heldFile(services, context, file, there);
      return await fetchFile(services, context, file);
    } catch (error) {
      if (signal.aborted) return { ...left, state: 'failed', note: STOPPED };
      // Nothing else is fetched for a draft that is gone, or without a disk.
      stopped.abort(error);
      throw error;
    }
  };
  const atOnce = pLimit(FILES_AT_ONCE);
  const outcomes = await Promise.allSettled(files.map((file) => atOnce(() => fetchOne(file))));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) throw failure.reason as Error;
  if (total !== null && !signal.aborted) progress(total, total);
  return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<FetchedFile>).value);
}

/**
 * A file that is in the draft already: from an earlier run, or because a person put it there. It is compared as if it came
 * now, and not replaced.
 */
async function heldFile(
  services: ImportServices,
  context: FileContext,
  { bytes, checksum, isConverted = false }: PlannedFile,
  there: DraftFileRow,
): Promise<FetchedFile> {
  const found = checksum && (await digestOf(services, context, there.sha256, checksum));
  if (found === undefined) return { bytes, isCompared: false, ...REFUSALS.damaged };
  const isStated = checksum !== null && found === checksum.hex;
  if (isStated) return { state: 'held', bytes: there.bytes, isCompared: true };
  if ((checksum && !isConverted) || (bytes !== null && bytes !== there.bytes))
    return { bytes, isCompared: false, ...REFUSALS.taken };
  return { state: 'held', bytes: there.bytes, isCompared: false };
}

/** Returns the digest of a file of the draft by the algorithm of a checksum; undefined if its bytes are damaged. */
async function digestOf(
  { drafts }: ImportServices,
  { draft, signal }: FileContext,
  sha256: string,
  { algorithm }: StatedChecksum,
): Promise<string | undefined> {
  if (algorithm === 'sha256') return sha256;
  const digest = createHash(algorithm);
  try {
    for await (const chunk of drafts.readFile(draft, sha256)) {
      signal.throwIfAborted();
      digest.update(chunk);
    }
    return digest.digest('hex');
  } catch (error) {
    if (isBlobDamageError(error)) return undefined;
    throw error;
  }
}

const STOPPED = 'was not fetched: the import was stopped. Import the record again to continue';

/** One sentence for each file that is not in the draft, and one for those of which the same is to be said. */
function notesOf(files: readonly PlannedFile[], fetched: readonly FetchedFile[]): string[] {
  const noted = fetched.flatMap(({ note }, index) =>
    note === undefined ? [] : [{ note, path: files[index]?.path ?? '' }],
  );
  const byNote = [...Map.groupBy(noted, ({ note }) => note)];
  const sentences = byNote.slice(0, MAX_NOTES).map(([note, group]) => {
    const names = someFiles(group);
    return group.length === 1 ? `${names} ${note}.` : `${filesText(group.length)} (${names}): each ${note}.`;
  });
  const more = byNote.length - sentences.length;
  return more > 0 ? [...sentences, `${filesText(more)} more did not come as stated.`] : sentences;
}

function uncompared(files: readonly PlannedFile[], fetched: readonly FetchedFile[]): string[] {
  const held = files.filter((_, index) => {
    const file = fetched[index];
    return file?.state === 'held' && !file.isCompared;
  });
  const [converted, others] = [held.filter(isConverted), held.filter((file) => !isConverted(file))];
  return [
    ...(others.length === 0
      ? []
      : [
          `The repository states no checksum of ${filesText(others.length)}, so nothing shows that ${others.length === 1 ? 'it is' : 'they are'} unchanged: ${someFiles(others)}.`,
        ]),
    ...(converted.length === 0
      ? []
      : [
          `The repository converted ${filesText(converted.length)}. The ${converted.length === 1 ? 'original was' : 'originals were'} taken, of which it states no checksum that fits: ${someFiles(converted)}.`,
        ]),
  ];
}

function isConverted({ isConverted: converted = false }: PlannedFile): boolean {
  return converted;
}
