import type { Comparison, FileDiff } from '../../../shared/collection/diff.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Store } from '../../store/store.ts';
import { decompressContent } from '../derived/content.ts';
import type { Deriver } from '../derived/process/deriver.ts';
import type { ObjectToRead } from '../derived/process/tasks.ts';
import { deriveComparison } from './deriveComparison.ts';
import { DIFF_TOOL } from './diffTool.ts';

/** Comparisons that are being made; further requests get `derivation_busy`. */
const MAX_PENDING = 6;
/** The total size of the compressed comparisons that are kept in memory, least recently used first out. */
const MAX_KEPT_BYTES = 16_000_000;

/** A stored file, with the media type under which it is read. */
export interface FileToCompare {
  sha256: string;
  bytes: number;
  content_type: string | null;
}

interface Made {
  made_at: string;
  /** `compressContent` of a `Comparison`. */
  content: Uint8Array;
}

/** Compares stored files with each other. Recent comparisons are kept in memory. */
export class FileDiffs {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #making = new Map<string, Promise<Made>>();
  readonly #kept = new Map<string, Made>();
  #keptBytes = 0;

  constructor(store: Store, deriver: Deriver) {
    this.#store = store;
    this.#deriver = deriver;
  }

  /**
   * Compares two files of the archive by their kind. Concurrent requests for the same files share one computation.
   *
   * @throws Problem `blob_damaged`, `not_derivable`, `derivation_busy`, `shutting_down`.
   */
  async compare(from: FileToCompare, to: FileToCompare): Promise<FileDiff> {
    const key = JSON.stringify([from.sha256, from.content_type, to.sha256, to.content_type]);
    const { made_at, content } = this.#takeKept(key) ?? (await this.#makeOnce(key, from, to));
    const { noise: _noise, ...comparison } = decompressContent<Comparison>(content);
    return { from, to, made_at, tool: DIFF_TOOL, ...comparison } as FileDiff;
  }

  #makeOnce(key: string, from: FileToCompare, to: FileToCompare): Promise<Made> {
    const making = this.#making.get(key);
    if (making) return making;
    if (this.#making.size >= MAX_PENDING) {
      throw new Problem('derivation_busy', 'Too many files are being compared; try again in half a minute.', {
        headers: { 'Retry-After': '30' },
      });
    }
    const made = this.#make(key, from, to).finally(() => this.#making.delete(key));
    this.#making.set(key, made);
    return made;
  }

  async #make(key: string, from: FileToCompare, to: FileToCompare): Promise<Made> {
    const { content } = await deriveComparison(this.#store, this.#deriver, {
      from: this.#toRead(from),
      to: this.#toRead(to),
      rules: [],
    });
    const made = { made_at: this.#store.instant(), content };
    this.#keep(key, made);
    return made;
  }

  #toRead({ sha256, content_type }: FileToCompare): ObjectToRead {
    const file = this.#store.blobs.fileOf(sha256);
    return { sha256, file, contentType: content_type, contentEncoding: null };
  }

  /** Returns a kept comparison and marks it as the most recently used. */
  #takeKept(key: string): Made | undefined {
    const kept = this.#kept.get(key);
    if (kept) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
    }
    return kept;
  }

  #keep(key: string, made: Made): void {
    this.#kept.set(key, made);
    this.#keptBytes += made.content.length;
    for (const [oldest, { content }] of this.#kept) {
      if (this.#keptBytes <= MAX_KEPT_BYTES) return;
      this.#kept.delete(oldest);
      this.#keptBytes -= content.length;
    }
  }
}
