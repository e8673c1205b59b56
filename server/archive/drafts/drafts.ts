import { createReadStream, existsSync } from 'node:fs';
import mime from 'mime-types';
import pLimit from 'p-limit';
import type {
  DraftChange,
  DraftFilesChange,
  DraftRecord,
  DraftSummary,
  NewDraft,
  SavedDraftFile,
  StoredDraft,
  StoredDraftFile,
} from '../../../shared/archive/draft.ts';
import { PART_BYTES } from '../../../shared/archive/setManifest.ts';
import { GIGABYTE, MAX_DRAFTS, MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import type { JobRun, Jobs } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { type StagedFile, TooManyBytesError } from '../../store/blobs/blobStore.ts';
import type { SettingsStore } from '../../store/settings.ts';
import {
  type DraftFileRow,
  deleteDraft,
  draftById,
  draftFile,
  draftFiles,
  draftListRow,
  draftPage,
  draftTotals,
  insertDraft,
  putDraftFile,
  touchDraft,
  updateDraft,
} from '../../store/sqlite/archive/drafts.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { reachedStorageLimit, type Store } from '../../store/store.ts';
import { type AdmittedWrite, outOfSpace } from '../limits/writeLimits.ts';
import type { AddedPack } from '../packs/addPack.ts';
import {
  applyFilesChange,
  asSummary,
  changedMeanwhile,
  DraftContents,
  type DraftLimits,
  draftLimits,
  draftsFull,
  draftTooLarge,
  requireArchived,
  requireDraft,
  requireListRow,
  requireNotReleased,
  requireOpen,
  requireWithinLimits,
} from './draftFiles.ts';
import { publishDraft } from './publishDraft.ts';

interface DraftServices {
  store: Store;
  settings: SettingsStore;
  jobs: Jobs;
  log: Log;
  /** A draft with more bytes is published as a set, in parts of at most this size. Tests set less than a pack can have. */
  packBytes?: number | undefined;
}

/** The drafts of packs. They are rows and files beside the archive: no ledger entry, dump or reader has them. */
export class Drafts {
  readonly #store: Store;
  readonly #settings: SettingsStore;
  readonly #log: Log;
  readonly #contents: DraftContents;
  /** Files are placed and deleted one change at a time, so that none is deleted that another change needs. */
  readonly #inTurn = pLimit(1);
  #swept = false;
  /** The bytes of files that are being received. */
  #receiving = 0;

  readonly #jobs: Jobs;
  readonly #packBytes: number;
  /** The drafts that are being published, so that a repeated request waits for the same pack. */
  readonly #publishing = new Map<string, Promise<AddedPack>>();

  constructor({ store, settings, jobs, log, packBytes = MAX_PACK_BYTES }: DraftServices) {
    this.#jobs = jobs;
    this.#packBytes = packBytes;
    this.#store = store;
    this.#settings = settings;
    this.#log = log;
    this.#contents = new DraftContents(store.folder);
  }

  list({ limit, offset }: { limit: number; offset: number }): Slice<DraftSummary> {
    const { read } = this.#store;
    return { items: draftPage(read, limit, offset).map(asSummary), total: draftTotals(read).drafts };
  }

  /** @throws Problem `not_found` */
  async read(id: string): Promise<StoredDraft> {
    const { read } = this.#store;
    requireDraft(read, id);
    const kept = await this.#contents.digestsOf(id);
    // Read together, after the files, so that the parts belong to one state.
    const { record, form } = requireDraft(read, id);
    return {
      ...asSummary(requireListRow(read, id)),
      record: JSON.parse(record) as DraftRecord,
      form: form === null ? null : (JSON.parse(form) as StoredDraft['form']),
      files: draftFiles(read, id).map((file) => this.#withState(file, kept)),
    };
  }

  #withState(file: DraftFileRow, kept: ReadonlySet<string>): StoredDraftFile {
    if (kept.has(file.sha256)) return { ...file, contents: 'kept' };
    const { read } = this.#store;
    const isArchived = blobBytes(read, file.sha256) === file.bytes && !isReleased(read, file.sha256);
    return { ...file, contents: isArchived ? 'archived' : 'missing' };
  }

  /**
   * Creates a draft, unless there is one with this id.
   *
   * @param also writes what belongs to a new draft, in the same transaction
   * @throws Problem `drafts_full`
   */
  async create(
    { id = `dr_${this.#store.randomHex(20)}`, record, form }: NewDraft,
    also: (database: WriteDatabase, id: string) => void = () => {},
  ): Promise<{ draft: StoredDraft; isNew: boolean }> {
    const at = this.#store.instant();
    const isNew = await this.#store.write((database) => {
      if (draftById(database, id)) return false;
      if (draftTotals(database).drafts >= MAX_DRAFTS) throw draftsFull(this.limits);
      insertDraft(database, { id, ...columnsOf(record, form), revision: 1, created_at: at, changed_at: at });
      also(database, id);
      return true;
    });
    return { draft: await this.read(id), isNew };
  }

  /** @throws Problem `not_found`, `draft_changed`, `draft_published` */
  async change(id: string, { record, form, revision }: DraftChange): Promise<DraftSummary> {
    await this.#store.write((database) => {
      const draft = requireOpen(database, id);
      if (revision !== undefined && revision !== draft.revision) throw changedMeanwhile();
      updateDraft(database, { id, ...columnsOf(record, form), changed_at: this.#store.instant() });
    });
    return asSummary(requireListRow(this.#store.read, id));
  }

  /**
   * Changes the fields of a draft's record that are given, and keeps the others.
   *
   * @throws Problem `not_found`, `draft_published`
   */
  async fill(id: string, fields: (record: DraftRecord) => DraftRecord): Promise<StoredDraft> {
    await this.#store.write((database) => {
      const { record, form } = requireOpen(database, id);
      const filled = fields(JSON.parse(record) as DraftRecord);
      const typed = form === null ? null : filledForm(JSON.parse(form) as object, filled);
      updateDraft(database, { id, ...columnsOf(filled, typed), changed_at: this.#store.instant() });
    });
    return this.read(id);
  }

  /** @throws Problem `not_found` */
  async remove(id: string): Promise<void> {
    requireDraft(this.#store.read, id);
    await this.#serially(async () => {
      await this.#store.write((database) => deleteDraft(database, id));
      await this.#contents.keepOnly(id, new Set());
    });
  }

  /**
   * Receives a file of a draft, replacing the one at its path.
   *
   * @throws Problem `not_found`, `draft_published`, `released`, `drafts_full`, `pack_too_large`, `data_cap_reached`,
   * `disk_nearly_full`; the stream's errors
   */
  async putFile(
    id: string,
    { path, media_type }: { path: string; media_type?: string | undefined },
    chunks: AsyncIterable<Uint8Array>,
  ): Promise<SavedDraftFile> {
    requireOpen(this.#store.read, id);
    this.#requireSpace();
    const staged = await this.#receive(chunks);
    const { sha256, bytes } = staged;
    const type = media_type ?? (mime.lookup(path) || 'application/octet-stream');
    const file = { path, sha256, bytes, media_type: type };
    return this.#serially(async () => {
      let put: { revision: number; replaced: boolean };
      try {
        requireNotReleased(this.#store.read, sha256);
        await this.#contents.place(id, staged);
        put = await this.#store.write((database) => this.#putRow(database, id, file));
      } catch (error) {
        await this.#deleteUnused(id);
        throw error;
      } finally {
        await staged.discard();
      }
      if (put.replaced) await this.#deleteUnused(id);
      return { ...file, contents: 'kept', revision: put.revision };
    });
  }

  /** Returns the new revision, and whether a file with other contents was at the path. */
  #putRow(database: WriteDatabase, id: string, file: DraftFileRow): { revision: number; replaced: boolean } {
    requireOpen(database, id);
    const before = draftFile(database, id, file.path);
    putDraftFile(database, id, file);
    requireWithinLimits(database, id, this.limits);
    touchDraft(database, { id, at: this.#store.instant() });
    const { revision } = requireDraft(database, id);
    return { revision, replaced: before !== undefined && before.sha256 !== file.sha256 };
  }

  /** The largest file that a draft can have. */
  get maxFileBytes(): number {
    return this.limits.draft;
  }

  get #setBytes(): number {
    return this.#settings.current.max_set_gb * GIGABYTE;
  }

  /** How much drafts can hold. */
  get limits(): DraftLimits {
    return draftLimits(this.#setBytes);
  }

  #requireSpace(more = 0): void {
    const { current } = this.#settings;
    const refusal = reachedStorageLimit(this.#store, current, this.#receiving + more);
    if (refusal !== null) throw outOfSpace(refusal, current);
  }

  async #receive(chunks: AsyncIterable<Uint8Array>): Promise<StagedFile> {
    const limits = this.limits;
    const held = draftTotals(this.#store.read).bytes;
    let received = 0;
    const count = (bytes: number) => {
      received += bytes;
      this.#receiving += bytes;
      if (held + this.#receiving > limits.all) throw draftsFull(limits);
    };
    try {
      return await this.#store.blobs.staging.stageFile(counted(chunks, count), limits.draft);
    } catch (error) {
      throw error instanceof TooManyBytesError ? draftTooLarge(limits) : error;
    } finally {
      this.#receiving -= received;
    }
  }

  /**
   * Reads the bytes of a file of a draft: those that were sent for it, or else those of the archive.
   *
   * @throws the errors of the file, if it is missing or cannot be read; Problem `copy_unreachable`, `released`
   */
  async *readFile(draft: string, sha256: string): AsyncGenerator<Buffer> {
    const sent = this.#contents.fileOf(draft, sha256);
    if (existsSync(sent)) yield* createReadStream(sent) as AsyncIterable<Buffer>;
    else yield* this.#store.blobs.read(sha256);
  }

  /**
   * Removes, renames and reuses files, all together or none.
   *
   * @throws Problem `not_found`, `draft_published`, `draft_changed`, `unknown_blob`, `pack_too_large`
   */
  async changeFiles(id: string, change: DraftFilesChange): Promise<StoredDraft> {
    await this.#serially(async () => {
      requireOpen(this.#store.read, id);
      requireArchived(this.#store.read, change.add, await this.#keptSizes(id));
      await this.#store.write((database) => {
        requireOpen(database, id);
        applyFilesChange(database, id, change);
        requireWithinLimits(database, id, this.limits);
        touchDraft(database, { id, at: this.#store.instant() });
      });
      await this.#deleteUnused(id);
    });
    return this.read(id);
  }

  /** Publishes a draft, or returns the pack that it was published as. @throws Problem as `addPack`; `draft_changed` */
  async publish(id: string, revision: number | undefined, admitted: AdmittedWrite): Promise<AddedPack> {
    const running = this.#publishing.get(id);
    if (running) return { ...(await running), created: false };
    const publishing = this.#publish(id, revision, admitted).finally(() => this.#publishing.delete(id));
    this.#publishing.set(id, publishing);
    const added = await publishing;
    // The pack is recorded. Files that cannot be deleted now are deleted after the next start.
    await this.#serially(() => this.#deleteUnused(id)).catch((error: unknown) =>
      this.#log.warn({ error, draft: id }, 'The files of a published draft could not be deleted.'),
    );
    return added;
  }

  /** Publishing a set takes minutes, so it is a job. It goes on if the client does not wait for it. */
  async #publish(id: string, revision: number | undefined, admitted: AdmittedWrite): Promise<AddedPack> {
    const { files = 0, bytes = 0, pack = null } = draftListRow(this.#store.read, id) ?? {};
    const publish = ({ signal, progress }: JobRun) =>
      publishDraft(
        {
          store: this.#store,
          contents: this.#contents,
          admitted,
          signal,
          progress: (done) => progress(done, bytes),
          requireSpace: (more) => this.#requireSpace(more),
          packBytes: this.#packBytes,
          partBytes: Math.min(PART_BYTES, this.#packBytes),
          setBytes: this.#setBytes,
        },
        id,
        revision,
      );
    if (pack !== null || (bytes <= this.#packBytes && files <= MAX_PACK_FILES))
      return publish({ signal: new AbortController().signal, progress: () => undefined });
    let added: AddedPack | undefined;
    const work = async (run: JobRun) => {
      added = await publish(run);
      return { pack: added.id };
    };
    const { job, finished } = this.#jobs.start('publish', 'bytes', work, { draft: id });
    await finished.catch((cause: unknown) => {
      if (job.state !== 'cancelled') throw cause;
      const message = 'The publishing was cancelled. Publish the draft again to go on.';
      throw new Problem('publishing_cancelled', message, { cause });
    });
    if (!added) throw new TypeError('The job has ended without a pack.');
    return added;
  }

  /** Returns the sizes of the files that the draft has, by digest. */
  async #keptSizes(id: string): Promise<Map<string, number>> {
    const kept = await this.#contents.digestsOf(id);
    const files = draftFiles(this.#store.read, id).filter(({ sha256 }) => kept.has(sha256));
    return new Map(files.map(({ sha256, bytes }) => [sha256, bytes]));
  }

  #deleteUnused(id: string): Promise<void> {
    return this.#contents.keepOnly(id, this.#wantedBy(id));
  }

  #wantedBy(id: string): Set<string> {
    return new Set(draftFiles(this.#store.read, id).map(({ sha256 }) => sha256));
  }

  /** Runs a change of files after the others. The first one deletes what was left behind when the node stopped. */
  #serially<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#inTurn(async () => {
      if (!this.#swept) await this.#contents.sweep((draft) => this.#wantedBy(draft));
      this.#swept = true;
      return work();
    });
  }
}

/**
 * Returns the form of a draft with the fields of its record that were filled. The rest of it stays: it may hold what was
 * typed and is no record yet. No window wrote it, so each one shows it as a change from elsewhere.
 */
function filledForm(form: object, { title, summary, keywords, authors, related }: DraftRecord) {
  const rows = (list: unknown, name: string) =>
    Array.isArray(list) ? list.map((row: object, index) => ({ key: `${name}-${index}`, ...row })) : undefined;
  const filled = {
    title,
    summary,
    keywords,
    authors: rows(authors, 'author')?.map((author) => ({
      orcid: '',
      affiliation: '',
      ...withoutNulls(author),
    })),
    related: rows(related, 'related'),
  };
  return { ...form, ...withoutNulls(filled), writer: undefined };
}

function withoutNulls(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined));
}

function columnsOf(record: DraftRecord, form: NewDraft['form']) {
  const { title } = record;
  return {
    title: typeof title === 'string' ? Array.from(title.slice(0, 600)).slice(0, 300).join('') : '',
    record: JSON.stringify(record),
    form: form === null ? null : JSON.stringify(form),
  };
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    count(chunk.length);
    yield chunk;
  }
}
