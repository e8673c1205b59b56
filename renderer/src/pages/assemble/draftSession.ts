import type { DraftRecord, StoredDraft, StoredDraftFile } from '../../../../shared/archive/draft.ts';
import type { Pack } from '../../../../shared/archive/pack.ts';
import type { BodyInputOf } from '../../../../shared/routes/route.ts';
import type { RouteTable } from '../../../../shared/routes.ts';
import { call, isProblem, isRefusal } from '../../api/client.ts';
import { type Draft, draftOfStored, isSameDraft, rowKey, type SavedDraft } from './draft.ts';
import { unfinishedRecord } from './draftRecord.ts';
import {
  changeDraft,
  hasContent,
  restoreFiles,
  type Saving,
  showDraft,
  showEmpty,
  showFiles,
  useDraft,
} from './draftStore.ts';
import { type DraftFile, filesOfStored } from './files/draftFile.ts';
import { NodeFiles } from './files/nodeFiles.ts';

const SAVE_AFTER_MS = 400;
const RETRY_AFTER_MS = 5_000;

const { getState: get, setState: set } = useDraft;

/** Another window changed the draft, and this one has not shown it. */
class ChangedElsewhere extends Error {
  constructor() {
    super('Another window changed this draft. Choose the version to publish.');
    this.name = 'ChangedElsewhere';
  }
}

/**
 * Saves the owner's draft on the node. A visitor's draft stays in this browser. The states:
 *
 *     local ──start──▶ opening ──▶ saved ◀──▶ saving ──▶ failed (tries again by itself)
 *                         │                      └─────▶ changed elsewhere ──resolve──▶ saved
 *                         └─▶ openFailed (start again)                     any ──stop──▶ local
 *
 * Every change of the node's draft counts its revision, so this window knows that nobody else changed it as long as the
 * revision rises by one for each of its own changes. Only that revision is published.
 */
class DraftSession {
  #opened: Promise<void> | undefined;
  /** Aborted when the owner signs out. */
  #signedIn = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;
  readonly #nodeFiles = new NodeFiles({
    change: (work) => this.#change(work),
    countChanges: (revision, changes) => this.#countChanges(revision, changes),
  });
  /** Whether the answer to a change was lost, so that the node may have applied it. */
  #isUncertain = false;

  /** Opens the owner's draft of the node and saves changes from now on. */
  start(): Promise<void> {
    this.#opened ??= this.#begin();
    return this.#opened;
  }

  async #begin(): Promise<void> {
    const { signal } = this.#signedIn;
    set({ saving: { state: 'opening' } });
    try {
      await restoreFiles();
      await this.#openFirst();
    } catch (error) {
      if (signal.aborted) return;
      // What this browser has is shown and saved later.
      set({ saving: { state: 'openFailed', error } });
      this.#opened = undefined;
      return;
    }
    if (signal.aborted) return;
    set({ saving: { state: 'saved' } });
    const unsubscribe = useDraft.subscribe((now, before) => {
      if (now.draft !== before.draft || now.files !== before.files) this.#saveSoon();
    });
    signal.addEventListener('abort', unsubscribe);
    window.addEventListener('focus', () => void this.#readAgain(), { signal });
    window.addEventListener('pagehide', () => void this.#saveAndShow(), { signal });
    this.#saveSoon();
  }

  /** Saves nothing more on the node, because the owner has signed out. */
  stop(): void {
    if (get().saving.state === 'local') return;
    this.#signedIn.abort();
    this.#signedIn = new AbortController();
    this.#opened = undefined;
    clearTimeout(this.#timer);
    // What the node has is there when the owner is back. A visitor could only publish it a second time.
    const { saved, isChanged } = get();
    if (saved && !isChanged && !this.#nodeFiles.needSaving()) this.clear();
    set({ saving: { state: 'local' } });
  }

  /**
   * Opens the draft that this browser had last, or the last one of the node. What only this browser has is kept and saved:
   * changes that were not saved yet, and a draft of an earlier release.
   */
  async #openFirst(): Promise<void> {
    const before = get().saved;
    const known = before && (await readIfThere(before.id));
    // Read after each answer, because somebody may have begun to type meanwhile.
    const { saved, isChanged, files } = get();
    if (known?.pack === null) {
      if (!isChanged) return this.#show(known, files);
      // The node may have saved the last change of this window, whose answer was lost.
      if (isOfThisWindow(known)) set({ saved: { id: known.id, revision: known.revision } });
      return this.#showFiles(known, files);
    }
    // It was published or deleted in another window. Only unsaved changes are kept, as a draft of their own.
    const isGone = saved !== undefined && !isChanged;
    if (isGone) this.clear();
    else if (saved) {
      set({ saved: undefined });
      showFiles(files.map((file) => ({ ...file, savedPath: undefined })));
    }
    if (hasContent()) return;
    const [last] = (await call('listDrafts', { query: { limit: 1 } })).items;
    const opened = last && (await readIfThere(last.id));
    if (opened && !hasContent()) this.#show(opened);
  }

  /** Shows a draft of the node, with the files of the same draft that this browser has. */
  #show(stored: StoredDraft, local: readonly DraftFile[] = []): void {
    const { id, revision, files } = stored;
    this.#knowFiles(files);
    showDraft(draftOfStored(stored), { id, revision }, filesOfStored(files, local));
  }

  #showFiles({ files }: StoredDraft, local: readonly DraftFile[]): void {
    this.#knowFiles(files);
    showFiles(filesOfStored(files, local));
  }

  /** Clears the form. */
  clear(): void {
    this.#knowFiles([]);
    showEmpty();
  }

  #knowFiles(stored: readonly StoredDraftFile[]): void {
    this.#nodeFiles.know(stored);
    this.#isUncertain = false;
  }

  /** Shows what another window saved, unless there are changes here. */
  async #readAgain(): Promise<void> {
    const { saved } = get();
    const isBusy = () => get().isChanged || this.#nodeFiles.needSaving() || this.#running !== undefined;
    if (!saved || isBusy()) return;
    const draft = await call('readDraft', { params: { id: saved.id } }).catch(() => undefined);
    const now = get();
    if (draft?.pack !== null || now.saved?.id !== draft.id || isBusy()) return;
    if (now.saved.revision !== draft.revision) this.#show(draft, now.files);
  }

  /** Shows a state of the saving, unless the owner has signed out meanwhile. */
  #report(saving: Saving): void {
    if (get().saving.state !== 'local') set({ saving });
  }

  #reportFailure(error: unknown): void {
    const isConflict = error instanceof ChangedElsewhere || isProblem(error, 'draft_changed');
    this.#report(isConflict ? { state: 'changed elsewhere' } : { state: 'failed', error });
  }

  #saveSoon(): void {
    if (!hasUnsavedRecord() && !this.#nodeFiles.needSaving()) return;
    if (get().saving.state === 'saved') set({ saving: { state: 'saving' } });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#saveAndShow(), SAVE_AFTER_MS);
  }

  async #saveAndShow(): Promise<void> {
    if (get().saving.state === 'changed elsewhere') return;
    this.#report({ state: 'saving' });
    try {
      await this.#save();
      this.#report({ state: 'saved' });
    } catch (error) {
      this.#reportFailure(error);
      if (get().saving.state === 'failed')
        this.#timer = setTimeout(() => void this.#saveAndShow(), RETRY_AFTER_MS);
    }
  }

  /** Saves everything now. @throws why it could not be saved */
  async flush(): Promise<SavedDraft> {
    await this.start();
    const { saving } = get();
    if (saving.state === 'openFailed') throw saving.error;
    this.#report({ state: 'saving' });
    try {
      await this.#save();
      if (!get().saved) await this.#saveRecord();
      this.#report({ state: 'saved' });
      return get().saved as SavedDraft;
    } catch (error) {
      this.#reportFailure(error);
      throw error;
    }
  }

  /** Saves everything that the node does not have, one save at a time. @throws why it was not saved */
  #save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#running ??= this.#saveAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #saveAll(): Promise<void> {
    for (;;) {
      const { saved } = get();
      if (saved && this.#isUncertain) await this.#settle(saved);
      if (hasUnsavedRecord()) await this.#saveRecord();
      const { saved: now } = get();
      if (now && this.#nodeFiles.needSaving()) await this.#nodeFiles.save(now.id);
      else if (!hasUnsavedRecord()) return;
    }
  }

  /** Changes the node's draft. If no answer comes, the node may have applied it. */
  async #change<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!isRefusal(error)) this.#isUncertain = true;
      throw error;
    }
  }

  /** Takes over the revision after changes of this window. @throws ChangedElsewhere if there were others in between */
  #countChanges(revision: number, changes: number): void {
    const { saved } = get();
    if (!saved || this.#isUncertain) return;
    if (revision !== saved.revision + changes) throw new ChangedElsewhere();
    set({ saved: { ...saved, revision } });
  }

  /** After a lost answer: finds out what the node applied. It applies all of a change or nothing. */
  async #settle(saved: SavedDraft): Promise<void> {
    const stored = await call('readDraft', { params: { id: saved.id } });
    this.#nodeFiles.settle(stored.files);
    this.#isUncertain = false;
    const { draft, isChanged } = get();
    const isOwnRecord = isOfThisWindow(stored) || (!isChanged && isSameDraft(draftOfStored(stored), draft));
    // Otherwise the next change is refused, and the person is asked.
    if (isOwnRecord && !this.#nodeFiles.differFrom(stored.files))
      set({ saved: { ...saved, revision: stored.revision } });
  }

  /** Saves the record as it is typed; creates the node's draft if there is none. @throws why it was not saved */
  async #saveRecord(): Promise<void> {
    const { draft, saved } = get();
    const body = { record: unfinishedRecord(draft) as DraftRecord, form: { ...draft, writer: writerId() } };
    if (!saved) return this.#create(draft, body);
    const { id, revision } = saved;
    const change = { params: { id }, body: { ...body, revision } };
    const changed = await this.#change(() => call('changeDraft', change));
    markRecordSaved(draft, { id, revision: changed.revision });
  }

  /**
   * Creates the node's draft. If its answer was lost before, the node has the draft already. Then it is only adopted, and
   * the next save changes it.
   */
  async #create(draft: Draft, body: BodyInputOf<RouteTable['createDraft']>): Promise<void> {
    const id = get().newId ?? newDraftId();
    set({ newId: id });
    const stored = await call('createDraft', { body: { ...body, id } });
    if (!isAsCreated(stored)) {
      // Somebody continued that draft. What they saved must stay, so this window gets a draft of its own.
      set({ newId: undefined });
      return this.#create(draft, body);
    }
    this.#knowFiles([]);
    markRecordSaved(draft, { id, revision: stored.revision });
    if (JSON.stringify(stored.form) !== JSON.stringify(body.form)) set({ isChanged: true });
  }

  /** Saves the current draft before another one is shown. */
  async #leave(): Promise<void> {
    if (hasUnsavedRecord() || this.#nodeFiles.needSaving()) await this.flush();
  }

  /** Shows a draft of the node, after the current one was saved. */
  async open(id: string): Promise<void> {
    await this.#leave();
    this.#show(await call('readDraft', { params: { id } }));
  }

  /** Starts a draft, after the current one was saved. */
  async startNew(draft?: Draft): Promise<void> {
    if (get().saving.state !== 'local') await this.#leave();
    this.clear();
    if (draft) changeDraft(draft);
  }

  /** Deletes the current draft. */
  async discard(): Promise<void> {
    clearTimeout(this.#timer);
    // Why it was not saved does not matter any more.
    await this.#running?.catch(() => {});
    // A save that ran may just have created the node's draft.
    const { saved, newId } = get();
    const id = saved?.id ?? newId;
    const stored = id === undefined ? undefined : await readIfThere(id);
    // The answer to the first save may have been lost. A draft that somebody else continued meanwhile stays.
    if (stored && (saved || isAsCreated(stored))) await call('deleteDraft', { params: { id: stored.id } });
    this.clear();
  }

  /** After another window changed the draft: shows that state, or replaces it with this one. */
  async resolve(choice: 'theirs' | 'mine'): Promise<void> {
    const { saved } = get();
    if (!saved) return;
    const theirs = await call('readDraft', { params: { id: saved.id } });
    this.#report({ state: 'saved' });
    if (choice === 'theirs') return this.#show(theirs);
    // Files that only the other window added are removed.
    this.#knowFiles(theirs.files);
    set({ saved: { id: saved.id, revision: theirs.revision }, isChanged: true });
    await this.#saveAndShow();
  }

  /**
   * Publishes the node's draft, if nobody changed it since it was shown. Repeated, it gives the same pack.
   *
   * @param onSaved called with the id of the draft before it is published
   */
  async publish(onSaved: (id: string) => void): Promise<Pack> {
    const { id, revision } = await this.flush();
    onSaved(id);
    try {
      return await call('publishDraft', { params: { id }, query: { revision } });
    } catch (error) {
      if (!isProblem(error, 'draft_changed')) throw error;
      this.#reportFailure(error);
      throw new ChangedElsewhere();
    }
  }
}

/** The one draft that is shown in this window. */
export const draftSession = new DraftSession();

/** Whether the record has something to save: changes, or anything at all if the node has no draft yet. */
function hasUnsavedRecord(): boolean {
  const { saved, isChanged } = get();
  return saved ? isChanged : hasContent();
}

/** Records that the node has a state of the record. */
function markRecordSaved(draft: Draft, saved: SavedDraft): void {
  set((state) => ({ saved, newId: undefined, isChanged: state.draft !== draft }));
}

/** Returns a draft, or undefined if it was deleted. */
async function readIfThere(id: string): Promise<StoredDraft | undefined> {
  try {
    return await call('readDraft', { params: { id } });
  } catch (error) {
    if (isProblem(error, 'not_found')) return undefined;
    throw error;
  }
}

function newDraftId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `dr_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Whether only this window has saved the draft, and not published it. */
function isAsCreated(stored: StoredDraft): boolean {
  return stored.pack === null && stored.files.length === 0 && isOfThisWindow(stored);
}

/** Whether the record of the node's draft was saved by this window. */
function isOfThisWindow({ form }: StoredDraft): boolean {
  return form?.writer === writerId();
}

/** A random word of this window, also after it is reloaded. */
function writerId(): string {
  const key = 'strongroom-writer';
  const known = sessionStorage.getItem(key);
  if (known !== null) return known;
  const made = rowKey();
  sessionStorage.setItem(key, made);
  return made;
}
