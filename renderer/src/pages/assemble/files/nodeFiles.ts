import { useEffect, useMemo } from 'react';
import type { StoredDraftFile } from '../../../../../shared/archive/draft.ts';
import type { Pack, PackFile } from '../../../../../shared/archive/pack.ts';
import type { DataSet } from '../../../../../shared/archive/set.ts';
import { PART_BYTES } from '../../../../../shared/archive/setManifest.ts';
import { MAX_PACK_FILES } from '../../../../../shared/limits.ts';
import { ApiProblem, call, isProblem, isRefusal, sendStream } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { markFileRefused, markFilesSaved, useDraft } from '../draftStore.ts';
import { type DraftFile, type FileDifferences, fileDifferences, mediaTypeOf } from './draftFile.ts';

const MAX_CONCURRENT_UPLOADS = 4;
/** The largest number of files that are removed, renamed or reused in one request. */
const MAX_CHANGED_FILES = 2_000;
/** With many files, what is uploaded is shown this often: each time, the whole list is rendered. */
const SHOW_MANY_EVERY_MS = 1_000;

type ListChange = Omit<FileDifferences, 'uploads'>;

/** How the draft is changed on the node, whatever is changed. */
interface Changes {
  /** Sends a change, and notes if its answer is lost. */
  change: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Takes over the revision after changes of this window. @throws if there were others in between */
  countChanges: (revision: number, changes: number) => void;
}

/** The files of the node's draft, as far as this window has seen or made them, and how they become those that are shown. */
export class NodeFiles {
  readonly #changes: Changes;
  /** The digests by path. */
  #digests = new Map<string, string>();
  /** The files that were uploaded and are not shown as saved yet, by id. */
  #uploaded = new Map<string, { savedPath: string; sha256: string }>();
  #shownAt = 0;
  /** The change of the list whose answer was lost. Repeated, it could remove a renamed file. */
  #unanswered: ListChange | undefined;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /** Takes over what the node has. */
  know(stored: readonly StoredDraftFile[]): void {
    this.#digests = new Map(stored.map(({ path, sha256 }) => [path, sha256]));
    this.#unanswered = undefined;
  }

  /** After a lost answer: finds out whether the node applied the change. It applies all of it or nothing. */
  settle(stored: readonly StoredDraftFile[]): void {
    const digestAt = new Map(stored.map(({ path, sha256 }) => [path, sha256]));
    const { rename = [] } = this.#unanswered ?? {};
    const targets = new Set(rename.map(({ path }) => path));
    const isApplied = rename.every(
      ({ savedPath = '', path, sha256 }) =>
        digestAt.get(path) === sha256 && (targets.has(savedPath) || !digestAt.has(savedPath)),
    );
    if (this.#unanswered && isApplied && rename.length > 0) this.#markApplied(this.#unanswered);
    this.#unanswered = undefined;
  }

  /** Whether the node has files that this window neither shows nor knew of, or lacks some that it knew of. */
  differFrom(stored: readonly StoredDraftFile[]): boolean {
    const shown = new Map(useDraft.getState().files.map(({ path, sha256 }) => [path, sha256]));
    const paths = new Set(stored.map(({ path }) => path));
    return (
      stored.some(({ path, sha256 }) => this.#digests.get(path) !== sha256 && shown.get(path) !== sha256) ||
      [...this.#digests.keys()].some((path) => shown.has(path) && !paths.has(path))
    );
  }

  #differences(): FileDifferences {
    return fileDifferences(useDraft.getState().files, new Set(this.#digests.keys()));
  }

  /** Whether the node has other files than the draft that is shown. */
  needSaving(): boolean {
    return Object.values(this.#differences()).some((files) => files.length > 0);
  }

  /** Makes the files of the node's draft those shown at this moment. @throws if the node does not accept it */
  async save(id: string): Promise<void> {
    const { uploads, ...change } = this.#differences();
    if (Object.values(change).some((files) => files.length > 0)) await this.#changeList(id, atOnce(change));
    // The rest of a long change comes first, because an upload replaces the file at its path.
    if (Object.values(change).some((files) => files.length > MAX_CHANGED_FILES)) return;
    await this.#uploadFiles(id, uploads);
  }

  async #changeList(id: string, change: ListChange): Promise<void> {
    const body = {
      remove: [...change.remove],
      rename: change.rename.map(({ savedPath = '', path }) => ({ from: savedPath, to: path })),
      add: change.add.map(({ path, sha256 = '', bytes, mediaType }) => {
        return { path, sha256, bytes, media_type: mediaType };
      }),
    };
    let revision: number;
    try {
      ({ revision } = await this.#changes.change(() => call('changeDraftFiles', { params: { id }, body })));
    } catch (error) {
      if (!isRefusal(error)) this.#unanswered = change;
      if (!markRefusals(error, change)) throw error;
      return;
    }
    this.#markApplied(change);
    this.#changes.countChanges(revision, 1);
  }

  #markApplied({ remove, rename, add }: ListChange): void {
    const digests = rename.map(({ savedPath = '' }) => this.#digests.get(savedPath) ?? '');
    for (const path of remove) this.#digests.delete(path);
    for (const { savedPath = '' } of rename) this.#digests.delete(savedPath);
    for (const [index, { path }] of rename.entries()) this.#digests.set(path, digests[index] ?? '');
    for (const { path, sha256 = '' } of add) this.#digests.set(path, sha256);
    markFilesSaved(new Map([...rename, ...add].map(({ id, path }) => [id, { savedPath: path }])));
  }

  /** Uploads files, a few at once. After a failure no other upload begins. */
  async #uploadFiles(draft: string, files: readonly DraftFile[]): Promise<void> {
    const waiting = [...files];
    const revisions: number[] = [];
    const failures: unknown[] = [];
    const uploadNext = async (): Promise<void> => {
      for (let file = waiting.shift(); file && failures.length === 0; file = waiting.shift()) {
        try {
          const revision = await this.#uploadFile(draft, file);
          if (revision !== undefined) revisions.push(revision);
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_UPLOADS }, uploadNext));
    this.#showUploaded();
    if (revisions.length > 0) this.#changes.countChanges(Math.max(...revisions), revisions.length);
    if (failures.length > 0) throw failures[0];
  }

  #showUploaded(): void {
    if (this.#uploaded.size > 0) markFilesSaved(this.#uploaded);
    this.#uploaded = new Map();
    this.#shownAt = performance.now();
  }

  /** Returns the revision of the draft with the file; undefined if the node refuses this file. */
  async #uploadFile(draft: string, { id, path, mediaType, file }: DraftFile): Promise<number | undefined> {
    if (!file) return undefined;
    try {
      const { sha256, revision } = await this.#changes.change(() =>
        sendStream('putDraftFile', {
          params: { id: draft },
          query: { path, media_type: mediaType },
          body: file,
          mediaType: 'application/octet-stream',
        }),
      );
      this.#digests.set(path, sha256);
      this.#uploaded.set(id, { savedPath: path, sha256 });
      const isSoon = useDraft.getState().files.length <= MAX_PACK_FILES;
      if (isSoon || performance.now() - this.#shownAt > SHOW_MANY_EVERY_MS) this.#showUploaded();
      return revision;
    } catch (error) {
      // Anything else concerns the draft or the node, not this file.
      if (!isProblem(error, 'pack_too_large') && !isProblem(error, 'invalid_parameter')) throw error;
      markFileRefused(id, error.message);
      return undefined;
    }
  }
}

/**
 * The beginning of a long change, which is saved first. A path is free for a renamed or reused file only when what had it is
 * removed or renamed.
 */
function atOnce({ remove, rename, add }: ListChange): ListChange {
  const isLong = (files: readonly unknown[]) => files.length > MAX_CHANGED_FILES;
  const first = <Item>(files: readonly Item[], isFree: boolean) =>
    isFree ? files.slice(0, MAX_CHANGED_FILES) : [];
  return {
    remove: first(remove, true),
    rename: first(rename, !isLong(remove)),
    add: first(add, !isLong(remove) && !isLong(rename)),
  };
}

/** Records which files of a change the node refused. Returns whether there were any. */
function markRefusals(error: unknown, { rename, add }: ListChange): boolean {
  if (!(error instanceof ApiProblem)) return false;
  const isUnknown = error.document.code === 'unknown_blob';
  const refused = (error.document.errors ?? []).flatMap(({ path, message }) => {
    const [, list, index] = path.split('/');
    const file = (list === 'rename' ? rename : list === 'add' ? add : [])[Number(index)];
    return file ? [{ file, message }] : [];
  });
  for (const { file, message } of refused)
    markFileRefused(file.id, isUnknown ? 'The archive does not have this file. Add it again.' : message);
  return refused.length > 0;
}

const NONE: readonly PackFile[] = [];

/** A set does not state media types, so the names decide. */
function filesOfSet({ files }: DataSet): PackFile[] {
  return files.map(({ path, bytes, sha256 }) => ({ path, bytes, sha256, media_type: mediaTypeOf(path, '') }));
}

/** Whether the archive has a file in one piece. A larger file of a set is in pieces, which cannot be reused. */
export function isReusable({ bytes }: Pick<PackFile, 'bytes'>): boolean {
  return bytes <= PART_BYTES;
}

/** Returns the files that a new version of a pack or a set can reuse. @throws ApiProblem, NodeUnreachable */
export async function reusableFiles({ id, files, evidence }: Pack): Promise<readonly PackFile[]> {
  if (!evidence.set) return files;
  return filesOfSet(await call('readSet', { params: { id } })).filter(isReusable);
}

/** Loads the files of the previous version, if the draft has one, so that the draft's files are compared with them. */
export function usePreviousFiles(supersedes: string | null): unknown {
  const input = { params: { id: supersedes ?? '' } };
  const pack = useCall('readPack', input, { enabled: supersedes !== null });
  const isOfSet = pack.data?.evidence.set !== undefined;
  const set = useCall('readSet', input, { enabled: supersedes !== null && isOfSet });
  const ofSet = useMemo(() => set.data && filesOfSet(set.data), [set.data]);
  const previous = supersedes === null ? NONE : isOfSet ? ofSet : pack.data?.files;
  useEffect(() => {
    if (previous) useDraft.setState({ previous });
  }, [previous]);
  return pack.error ?? set.error;
}
