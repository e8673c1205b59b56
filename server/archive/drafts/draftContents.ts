import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, type StagedFile } from '../../store/blobs/blobStore.ts';
import { createFolder, syncFolder } from '../../store/blobs/durableFile.ts';
import { draftsFolder } from '../../store/blobs/paths.ts';

/**
 * The contents of the files of drafts, in `drafts/<draft>/<sha256>` of the data folder. A file is there before a row names
 * it, and is deleted after no row names it any more, so a crash leaves at most files without a row.
 */
export class DraftContents {
  readonly #folder: string;

  constructor(dataFolder: string) {
    this.#folder = draftsFolder(dataFolder);
  }

  fileOf(draft: string, sha256: string): string {
    return join(this.#folder, draft, sha256);
  }

  /** Moves a staged file into a draft, durably. */
  async place(draft: string, staged: StagedFile): Promise<void> {
    const folder = join(this.#folder, draft);
    await createFolder(folder);
    await rename(staged.file, this.fileOf(draft, staged.sha256));
    await syncFolder(folder);
  }

  /** Returns the digests of the files that a draft has. */
  async digestsOf(draft: string): Promise<Set<string>> {
    return new Set(await namesIn(join(this.#folder, draft)));
  }

  /** Deletes the files of a draft whose digests are not wanted. */
  async keepOnly(draft: string, wanted: ReadonlySet<string>): Promise<void> {
    if (wanted.size === 0) return rm(join(this.#folder, draft), { recursive: true, force: true });
    for (const name of await namesIn(join(this.#folder, draft))) {
      if (!wanted.has(name)) await rm(join(this.#folder, draft, name), { recursive: true, force: true });
    }
  }

  /** Deletes what uploads and deletions left behind when the node stopped. */
  async sweep(wantedBy: (draft: string) => ReadonlySet<string>): Promise<void> {
    for (const draft of await namesIn(this.#folder)) await this.keepOnly(draft, wantedBy(draft));
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
